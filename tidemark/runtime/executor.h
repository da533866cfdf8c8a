// Executor: a Program on a Device, with its arena. run() allocates nothing, looks nothing up and decides
// nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/runtime/device.h"
#include "tidemark/store/tier_store.h"

namespace tidemark {

// When each instruction ran. Filled by Executor::run when given one; sized beforehand, so that it costs no
// allocation.
struct Timeline {
  struct Entry {
    std::int64_t begin_ns = 0, end_ns = 0;
    Bytes live = 0;
    std::int32_t task = -1;
    std::int64_t work_ns = 0;  // CPU time of the process up to its end, where `work` asks for it
  };
  std::vector<Entry> entries;
  bool work = false;
  std::int64_t work_begin_ns = 0;
};

// What every value was when it was first made in a step, so that one made again or fetched can be compared.
struct Fingerprints {
  std::vector<std::uint64_t> sums;  // by buffer
  std::vector<char> known;
};

class TIDEMARK_API Executor {
 public:
  // `arena` may be shared between executors that never run at the same time; null: one of its own. `tiers`: those of the
  // program, opened here on a device that computes.
  Executor(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
           std::shared_ptr<std::byte> arena = nullptr, std::span<const TierSpec> tiers = {});

  // `residents`: one pointer for each of Program::residents. A copy that fails throws Error(io) when nothing is under way any
  // more. False: what a codec made did not fit its slot (overflowed()), and the step has to start over without it.
  bool run(std::span<void* const> residents, Timeline* timeline = nullptr);
  const std::string& overflowed() const { return overflowed_; }
  // Where output i lies after a run.
  void* output(std::size_t i, std::span<void* const> residents) const;
  // From now on each step compares what is made again with what was made first; Error(internal) names the first that differs.
  void verify_repeats();
  const Program& program() const { return *program_; }
  const std::shared_ptr<std::byte>& arena() const { return arena_; }
  Device& device() { return *device_; }
  Bytes tier_bytes(std::size_t tier) const { return stores_[tier] ? stores_[tier]->bytes() : 0; }  // allocated there

 private:
  void bind(std::span<void* const> residents);
  bool carry_out(std::span<void* const> residents, Timeline* timeline);
  void start_copy(const Instr& instr, void* at, std::span<void* const> residents);

  std::shared_ptr<const Program> program_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<std::byte> arena_;
  std::vector<std::unique_ptr<TierStore>> stores_;  // by tier; null where the program copies nothing there
  std::vector<void*> pointers_;  // one for each of Program::places
  void clear_outputs(const Instr& instr);
  void compare(const Instr& instr, std::size_t index);
  void drain();
  std::string overflowed_;
  std::unique_ptr<Fingerprints> fingerprints_;  // null: nothing is compared
  std::vector<void*> bound_;     // the residents that pointers_ was made for
};

}  // namespace tidemark
