// Carrying out schedules over a Loop: what is live is counted, states that lie elsewhere are in a StateStore. The same code runs a rehearsal,
// on a loop and a store that only have sizes, which is how peaks and steps are predicted. Used by loop.cpp, loop_disk.cpp and
// loop_online.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/schedule/tier_splits.h"
#include "tidemark/tape/loop.h"

namespace tidemark::tape {

// The bytes that are live, and the most there were at once.
struct Account {
  Bytes live = 0, peak = 0;
  void add(Bytes bytes) { peak = std::max(peak, live += bytes); }
};

// A step or a state that takes another size than all were taken to have: they can be measured and planned for one by one.
struct StepsDiffer : Error {
  using Error::Error;
};

// What begins the reverse sweep takes more behind the last step than at the first state, and so much that the budget is exceeded: it can be planned for.
struct EndTakesMore : Error {
  EndTakesMore(Bytes m, const std::string& what) : Error(Error::Kind::infeasible, what), more(m) {}
  Bytes more;
};

// Which schedule reverses `steps` equal steps with `bytes` for snapshots and tapes.
struct Choice {
  const char* name = "";
  std::int64_t slots = 0;
  std::int64_t forward_steps = 0;
  Bytes bytes = 0, state = 0, tape = 0;  // for sized, whose slots are the most states there may be
};
Choice choose(std::int64_t steps, Bytes bytes, Bytes state, Bytes tape);
schedule::SchedulePtr make(const Choice& choice, std::int64_t steps);

// What the schedule will do, counted beforehand.
void predict(schedule::Schedule& schedule, std::int64_t steps,
             const std::function<Bytes(std::int64_t)>& state, const std::function<Bytes(std::int64_t)>& tape,
             std::int64_t& forward, Bytes& bytes,
             const std::function<void(const schedule::Action&)>& seen = {});

std::uint64_t checksum_of_state(const Loop& loop);

// Carries out one schedule over steps [first, first + length).
class Carrier {
 public:
  Carrier(Loop& loop, Account& account, CheckpointReport& report)
      : loop_(loop), account_(account), report_(report) {}

  bool finished = false;                              // the running adjoint has begun
  bool can_measure = false;                           // smaller sizes than planned are worth it
  Bytes reserved = 0;                                 // for what the end takes more; and what it took
  Bytes copied = -1;  // planned for a copy of the running adjoint, which is written; -1: it is not
  std::int64_t end = -1;                              // of the whole loop, where it is known
  std::function<void(std::int64_t step)> taping;      // before each step taped
  std::function<void(std::int64_t left)> progressed;  // after each step reversed
  // Of the state before a step, as an earlier run of these steps had it.
  struct Known {
    std::int64_t step = -1;
    std::uint64_t sum = 0;
    std::string where;  // says so
  };
  std::optional<Known> known;
  std::function<Bytes(std::int64_t)> tape_bytes = [this](std::int64_t) {
    return report_.tape;
  };                                               // as planned
  std::function<Bytes(std::int64_t)> state_bytes;  // as planned; empty: all are as they were measured first

  void run(schedule::Schedule& schedule, std::int64_t first);
  std::unique_ptr<StepTape> tape(std::int64_t step);
  void advance(std::int64_t step);
  void reverse(std::int64_t step, std::unique_ptr<StepTape> tape);
  void finish();
  // Copies the working state; the bytes that are counted for it from now on.
  Bytes save(std::vector<std::byte>& to, std::int64_t step);

 private:
  struct Slot {
    std::vector<std::byte> state;
    Bytes bytes = 0;
    std::vector<std::unique_ptr<StepTape>> tapes;
  };
  void advance(std::int64_t first, const schedule::Action& a);
  void reverse(std::int64_t first, const schedule::Action& a);
  void save(std::int64_t first, const schedule::Action& a);
  void restore(const schedule::Action& a);
  void discard(const schedule::Action& a);
  Slot& slot(const schedule::Action& a);
  void compare(std::int64_t step);
  // Gives back what is held for later use, where that and `bytes` would be more than the budget.
  void make_room(Bytes bytes);
  void need_planned(const char* what, std::int64_t step, Bytes bytes, Bytes planned) const;
  void count_adjoint(std::int64_t step);

  Loop& loop_;
  Account& account_;
  CheckpointReport& report_;
  std::vector<Slot> slots_;
  Bytes spare_ = 0;  // held by slots that are empty
  Bytes grown_ = 0;  // by so much did the running adjoint, at most
  std::vector<std::unique_ptr<StepTape>> working_;
};

// States that lie elsewhere, by the step that begins with them. The first state is never among them: Loop::restart has it.
class StateStore {
 public:
  virtual ~StateStore() = default;
  virtual std::set<std::int64_t> steps() const = 0;
  virtual bool has(std::int64_t step) const = 0;
  virtual void read(std::int64_t step, Loop& to) = 0;
  virtual void write(std::int64_t step, const Loop& from) = 0;
  virtual void remove(std::int64_t step) = 0;
};

// A sweep with states elsewhere, as far as it does not depend on who decides which.
struct Sweep {
  Sweep(Loop& l, StateStore& s, CheckpointReport& r) : loop(l), store(s), report(r), carrier(l, account, r) {
    account.add(r.beside);
  }
  Loop& loop;
  StateStore& store;
  CheckpointReport& report;
  Account account;
  Carrier carrier;
  std::int64_t left = 0;  // steps not yet reversed
  // Where states lie and progress is written. What leaves come to is then compared with the states behind them.
  std::string folder;
  std::function<void(std::int64_t left)> leaf_reversed;

  // The working state becomes that of `step`: the first one, or one in the store.
  void restore(std::int64_t step);
  // Runs steps [from, to) on the working state, which is state `from`.
  void go(std::int64_t from, std::int64_t to);
  // Reverses steps [from, left), in so many bytes; the working state is state `from`.
  void leaf(std::int64_t from, Bytes bytes);
  // Reverses what is left of steps [base, end) as the splits say; `to_base` makes state `base` the working state.
  void reverse_splits(const schedule::TierSplits& splits, std::int64_t base, std::int64_t end, Bytes bytes,
                      const std::function<void()>& to_base);
};

// Runs `sweep` with sizes alone, and puts the steps and the peak that it comes to into the report: `steps` is the length, and `stored` what
// the store has.
void rehearse(CheckpointReport& report, std::int64_t steps, const std::set<std::int64_t>& stored,
              const std::function<void(Sweep&)>& sweep);

// Known length, states also in a folder; unknown length, with a folder or without.
void reverse_with_files(Loop& loop, std::int64_t steps, const CheckpointOptions& options, Bytes bytes,
                        CheckpointReport& report);
void reverse_online(Loop& loop, const CheckpointOptions& options, Bytes bytes, CheckpointReport& report);

}  // namespace tidemark::tape
