// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/walk.h"

#include <utility>

#include "tidemark/base/error.h"

namespace tidemark::schedule {

using Kind = Action::Kind;
using What = Action::What;

Walk::Walk(std::unique_ptr<Policy> policy, const Frame& whole) : policy_(std::move(policy)) { push(whole); }

Walk::Walk(std::unique_ptr<Policy> policy, const std::vector<Frame>& stored) : policy_(std::move(policy)) {
  for (const Frame& frame : stored) {
    push(frame);
    stack_.back().then = Then::restore_state;
    const auto tier = static_cast<std::size_t>(frame.slot.tier);
    while (fresh_.size() <= tier) fresh_.push_back(0), free_.emplace_back();
    while (fresh_[tier] <= frame.slot.index) free_[tier].push_back(fresh_[tier]++);
  }
  for (const Frame& frame : stored)
    std::erase(free_[static_cast<std::size_t>(frame.slot.tier)], frame.slot.index);
}

void Walk::push(const Frame& frame) { stack_.push_back({frame, Then::ask, {}}); }

Slot Walk::take(int tier) {
  const auto t = static_cast<std::size_t>(tier);
  while (fresh_.size() <= t) fresh_.push_back(0), free_.emplace_back();
  if (free_[t].empty()) return {tier, fresh_[t]++};
  const std::int64_t index = free_[t].back();
  free_[t].pop_back();
  return {tier, index};
}

void Walk::give(Slot slot) { free_[static_cast<std::size_t>(slot.tier)].push_back(slot.index); }

Action Walk::next() {
  if (queued_ < queue_.size()) return queue_[queued_++];
  queue_.clear();
  queued_ = 0;
  if (stack_.empty()) return {};
  return act(stack_.back());
}

Action Walk::act(Entry& top) {
  const Frame f = top.frame;
  switch (top.then) {
    case Then::ask:
      return choose(top);
    case Then::restore_state:
      top.then = Then::ask;
      return {.kind = Kind::restore, .from = f.from, .to = f.from, .slot = f.slot};
    case Then::restore_tape:
      top.then = Then::reverse_tape;
      give(top.tape);
      return {.kind = Kind::restore, .what = What::tape, .from = f.from, .to = f.from + 1, .slot = top.tape};
    case Then::reverse_tape:
      stack_.pop_back();
      return {.kind = Kind::reverse, .from = f.from, .to = f.from + 1};
  }
  return {};
}

Action Walk::choose(Entry& top) {
  Frame& f = top.frame;
  const bool single = f.to - f.from == 1;
  const Choice c = single ? Choice{.kind = Choice::Kind::tape} : policy_->choose(f);
  const auto discard = [&] {
    f.stored = false;
    give(f.slot);
    return Action{.kind = Kind::discard, .from = f.from, .to = f.from, .slot = f.slot};
  };
  switch (c.kind) {
    case Choice::Kind::leave:
      TIDEMARK_CHECK(f.stored);
      f.budget = c.budget, f.level = c.level;
      return discard();
    case Choice::Kind::store:
      TIDEMARK_CHECK(!f.stored);
      f.slot = take(c.tier);
      f.stored = true;
      f.budget = c.budget, f.level = c.level;
      return {.kind = Kind::save, .from = f.from, .to = f.from, .slot = f.slot};
    case Choice::Kind::split: {
      TIDEMARK_CHECK(f.stored && f.from < c.at && c.at < f.to);
      const Frame child{c.at, f.to, c.child_budget, c.child_level, false, {}};
      const Action advance{.kind = Kind::advance, .from = f.from, .to = c.at};
      f.to = c.at;
      f.budget = c.budget, f.level = c.level;
      top.then = Then::restore_state;
      push(child);
      return advance;
    }
    case Choice::Kind::tape:
      break;
  }
  // Taping a step is the last use of the state it begins in.
  if (f.stored) queue_.push_back(discard());
  queue_.push_back({.kind = Kind::advance, .from = f.from, .to = f.from + 1, .keep = 1});
  if (single) {
    top.then = Then::reverse_tape;
  } else {
    const Frame child{f.from + 1, f.to, c.child_budget, c.child_level, false, {}};
    f.to = f.from + 1;
    top.then = Then::restore_tape;
    top.tape = take(c.tier);
    queue_.push_back({.kind = Kind::save, .what = What::tape, .from = f.from, .to = f.to, .slot = top.tape});
    push(child);
  }
  return next();
}

}  // namespace tidemark::schedule
