// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/arena.h"

#include <algorithm>

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
  for (Compiled::OnDisk& held : user.on_disk_) held.copy.reset();
}

std::shared_ptr<Storage> SharedArena::copy_of(const Contents& contents) {
  std::erase_if(on_disk, [](const auto& copy) { return copy.second.expired(); });
  const auto found = on_disk.find(contents);
  return found == on_disk.end() ? nullptr : found->second.lock();
}

Bytes SharedArena::copied(const Compiled& by, std::size_t tier, const Compiled& but) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < by.on_disk_.size(); ++i) {
    const std::shared_ptr<Storage>& copy = by.on_disk_[i].copy;
    const auto input = static_cast<std::size_t>(by.program_->residents[i]);
    if (!copy || by.problem().buffers[input].start != static_cast<plan::TierId>(tier)) continue;
    const bool shared = std::any_of(but.on_disk_.begin(), but.on_disk_.end(),
                                    [&](const Compiled::OnDisk& own) { return own.copy == copy; });
    if (!shared) bytes += by.problem().size(by.program_->residents[i]);
  }
  return bytes;
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
      if (other == &user) continue;
      if (other->executor_) taken += opened(*other, k, other->executor_->tier_bytes(k));
      taken += copied(*other, k, user);
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
