// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/executor.h"

#include <algorithm>
#include <chrono>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
                   std::shared_ptr<std::byte> arena)
    : program_(std::move(program)), device_(std::move(device)), arena_(std::move(arena)) {
  if (!arena_) arena_ = device_->allocate(program_->arena_bytes);
  pointers_.resize(program_->places.size(), nullptr);
  bound_.resize(program_->residents.size(), nullptr);
  for (std::size_t i = 0; i < program_->places.size(); ++i) {
    const Place& p = program_->places[i];
    if (p.resident < 0) pointers_[i] = arena_.get() + p.offset;
  }
}

void Executor::bind(std::span<void* const> residents) {
  TIDEMARK_CHECK(residents.size() == program_->residents.size(), "{} resident buffers given, {} wanted",
                 residents.size(), program_->residents.size());
  if (std::equal(residents.begin(), residents.end(), bound_.begin())) return;
  std::copy(residents.begin(), residents.end(), bound_.begin());
  for (std::size_t i = 0; i < program_->places.size(); ++i) {
    const Place& p = program_->places[i];
    if (p.resident >= 0)
      pointers_[i] = static_cast<std::byte*>(residents[static_cast<std::size_t>(p.resident)]) + p.offset;
  }
}

void* Executor::output(std::size_t i, std::span<void* const> residents) const {
  const Place& p = program_->outputs[i];
  std::byte* base = p.resident < 0 ? arena_.get()
                                   : static_cast<std::byte*>(residents[static_cast<std::size_t>(p.resident)]);
  return base + p.offset;
}

void Executor::run(std::span<void* const> residents, Timeline* timeline) {
  bind(residents);
  for (std::size_t i = 0; i < program_->instrs.size(); ++i) {
    const Instr& instr = program_->instrs[i];
    void* const* first = pointers_.data() + instr.first_place;
    const std::int64_t begin = timeline != nullptr ? now_ns() : 0;
    const std::span<const Place> places(program_->places.data() + instr.first_place,
                                        static_cast<std::size_t>(instr.inputs + instr.outputs + 1));
    device_->launch(instr, places,
                    {{first, static_cast<std::size_t>(instr.inputs)},
                     {first + instr.inputs, static_cast<std::size_t>(instr.outputs)},
                     first[instr.inputs + instr.outputs]});
    if (timeline != nullptr && i < timeline->entries.size())
      timeline->entries[i] = {begin, now_ns(), instr.live, instr.task};
  }
}

}  // namespace tidemark
