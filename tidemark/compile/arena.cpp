// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/arena.h"

#include "tidemark/compile/loops.h"

namespace tidemark {

void SharedArena::take_back() {
  for (std::weak_ptr<Storage>& weak : lent) {
    if (const auto held = weak.lock()) held->detach();
    weak.reset();
  }
}

void SharedArena::put_away(Compiled& user) {
  user.executor_.reset();
  user.pose_options_.regions->close_stores();
}

void SharedArena::make_room(const Compiled& user) {
  const auto opened = [](const Compiled& c, std::size_t k, Bytes copies) {
    return copies + loop_bytes(c.graph(), k);
  };
  bool fits = true;
  for (std::size_t k = 0; k < user.program_->tiers.size(); ++k) {
    const ProgramTier& tier = user.program_->tiers[k];
    Bytes taken = tier.held + opened(user, k, tier.bytes);
    for (const Compiled* other : users) {
      if (other != &user && other->executor_) taken += opened(*other, k, other->executor_->tier_bytes(k));
    }
    fits &= taken <= user.options_.tiers[k].bytes;
  }
  if (fits) return;
  for (Compiled* other : users) {
    if (other != &user) put_away(*other);
  }
}

void SharedArena::release() {
  take_back();
  for (Compiled* user : users) put_away(*user);
  memory.reset();
  bytes = measured = 0;
}

void SharedArena::hold(Bytes wanted, Bytes most) {
  if (memory && bytes >= wanted && bytes <= most) return;
  release();
  const Bytes before = device->allocated();
  memory = device->allocate(wanted);
  bytes = wanted;
  measured = device->allocated() - before;
}

}  // namespace tidemark
