// Executor: a Program on a Device, with its arena. run() allocates nothing, looks nothing up and decides
// nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/runtime/device.h"

namespace tidemark {

// When each instruction ran. Filled by Executor::run when given one; sized beforehand, so that it costs no
// allocation.
struct Timeline {
  struct Entry {
    std::int64_t begin_ns = 0, end_ns = 0;
    Bytes live = 0;
    std::int32_t task = -1;
  };
  std::vector<Entry> entries;
};

class TIDEMARK_API Executor {
 public:
  // `arena` may be shared between executors that never run at the same time; null: one of its own.
  Executor(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
           std::shared_ptr<std::byte> arena = nullptr);

  // `residents`: one pointer for each of Program::residents.
  void run(std::span<void* const> residents, Timeline* timeline = nullptr);
  // Where output i lies after a run.
  void* output(std::size_t i, std::span<void* const> residents) const;
  const Program& program() const { return *program_; }
  const std::shared_ptr<std::byte>& arena() const { return arena_; }
  Device& device() { return *device_; }

 private:
  void bind(std::span<void* const> residents);

  std::shared_ptr<const Program> program_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<std::byte> arena_;
  std::vector<void*> pointers_;  // one for each of Program::places
  std::vector<void*> bound_;     // the residents that pointers_ was made for
};

}  // namespace tidemark
