// The states of a loop that lie in a tier, one every `period` steps: written in the first sweep, read back in the reverse one. Shared by
// the two kernels of a pair (compile/loop_kernels.cpp); opened by the first run, so that planning opens nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tidemark/store/tier_store.h"

namespace tidemark {

class LoopStore {
 public:
  LoopStore(TierSpec spec, Bytes state, std::int64_t count) : spec_(std::move(spec)), state_(state), count_(count) {}

  Bytes bytes() const { return state_ * count_; }
  // Copies of state k, in the background; each is waited for before its memory is used again. Throws Error(io) where one failed.
  void write(std::int64_t k, const std::byte* from);
  void read(std::int64_t k, std::byte* to);
  void wait(std::int64_t k);
  // Before an error leaves a kernel: nothing is under way behind it.
  void drain();

 private:
  TierSpec spec_;
  Bytes state_;
  std::int64_t count_;
  std::unique_ptr<TierStore> store_;
};

}  // namespace tidemark
