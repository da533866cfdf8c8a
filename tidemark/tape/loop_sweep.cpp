// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/loop_sweep.h"

#include <string_view>

#include "tidemark/base/error.h"
#include "tidemark/schedule/mixed.h"
#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"
#include "tidemark/store/checksum.h"

namespace tidemark::tape {

using schedule::Action;
using schedule::SchedulePtr;

namespace {
constexpr std::int64_t kMostPlaces = 10'000;  // tables of sized grow with them
}  // namespace

SchedulePtr make(const Choice& choice, std::int64_t steps) {
  const std::string_view name = choice.name;
  if (name == "store_all") return schedule::store_all(steps);
  if (name == "mixed") return schedule::mixed(steps, choice.slots);
  if (name == "sized") return schedule::sized(steps, choice.state, choice.tape, choice.bytes);
  return schedule::revolve(steps, choice.slots);
}
Choice choose(std::int64_t steps, Bytes bytes, Bytes state, Bytes tape) {
  state = std::max<Bytes>(state, 1);  // a loop may have parameters alone
  if (tape <= bytes / steps) return {"store_all", 0, steps};
  Choice best{"revolve", std::min(steps, (bytes - tape) / state), 0};
  best.forward_steps = schedule::revolve_advances(steps, best.slots) + steps;
  const std::int64_t units = (bytes - tape) / std::max(state, tape);
  if (units >= 1) {
    const std::int64_t forward = schedule::mixed_steps(steps, units);
    if (forward < best.forward_steps) best = {"mixed", units, forward};
  }
  // States and tapes each in their size. With a place for so many states almost no step is run more than twice.
  const std::int64_t places = std::min(steps, (bytes - tape) / state);
  if (tape > 0 && places <= kMostPlaces) {
    const std::int64_t forward = schedule::sized_steps(steps, state, tape, bytes);
    if (forward < best.forward_steps) best = {"sized", places, forward, bytes, state, tape};
  }
  return best;
}

void predict(schedule::Schedule& schedule, std::int64_t steps,
             const std::function<Bytes(std::int64_t)>& state, const std::function<Bytes(std::int64_t)>& tape,
             std::int64_t& forward, Bytes& bytes, const std::function<void(const Action&)>& seen) {
  schedule::Limits limits;
  limits.steps = steps;
  limits.state_bytes = state;
  limits.tape_bytes = tape;
  const schedule::Replay replay = schedule::replay(schedule, limits, seen);
  TIDEMARK_CHECK(replay.broken.empty(), "{}", replay.broken);
  forward += replay.counts.forward_steps;
  bytes = std::max(bytes, replay.counts.bytes);
}

std::uint64_t checksum_of_state(const Loop& loop) {
  std::vector<std::byte> state;
  loop.save(state);
  return checksum(state.data(), static_cast<Bytes>(state.size()));
}

void Carrier::run(schedule::Schedule& schedule, std::int64_t first) {
  for (;;) {
    const Action a = schedule.next();
    switch (a.kind) {
      case Action::Kind::advance:
        advance(first, a);
        break;
      case Action::Kind::reverse:
        reverse(first, a);
        break;
      case Action::Kind::save:
        save(first, a);
        break;
      case Action::Kind::restore:
        restore(a);
        break;
      case Action::Kind::discard:
        discard(a);
        break;
      case Action::Kind::done:
        return;
    }
  }
}

void Carrier::compare(std::int64_t step) {
  if (!known || known->step != step) return;
  const Known before = *std::exchange(known, std::nullopt);
  if (checksum_of_state(loop_) == before.sum) return;
  fail(Error::Kind::data,
       "[checkpointed] {} has another state before step {} than this run comes to: its parameters, or what "
       "its step captures, are others, or the step does not do the same whenever it gets the same state; run "
       "it with what it began with, or remove the folder's files",
       before.where, step);
}

void Carrier::make_room(Bytes bytes) {
  if (account_.live + spare_ + loop_.spare() + bytes <= report_.budget) return;
  for (Slot& s : slots_)
    if (s.bytes == 0) std::vector<std::byte>().swap(s.state);
  spare_ = 0;
  if (account_.live + loop_.spare() + bytes > report_.budget) loop_.trim();
}

// What takes less than planned for counts as planned.
void Carrier::need_planned(const char* what, std::int64_t step, Bytes bytes, Bytes planned) const {
  if (bytes == planned || (bytes < planned && !can_measure)) return;
  throw StepsDiffer(Error::Kind::infeasible,
                    fmt::format("[checkpointed] {} step {} takes {} vs {} planned for; measure the steps and "
                                "give their sizes (measure_steps)",
                                what, step, format_bytes(bytes), format_bytes(planned)));
}

void Carrier::advance(std::int64_t step) {
  ++report_.measured_forward_steps;
  loop_.advance(step);
  compare(step + 1);
}
std::unique_ptr<StepTape> Carrier::tape(std::int64_t step) {
  if (taping) taping(step);
  ++report_.measured_forward_steps;
  make_room(loop_.spare() > 0 ? 0 : report_.tape);
  std::unique_ptr<StepTape> tape = loop_.tape(step);
  compare(step + 1);
  need_planned("the tape of", step, tape->bytes(), tape_bytes(step));
  account_.add(tape_bytes(step));
  return tape;
}
void Carrier::reverse(std::int64_t step, std::unique_ptr<StepTape> tape) {
  loop_.reverse(step, *tape);
  count_adjoint(step);
  account_.add(-tape_bytes(step));
  tape.reset();
  if (progressed) progressed(step);
}
void Carrier::finish() {
  if (std::exchange(finished, true)) return;
  const Bytes taken = loop_.finish(), more = taken - reserved;
  if (more <= 0) return;
  reserved = taken;
  account_.add(more);
  report_.peak += more;
  if (report_.peak > report_.budget)
    throw EndTakesMore(
        taken,
        fmt::format("[checkpointed] memory {} vs {} of this plan: the loss, or the adjoints it begins "
                    "with, take {} more behind the last step than at the first state; give that much more",
                    format_bytes(report_.budget), format_bytes(report_.peak), format_bytes(taken)));
}
// Adjoints that a step's own adjoint makes larger. Their sizes are known only then, so nothing was planned for them.
void Carrier::count_adjoint(std::int64_t step) {
  Bytes taken = loop_.adjoint_grown();
  if (taken <= grown_) return;
  grown_ = taken;
  if (copied >= 0) taken += std::max<Bytes>(0, static_cast<Bytes>(loop_.save_adjoint().size()) - copied);
  if (taken <= reserved) return;
  account_.add(taken - reserved);
  reserved = taken;
  report_.peak = std::max(report_.peak, account_.peak);
  if (account_.peak > report_.budget)
    fail(Error::Kind::infeasible,
         "[checkpointed] memory {} vs {} that are live: adjoints take {} more before step {} than those of "
         "the first "
         "state, and their sizes are not known beforehand; let `finish` give them in their largest size, "
         "which is planned for",
         format_bytes(report_.budget), format_bytes(account_.peak), format_bytes(taken), step);
}
Bytes Carrier::save(std::vector<std::byte>& to, std::int64_t step) {
  const Bytes planned = state_bytes ? state_bytes(step) : report_.state;
  need_planned("the state before", step, loop_.state_bytes(), planned);
  make_room(planned);
  loop_.save(to);
  account_.add(planned);
  return planned;
}

void Carrier::advance(std::int64_t first, const Action& a) {
  for (std::int64_t i = a.from; i < a.to; ++i) {
    if (i < a.to - a.keep)
      advance(first + i);
    else
      working_.push_back(tape(first + i));
  }
  if (end >= 0 && first + a.to == end) finish();
}
void Carrier::reverse(std::int64_t first, const Action& a) {
  for (std::int64_t i = a.to; i-- > a.from;) {
    std::unique_ptr<StepTape> last = std::move(working_.back());
    working_.pop_back();
    reverse(first + i, std::move(last));
  }
}
Carrier::Slot& Carrier::slot(const Action& a) {
  const auto index = static_cast<std::size_t>(a.slot.index);
  if (slots_.size() <= index) slots_.resize(index + 1);
  return slots_[index];
}
void Carrier::save(std::int64_t first, const Action& a) {
  Slot& s = slot(a);
  if (a.what == Action::What::tape) {
    s.tapes = std::exchange(working_, {});
    return;
  }
  spare_ -= static_cast<Bytes>(s.state.capacity());
  s.bytes = save(s.state, first + a.from);
}
void Carrier::restore(const Action& a) {
  Slot& s = slot(a);
  if (a.what == Action::What::tape)
    working_ = std::exchange(s.tapes, {});
  else
    loop_.restore(s.state.data());
}
void Carrier::discard(const Action& a) {
  Slot& s = slot(a);
  account_.add(-std::exchange(s.bytes, 0));
  s.state.clear();
  spare_ += static_cast<Bytes>(s.state.capacity());
}

void Sweep::restore(std::int64_t step) {
  if (step == 0)
    loop.restart();
  else
    store.read(step, loop);
}
void Sweep::go(std::int64_t from, std::int64_t to) {
  for (; from < to; ++from) carrier.advance(from);
}
void Sweep::leaf(std::int64_t from, Bytes bytes) {
  const std::int64_t length = left - from;
  const std::uint64_t sum = folder.empty() ? 0 : checksum_of_state(loop);
  carrier.run(*make(choose(length, bytes, report.state, report.tape), length), from);
  if (!folder.empty()) carrier.known = {from, sum, folder};
  left = from;
  if (leaf_reversed) leaf_reversed(left);
}

void Sweep::reverse_splits(const schedule::TierSplits& splits, std::int64_t base, std::int64_t end,
                           Bytes bytes, const std::function<void()>& to_base) {
  // The working state becomes the last of these, by way of those that are not in the store yet.
  const auto go_to_last = [&](std::span<const std::int64_t> kept) {
    std::size_t nearest = kept.size() - 1;
    while (nearest > 0 && !store.has(kept[nearest])) --nearest;
    if (nearest == 0)
      to_base();
    else
      store.read(kept[nearest], loop);
    for (; nearest + 1 < kept.size(); ++nearest) {
      go(kept[nearest], kept[nearest + 1]);
      store.write(kept[nearest + 1], loop);
    }
  };
  std::vector<std::int64_t> kept{base};
  std::int64_t to = end;
  for (const std::int64_t x : splits) {
    const std::int64_t from = kept.back() + std::abs(x);
    if (x > 0) {
      kept.push_back(from);
      continue;
    }
    if (std::min(left, to) > from) {
      go_to_last(kept);
      go(kept.back(), from);
      leaf(from, bytes);
    }
    if (from == kept.back() && from > base) store.remove(from);
    to = from;
    if (x == 0 && kept.size() > 1) kept.pop_back();
  }
}

namespace {

class RehearsedTape final : public StepTape {
 public:
  explicit RehearsedTape(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes() const override { return bytes_; }

 private:
  Bytes bytes_;
};

class RehearsedLoop final : public Loop {
 public:
  RehearsedLoop(std::int64_t length, Bytes state, Bytes tape) : length_(length), state_(state), tape_(tape) {}
  Bytes state_bytes() const override { return state_; }
  void save(std::vector<std::byte>&) const override {}
  void restore(const std::byte*) override {}
  void restart() override {}
  bool stands_at(const std::vector<std::byte>&) const override { return true; }
  void advance(std::int64_t) override {}
  std::unique_ptr<StepTape> tape(std::int64_t) override { return std::make_unique<RehearsedTape>(tape_); }
  Bytes finish() override { return 0; }
  void reverse(std::int64_t, StepTape&) override {}
  bool ended(std::int64_t step) override { return step >= length_; }
  std::vector<std::byte> save_adjoint() const override { return {}; }
  void restore_adjoint(std::span<const std::byte>) override {}
  Bytes settle() override { return tape_; }
  Bytes beside() const override { return 0; }

 private:
  std::int64_t length_;
  Bytes state_, tape_;
};

class RehearsedStates final : public StateStore {
 public:
  explicit RehearsedStates(std::set<std::int64_t> steps) : steps_(std::move(steps)) {}
  std::set<std::int64_t> steps() const override { return steps_; }
  bool has(std::int64_t step) const override { return steps_.count(step) > 0; }
  void read(std::int64_t, Loop&) override {}
  void write(std::int64_t step, const Loop&) override { steps_.insert(step); }
  void remove(std::int64_t step) override { steps_.erase(step); }

 private:
  std::set<std::int64_t> steps_;
};

}  // namespace

void rehearse(CheckpointReport& report, std::int64_t steps, const std::set<std::int64_t>& stored,
              const std::function<void(Sweep&)>& sweep) {
  CheckpointReport rehearsed = report;
  rehearsed.measured_forward_steps = 0;
  RehearsedLoop loop(steps, report.state, report.tape);
  RehearsedStates states(stored);
  Sweep s(loop, states, rehearsed);
  sweep(s);
  report.forward_steps = rehearsed.measured_forward_steps;
  report.peak = s.account.peak;
  report.disk_slots = rehearsed.disk_slots;
}

}  // namespace tidemark::tape
