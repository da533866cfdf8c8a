// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tidemark::schedule {
namespace {

struct Held {
  Action::What what = Action::What::state;
  std::int64_t from = 0, to = 0;
};

class Machine {
 public:
  Machine(Schedule& schedule, const Limits& limits)
      : schedule_(schedule), limits_(limits), adjoint_(limits.steps) {}

  // "" or what is wrong with it.
  std::string carry_out(Action& a) {
    switch (a.kind) {
      case Action::Kind::advance:
        return advance(a);
      case Action::Kind::reverse:
        return reverse(a);
      case Action::Kind::save:
        return save(a);
      case Action::Kind::restore:
        return restore(a);
      case Action::Kind::discard:
        return discard(a);
      case Action::Kind::done:
        return done();
    }
    return "is no action";
  }

  Counts counts;

 private:
  std::string advance(Action& a) {
    if (!state_) return "has no working state to start from";
    if (*state_ != a.from) return fmt::format("starts at {}, the working state is at {}", a.from, *state_);
    if (schedule_.online() && !finished_ && a.to >= limits_.steps && a.from <= limits_.steps) {
      // The loop ends here, and its driver says so.
      a.to = limits_.steps;
      finished_ = true;
      schedule_.finish(limits_.steps);
    }
    if (a.to < a.from || a.to > adjoint_)
      return fmt::format("ends at {}, the adjoint is at {}", a.to, adjoint_);
    if (a.to == a.from && !schedule_.online()) return "runs no step";
    if (a.keep < 0 || a.keep > a.to - a.from)
      return fmt::format("keeps {} of {} steps", a.keep, a.to - a.from);
    counts.forward_steps += a.to - a.from;
    state_ = a.to;
    if (a.keep == 0) return "";
    const std::int64_t begin = a.to - a.keep;
    if (tape_from_ == tape_to_) tape_from_ = tape_to_ = begin;
    if (tape_to_ != begin) return fmt::format("tapes step {} behind step {}", begin, tape_to_);
    tape_to_ = a.to;
    grow(tape_size(begin, a.to));
    counts.taped_steps = std::max(counts.taped_steps, tape_to_ - tape_from_);
    if (limits_.taped_steps >= 0 && counts.taped_steps > limits_.taped_steps)
      return fmt::format("tapes {} steps vs {} at most", counts.taped_steps, limits_.taped_steps);
    return over();
  }

  std::string reverse(const Action& a) {
    if (a.to != adjoint_) return fmt::format("starts at {}, the adjoint is at {}", a.to, adjoint_);
    if (a.from >= a.to) return "reverses no step";
    if (tape_to_ != a.to || tape_from_ > a.from || tape_from_ == tape_to_)
      return fmt::format("lacks adjoint data: the tape holds [{}, {})", tape_from_, tape_to_);
    grow(-tape_size(a.from, a.to));
    tape_to_ = adjoint_ = a.from;
    counts.reverse_steps += a.to - a.from;
    return "";
  }

  std::string save(const Action& a) {
    const std::int64_t given =
        std::size_t(a.slot.tier) < limits_.slots.size() ? limits_.slots[std::size_t(a.slot.tier)] : 0;
    if (a.slot.tier < 0 || a.slot.index < 0) return "names no slot";
    if (given >= 0 && a.slot.index >= given) return fmt::format("names slot {} of {}", a.slot.index, given);
    if (held_.count(key(a.slot))) return "overwrites a slot in use";
    if (a.what == Action::What::state) {
      if (!state_ || *state_ != a.from)
        return fmt::format("saves state {}, which is not the working state", a.from);
      grow(state_size(a.from));
    } else {
      if (tape_from_ == tape_to_ || a.from != tape_from_ || a.to != tape_to_)
        return fmt::format("saves tape [{}, {}) vs [{}, {}) held", a.from, a.to, tape_from_, tape_to_);
      tape_from_ = tape_to_;
    }
    held_[key(a.slot)] = {a.what, a.from, a.to};
    Counts::Tier& tier = of(a.slot);
    const auto in_tier = ++in_use_[std::size_t(a.slot.tier)];
    ++tier.writes, ++counts.writes;
    tier.snapshots = std::max(tier.snapshots, in_tier);
    counts.snapshots = std::max(counts.snapshots, static_cast<std::int64_t>(held_.size()));
    return over();
  }

