// The states of a loop that lie in a tier, each in a place that others take after it (schedule/tier_splits.h). Shared by
// the two kernels of a pair (compile/loop_kernels.cpp); opened by the first run, so that planning opens nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "tidemark/store/tier_store.h"

namespace tidemark {

class LoopStore {
 public:
  LoopStore(TierSpec spec, Bytes state, std::int64_t count)
      : spec_(std::move(spec)), state_(state), count_(count) {}

  Bytes bytes() const { return state_ * count_; }
  // Copies of the state in place k, in the background; each is waited for before its memory is used again. Throws Error(io) where one failed.
  void write(std::size_t k, const std::byte* from);
  void read(std::size_t k, std::byte* to);
  void wait(std::size_t k);
  void close() { store_.reset(); }
  // Before an error leaves a kernel: nothing is under way behind it.
  void drain();

 private:
  TierSpec spec_;
  Bytes state_;
  std::int64_t count_;
  std::unique_ptr<TierStore> store_;
};

// Copies that are under way read and write the arena: none may outlive a sweep that failed.
template <typename F>
void draining(const std::shared_ptr<LoopStore>& store, const F& sweep) {
  try {
    sweep();
  } catch (...) {
    if (store) store->drain();
    throw;
  }
}

// Two places in memory by way of which the states of a reverse sweep, each known by its step, go to the tier and come back. A state that is
// still here is not read.
class LoopStages {
 public:
  LoopStages(LoopStore& store, std::array<std::byte*, 2> data) : store_(store), data_(data) {}

  // The place beside that of the state of step `beside`: for a state that is now made there.
  std::byte* room(std::int64_t beside);
  void made(std::int64_t step) { stages_[last_].step = step; }
  void keep(std::int64_t step, std::size_t place);  // starts to write it
  void bring(std::int64_t step, std::size_t place, std::int64_t beside);
  std::byte* at(std::int64_t step);  // of a state that was made or brought
  void finish();

 private:
  struct Stage {
    std::int64_t step = -1;
    std::size_t place = kNone;  // a copy to or from there is under way
    bool incoming = false;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  void settle(std::size_t stage);
  void settle_place(std::size_t place);

  LoopStore& store_;
  std::array<std::byte*, 2> data_;
  std::array<Stage, 2> stages_{};
  std::size_t last_ = 0;
};

}  // namespace tidemark
