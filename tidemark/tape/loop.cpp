// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/loop.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/schedule/mixed.h"
#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"
#include "tidemark/schedule/tier_splits.h"
#include "tidemark/store/checksum.h"
#include "tidemark/tape/loop_files.h"

namespace tidemark {
namespace tape {
namespace {

using schedule::Action;
using schedule::SchedulePtr;

double seconds_now(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The bytes that are live, and the most there were at once.
struct Account {
  Bytes live = 0, peak = 0;
  void add(Bytes bytes) { peak = std::max(peak, live += bytes); }
};

// Each has a few bytes of its own, whatever a state takes.
constexpr std::int64_t kMostOnlineSlots = 1'000'000;

// Which schedule reverses `steps` equal steps with `bytes` for snapshots and tapes.
struct Choice {
  const char* name = "";
  std::int64_t slots = 0;
  std::int64_t forward_steps = 0;
};
SchedulePtr make(const Choice& choice, std::int64_t steps) {
  const std::string_view name = choice.name;
  if (name == "store_all") return schedule::store_all(steps);
  if (name == "mixed") return schedule::mixed(steps, choice.slots);
  if (name == "online") return schedule::online(choice.slots);
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
  return best;
}

// Carries out one schedule over steps [first, first + length).
class Carrier {
 public:
  Carrier(Loop& loop, Account& account, CheckpointReport& report)
      : loop_(loop), account_(account), report_(report) {}

  bool finished = false;                              // the running adjoint has begun
  std::int64_t end = 0;                               // of the whole loop; -1: not known yet
  std::function<void(std::int64_t length)> ended;     // where it was not known, before anything is reversed
  std::function<void(std::int64_t left)> progressed;  // after each step reversed
  std::function<Bytes(std::int64_t)> tape_bytes = [this](std::int64_t) {
    return report_.tape;
  };  // as planned

  void run(schedule::Schedule& schedule, std::int64_t first) {
    for (;;) {
      const Action a = schedule.next();
      switch (a.kind) {
        case Action::Kind::advance:
          advance(schedule, first, a);
          break;
        case Action::Kind::reverse:
          reverse(first, a);
          break;
        case Action::Kind::save:
          save(a);
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

 private:
  struct Slot {
    std::vector<std::byte> state;
    Bytes bytes = 0;
    std::vector<std::unique_ptr<StepTape>> tapes;
  };

  void advance(schedule::Schedule& schedule, std::int64_t first, const Action& a) {
    for (std::int64_t i = a.from; i < a.to; ++i) {
      if (end < 0 && loop_.ended(first + i)) {
        end = first + i;
        if (ended) ended(end);
        schedule.finish(i);
        finish();
        return;
      }
      ++report_.measured_forward_steps;
      if (i < a.to - a.keep) {
        loop_.advance(first + i);
      } else {
        working_.push_back(loop_.tape(first + i));
        const Bytes bytes = working_.back()->bytes(), promised = tape_bytes(first + i);
        if (bytes > promised)
          fail(Error::Kind::infeasible,
               "[checkpointed] step {} tapes {} vs {} planned for; measure the steps and give their sizes "
               "(measure_steps)",
               first + i, format_bytes(bytes), format_bytes(promised));
        account_.add(bytes);
      }
    }
    if (end >= 0 && first + a.to == end) finish();
  }
  void finish() {
    if (!std::exchange(finished, true)) loop_.finish();
  }
  void reverse(std::int64_t first, const Action& a) {
    for (std::int64_t i = a.to; i-- > a.from;) {
      loop_.reverse(first + i, *working_.back());
      account_.add(-working_.back()->bytes());
      working_.pop_back();
      if (progressed) progressed(first + i);
    }
  }
  Slot& slot(const Action& a) {
    const auto index = static_cast<std::size_t>(a.slot.index);
    if (slots_.size() <= index) slots_.resize(index + 1);
    return slots_[index];
  }
  void save(const Action& a) {
    Slot& s = slot(a);
    if (a.what == Action::What::tape) {
      s.tapes = std::exchange(working_, {});
      return;
    }
    s.bytes = loop_.state_bytes();
    s.state.resize(static_cast<std::size_t>(s.bytes));
    loop_.save(s.state.data());
    account_.add(s.bytes);
  }
  void restore(const Action& a) {
    Slot& s = slot(a);
    if (a.what == Action::What::tape)
      working_ = std::exchange(s.tapes, {});
    else
      loop_.restore(s.state.data());
  }
  void discard(const Action& a) {
    Slot& s = slot(a);
    account_.add(-std::exchange(s.bytes, 0));
    s.state.clear();
  }

  Loop& loop_;
  Account& account_;
  CheckpointReport& report_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<StepTape>> working_;
};

std::vector<std::byte> state_of(const Loop& loop) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(loop.state_bytes()));
  loop.save(bytes.data());
  return bytes;
}

// What the schedule will do, counted beforehand.
void predict(schedule::Schedule& schedule, std::int64_t steps,
             const std::function<Bytes(std::int64_t)>& state, const std::function<Bytes(std::int64_t)>& tape,
             std::int64_t& forward, Bytes& bytes, const std::function<void(const Action&)>& seen = {}) {
  schedule::Limits limits;
  limits.steps = steps;
  limits.state_bytes = state;
  limits.tape_bytes = tape;
  const schedule::Replay replay = schedule::replay(schedule, limits, seen);
  TIDEMARK_CHECK(replay.broken.empty(), "{}", replay.broken);
  forward += replay.counts.forward_steps;
  bytes = std::max(bytes, replay.counts.bytes);
}

// Actions counted once and then carried out.
class Recorded final : public schedule::Schedule {
 public:
  explicit Recorded(std::vector<Action> actions) : actions_(std::move(actions)) {}
  Action next() override { return at_ < actions_.size() ? actions_[at_++] : Action{}; }

 private:
  std::vector<Action> actions_;
  std::size_t at_ = 0;
};

void reverse_unequal(Loop& loop, std::int64_t steps, const CheckpointOptions& options,
                     CheckpointReport& report) {
  if (steps != static_cast<std::int64_t>(options.steps.size()))
    fail(Error::Kind::usage, "[checkpointed] {} steps vs sizes of {}", steps, options.steps.size());
  const Bytes bytes = options.memory - report.beside;
  // Planning may take about a tenth of what one run of the loop takes.
  double forward = 0;
  for (const schedule::ChainStep& step : options.steps) forward += step.forward;
  const schedule::Chain chain =
      schedule::chain(options.steps, {.budget = bytes, .work = std::clamp(1e9 * forward, 1e8, 1e10)});
  if (!chain.schedule)
    fail(Error::Kind::infeasible,
         "[checkpointed] memory {} vs at least {}: one state and the largest step's tape",
         format_bytes(options.memory), format_bytes(chain.smallest + report.beside));
  report.schedule = "chain";
  std::vector<Action> actions;
  predict(
      *chain.schedule, steps,
      [&](std::int64_t i) { return options.steps[static_cast<std::size_t>(i)].state; },
      [&](std::int64_t i) { return options.steps[static_cast<std::size_t>(i)].tape; }, report.forward_steps,
      report.peak, [&](const Action& a) { actions.push_back(a); });
  report.peak += report.beside;
  Account account;
  account.add(report.beside);
  Carrier carrier(loop, account, report);
  carrier.end = steps;
  carrier.tape_bytes = [&](std::int64_t i) { return options.steps[static_cast<std::size_t>(i)].tape; };
  Recorded recorded(std::move(actions));
  carrier.run(recorded, 0);
  report.measured_peak = account.peak;
}

// Which states go to disk: by the time that a step and a snapshot's write and read take here. What an earlier run decided stands, for its
// snapshots lie where it put them.
schedule::TierSplits splits_for(Loop& loop, const LoopFiles& files, std::span<const std::byte> first_state,
                                std::int64_t steps, const CheckpointOptions& options,
                                const std::function<std::int64_t(std::int64_t)>& forward_steps, Bytes state) {
  const std::int64_t places = std::max<std::int64_t>(0, options.disk / std::max<Bytes>(state, 1));
  // Unless there is less room on disk now.
  if (auto known = files.read_splits(); known && schedule::tier_shape(*known, steps).places <= places)
    return *known;
  files.remove_states();
  const auto seconds = [](const auto& f) {
    const double start = seconds_now(CLOCK_MONOTONIC);
    f();
    return seconds_now(CLOCK_MONOTONIC) - start;
  };
  schedule::TierPrices prices{.hidden = false};
  if (places > 0) {
    const double step = std::max(1e-9, seconds([&] { loop.advance(0); }));
    loop.restore(first_state.data());
    double write = options.disk_seconds, read = options.disk_seconds;
    if (options.disk_seconds < 0) {
      write = seconds([&] { files.write_state(0, first_state); });
      read = seconds([&] { files.read_state(0); });
      files.remove_state(0);
    }
    // Never quite nothing: of two ways with as many steps the one with fewer snapshots.
    prices.write = std::max(1e-6, write / step), prices.read = std::max(1e-6, read / step);
  }
  prices.leaf = [&](std::int64_t n) { return static_cast<double>(forward_steps(n)); };
  prices.last = [&](std::int64_t n) { return schedule::TierPrices::Last{0, prices.leaf(n)}; };
  schedule::TierSplits splits = schedule::tier_splits(steps, places, prices, 2000);
  files.write_splits(splits);
  return splits;
}

// Two levels: states on disk at the ends of segments, and in each segment the schedule for memory. What is on disk is enough to go
// on from, whenever the process ends.
void reverse_with_files(Loop& loop, std::int64_t steps, const CheckpointOptions& options, Bytes bytes,
                        CheckpointReport& report) {
  const std::vector<std::byte> first_state = state_of(loop);
  std::vector<std::byte> given = loop.save_parameters();
  given.insert(given.end(), first_state.begin(), first_state.end());
  const LoopFiles files(options.folder, {steps, checksum(given.data(), static_cast<Bytes>(given.size()))});
  const auto in_memory = [&](std::int64_t n) {
    return choose(std::min(n, steps), bytes, report.state, report.tape);
  };

  std::int64_t left = steps;
  Account account;
  account.add(report.beside);
  Carrier carrier(loop, account, report);
  carrier.end = steps;
  if (const auto progress = files.read_progress()) {
    left = report.resumed_at = progress->left;
    loop.restore_adjoint(progress->adjoint);
    carrier.finished = true;
  }
  const schedule::TierSplits splits = splits_for(
      loop, files, first_state, steps, options, [&](std::int64_t n) { return in_memory(n).forward_steps; },
      report.state);
  const schedule::TierShape shape = schedule::tier_shape(splits, steps);
  report.disk_slots = shape.places;
  double last = seconds_now(CLOCK_MONOTONIC);
  carrier.progressed = [&](std::int64_t now) {
    const double time = seconds_now(CLOCK_MONOTONIC);
    if (time - last < options.progress_seconds && now > 0) return;
    last = time;
    files.write_progress(now, loop.save_adjoint());
  };
  // Steps [from, to) on the working state, which is state `from`.
  const auto go = [&](std::int64_t from, std::int64_t to) {
    for (; from < to; ++from) {
      loop.advance(from);
      ++report.measured_forward_steps;
    }
  };
  // The working state becomes the last of these, by way of those that are not on disk yet.
  const auto go_to_last = [&](std::span<const std::int64_t> kept) {
    std::size_t nearest = kept.size() - 1;
    while (nearest > 0 && !files.has_state(kept[nearest])) --nearest;
    loop.restore(nearest == 0 ? first_state.data() : files.read_state(kept[nearest])->data());
    for (; nearest + 1 < kept.size(); ++nearest) {
      go(kept[nearest], kept[nearest + 1]);
      files.write_state(kept[nearest + 1], state_of(loop));
    }
  };
  const auto each_leaf = [&](const auto& leaf) {
    std::vector<std::int64_t> kept{0};
    std::int64_t to = steps;
    for (const std::int64_t x : splits) {
      const std::int64_t from = kept.back() + std::abs(x);
      if (x > 0) {
        kept.push_back(from);
        continue;
      }
      leaf(std::span<const std::int64_t>(kept), from, to);
      to = from;
      if (x == 0 && kept.size() > 1) kept.pop_back();
    }
  };
  // The forward counts are those of a run that nothing interrupts.
  report.forward_steps = shape.advances + (shape.at.empty() ? 0 : shape.at.back());
  std::map<std::int64_t, std::int64_t> forward;  // by the length of a leaf
  each_leaf([&](std::span<const std::int64_t>, std::int64_t from, std::int64_t to) {
    const auto [it, is_new] = forward.try_emplace(to - from, 0);
    if (is_new)
      predict(
          *make(in_memory(to - from), to - from), to - from, [&](std::int64_t) { return report.state; },
          [&](std::int64_t) { return report.tape; }, it->second, report.peak);
    report.forward_steps += it->second;
  });
  report.peak += report.beside;
  each_leaf([&](std::span<const std::int64_t> kept, std::int64_t from, std::int64_t to) {
    const std::int64_t length = std::min(left, to) - from;
    if (length > 0) {
      go_to_last(kept);
      go(kept.back(), from);
      carrier.run(*make(in_memory(length), length), from);
      files.write_progress(left = from, loop.save_adjoint());
    }
    if (from == kept.back() && from > 0) files.remove_state(from);
  });
  files.remove_progress();
  files.remove_splits();
  files.remove_states();
  report.measured_peak = account.peak;
}

}  // namespace

CheckpointReport reverse_loop(Loop& loop, std::int64_t steps, const CheckpointOptions& options) {
  CheckpointReport report;
  report.steps = steps;
  report.budget = options.memory;
  report.beside = loop.beside();
  report.state = loop.state_bytes();
  if (steps == 0 || (steps < 0 && loop.ended(0))) {
    report.steps = 0;
    loop.finish();
    return report;
  }
  if (!options.steps.empty() && !options.folder.empty())
    fail(Error::Kind::usage,
         "[checkpointed] sizes of {} steps vs snapshots in '{}', which are for equal steps; leave one of "
         "them away",
         options.steps.size(), options.folder);
  if (!options.steps.empty()) {
    reverse_unequal(loop, steps, options, report);
    return report;
  }
  {
    const std::vector<std::byte> first = state_of(loop);
    loop.tape(0);
    loop.restore(first.data());
  }
  report.tape = loop.settle();
  report.beside = loop.beside();
  const Bytes bytes = options.memory - report.beside;
  if (bytes < report.state + report.tape)
    fail(Error::Kind::infeasible,
         "[checkpointed] memory {} vs at least {}: a state of {}, a step's tape of {} and {} beside them",
         format_bytes(options.memory), format_bytes(report.beside + report.state + report.tape),
         format_bytes(report.state), format_bytes(report.tape), format_bytes(report.beside));
  Account account;
  account.add(report.beside);
  if (steps < 0) {
    if (!options.folder.empty())
      fail(Error::Kind::unsupported,
           "[checkpointed] snapshots on disk vs a loop of unknown length; give the number of steps, or "
           "memory alone");
    const Choice online{
        "online",
        std::min<std::int64_t>((bytes - report.tape) / std::max<Bytes>(report.state, 1), kMostOnlineSlots),
        0};
    report.schedule = online.name;
    report.slots = online.slots;
    Carrier carrier(loop, account, report);
    carrier.end = -1;
    carrier.ended = [&](std::int64_t length) {
      report.steps = length;
      predict(
          *make(online, -1), length, [&](std::int64_t) { return report.state; },
          [&](std::int64_t) { return report.tape; }, report.forward_steps, report.peak);
      report.peak += report.beside;
    };
    carrier.run(*make(online, -1), 0);
    report.measured_peak = account.peak;
    return report;
  }
  const Choice choice = choose(steps, bytes, report.state, report.tape);
  report.schedule = choice.name;
  report.slots = choice.slots;
  if (!options.folder.empty()) {
    reverse_with_files(loop, steps, options, bytes, report);
    return report;
  }
  predict(
      *make(choice, steps), steps, [&](std::int64_t) { return report.state; },
      [&](std::int64_t) { return report.tape; }, report.forward_steps, report.peak);
  report.peak += report.beside;
  Carrier carrier(loop, account, report);
  carrier.end = steps;
  carrier.run(*make(choice, steps), 0);
  report.measured_peak = account.peak;
  return report;
}

std::vector<schedule::ChainStep> measure_steps(Loop& loop, std::int64_t steps) {
  std::vector<schedule::ChainStep> result;
  for (std::int64_t i = 0; i < steps; ++i) {
    schedule::ChainStep step;
    const std::vector<std::byte> before = state_of(loop);
    step.state = static_cast<Bytes>(before.size());
    const double start = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
    step.tape = loop.tape(i)->bytes();
    const double taped = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
    loop.restore(before.data());
    const double again = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
    loop.advance(i);
    step.forward = seconds_now(CLOCK_PROCESS_CPUTIME_ID) - again;
    step.adjoint = taped - start;  // recording takes about as long as the sweep
    result.push_back(step);
  }
  return result;
}

}  // namespace tape

namespace {

std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace

std::string CheckpointReport::explain() const {
  std::string text =
      fmt::format("{} steps of {} in {}: ", with_commas(steps), format_bytes(state), format_bytes(budget));
  if (schedule == "store_all")
    text += fmt::format("all {} tapes of {} are kept", with_commas(steps), format_bytes(tape));
  else if (schedule == "chain")
    text += "snapshots and tapes as the exact plan for unequal steps says";
  else
    text += fmt::format("{} snapshot{} and a {} step", with_commas(slots), slots == 1 ? "" : "s",
                        format_bytes(tape));
  if (disk_slots > 0) text += fmt::format(", {} on disk", with_commas(disk_slots));
  if (steps > 0)
    text += fmt::format("; {:.1f} forward runs a step",
                        static_cast<double>(forward_steps) / static_cast<double>(steps));
  if (compiled_steps + taped_steps > 0) {
    text += fmt::format("; {} reversed by {} compiled path{}", with_commas(compiled_steps), paths,
                        paths == 1 ? "" : "s");
    if (taped_steps > 0) text += fmt::format(", {} by the tape ({})", with_commas(taped_steps), not_compiled);
  }
  text += fmt::format("; peak {}; all states would take {}", format_bytes(peak), format_bytes(steps * state));
  return text;
}

}  // namespace tidemark