  std::string restore(const Action& a) {
    const auto it = held_.find(key(a.slot));
    if (it == held_.end()) return "restores from an empty slot";
    if (it->second.what != a.what || it->second.from != a.from)
      return fmt::format("restores {}, the slot holds {}", a.from, it->second.from);
    ++of(a.slot).reads, ++counts.reads;
    if (a.what == Action::What::state) {
      state_ = a.from;
      return "";
    }
    if (tape_from_ != tape_to_) return "restores a tape over one in use";
    tape_from_ = it->second.from, tape_to_ = it->second.to;
    counts.taped_steps = std::max(counts.taped_steps, tape_to_ - tape_from_);
    held_.erase(it);
    --in_use_[std::size_t(a.slot.tier)];
    return "";
  }

  std::string discard(const Action& a) {
    const auto it = held_.find(key(a.slot));
    if (it == held_.end()) return "discards an empty slot";
    if (it->second.what != a.what || it->second.from != a.from)
      return fmt::format("discards {}, the slot holds {}", a.from, it->second.from);
    grow(a.what == Action::What::state ? -state_size(a.from) : -tape_size(a.from, a.to));
    held_.erase(it);
    --in_use_[std::size_t(a.slot.tier)];
    return "";
  }

  std::string done() {
    if (adjoint_ != 0) return fmt::format("comes with the adjoint at {}", adjoint_);
    if (!held_.empty()) return fmt::format("comes with {} slots in use", held_.size());
    if (tape_from_ != tape_to_) return "comes with a tape in use";
    return "";
  }

  static std::pair<int, std::int64_t> key(Slot s) { return {s.tier, s.index}; }
  Counts::Tier& of(Slot s) {
    const auto t = static_cast<std::size_t>(s.tier);
    if (counts.tiers.size() <= t) counts.tiers.resize(t + 1), in_use_.resize(t + 1);
    return counts.tiers[t];
  }
  Bytes state_size(std::int64_t i) const { return limits_.state_bytes ? limits_.state_bytes(i) : 0; }
  Bytes tape_size(std::int64_t from, std::int64_t to) const {
    Bytes sum = 0;
    if (limits_.tape_bytes)
      for (std::int64_t i = from; i < to; ++i) sum += limits_.tape_bytes(i);
    return sum;
  }
  void grow(Bytes by) {
    bytes_ += by;
    counts.bytes = std::max(counts.bytes, bytes_);
  }
  std::string over() const {
    return limits_.bytes < 0 || bytes_ <= limits_.bytes
               ? ""
               : fmt::format("needs {} B vs {} B", bytes_, limits_.bytes);
  }

  Schedule& schedule_;
  const Limits& limits_;
  std::optional<std::int64_t> state_ = 0;
  std::int64_t adjoint_, tape_from_ = 0, tape_to_ = 0;
  bool finished_ = false;
  std::map<std::pair<int, std::int64_t>, Held> held_;
  std::vector<std::int64_t> in_use_;
  Bytes bytes_ = 0;
};

}  // namespace

Replay replay(Schedule& schedule, const Limits& limits, const std::function<void(const Action&)>& seen) {
  Machine machine(schedule, limits);
  for (std::int64_t number = 0;; ++number) {
    Action a = schedule.next();
    const std::string wrong = machine.carry_out(a);
    if (!wrong.empty())
      return {fmt::format("action {}: {} [{}, {}) {}", number, name_of(a.kind), a.from, a.to, wrong),
              machine.counts};
    if (seen) seen(a);
    if (a.kind == Action::Kind::done) return {"", machine.counts};
  }
}

std::string check(Schedule& schedule, std::int64_t steps, std::int64_t slots) {
  return replay(schedule, {.steps = steps, .slots = {slots}}).broken;
}

}  // namespace tidemark::schedule
