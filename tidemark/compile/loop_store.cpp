// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/loop_store.h"

namespace tidemark {

void LoopStore::write(std::size_t k, const std::byte* from) {
  if (!store_) store_ = std::make_unique<TierStore>(spec_, bytes(), static_cast<int>(count_));
  store_->write(static_cast<int>(k), static_cast<Bytes>(k) * state_, from, state_);
}

void LoopStore::read(std::size_t k, std::byte* to) { store_->read(static_cast<int>(k), to); }

void LoopStore::wait(std::size_t k) { store_->wait(static_cast<int>(k), "a state of a loop"); }

void LoopStore::drain() {
  if (store_) store_->drain();
}

void LoopStages::settle(std::size_t stage) {
  Stage& s = stages_[stage];
  if (s.place != kNone) store_.wait(s.place);
  s.place = kNone;
  s.incoming = false;
}

void LoopStages::settle_place(std::size_t place) {
  for (const std::size_t stage : {0, 1}) {
    if (stages_[stage].place == place) settle(stage);
  }
}

std::byte* LoopStages::room(std::int64_t beside) {
  last_ = stages_[0].step == beside ? 1 : 0;
  settle(last_);
  stages_[last_].step = -1;
  return data_[last_];
}

void LoopStages::keep(std::int64_t step, std::size_t place) {
  settle_place(place);
  const std::size_t stage = stages_[0].step == step ? 0 : 1;
  store_.write(place, data_[stage]);
  stages_[stage].place = place;
}

void LoopStages::bring(std::int64_t step, std::size_t place, std::int64_t beside) {
  if (stages_[0].step == step || stages_[1].step == step) return;
  std::byte* to = room(beside);
  settle_place(place);
  store_.read(place, to);
  stages_[last_] = {.step = step, .place = place, .incoming = true};
}

std::byte* LoopStages::at(std::int64_t step) {
  const std::size_t stage = stages_[0].step == step ? 0 : 1;
  if (stages_[stage].incoming) settle(stage);
  return data_[stage];
}

void LoopStages::finish() {
  for (const std::size_t stage : {0, 1}) settle(stage);
}

}  // namespace tidemark
