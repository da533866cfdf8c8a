// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/loop_store.h"

namespace tidemark {

void LoopStore::write(std::int64_t k, const std::byte* from) {
  if (!store_) store_ = std::make_unique<TierStore>(spec_, bytes(), static_cast<int>(count_));
  store_->write(static_cast<int>(k), k * state_, from, state_);
}

void LoopStore::read(std::int64_t k, std::byte* to) { store_->read(static_cast<int>(k), to); }

void LoopStore::wait(std::int64_t k) { store_->wait(static_cast<int>(k), "a state of a loop"); }

void LoopStore::drain() {
  if (store_) store_->drain();
}

}  // namespace tidemark
