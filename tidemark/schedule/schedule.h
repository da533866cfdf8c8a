// Checkpoint schedules: which states of a loop to keep and which steps to run again, so that the loop can be
// reversed in few slots. A Schedule is a stream of actions; the drivers of scan and of the tape carry them
// out, replay (replay.h) counts them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tidemark/base/api.h"

namespace tidemark::schedule {

// A place that holds one state, or the adjoint data of one step. Tier 0 is the fastest (RAM).
struct Slot {
  int tier = 0;
  std::int64_t index = 0;
  bool operator==(const Slot&) const = default;
};

// Whoever carries actions out has three things beside the slots: a working state (the state at some step), a
// working tape (the adjoint data of a contiguous range of steps, mostly one), and the running adjoint, which
// stands at the end of the loop at first. State i is the state in which step i begins.
struct Action {
  enum class Kind : std::uint8_t {
    advance,  // run steps [from, to) on the working state; the adjoint data of the last `keep` go onto the
              // tape
    reverse,  // take the running adjoint from `to` back to `from`; uses up the tape of these steps
    save,  // state: copy the working state, which is state `from`; tape: move the working tape of [from, to)
    restore,  // state: copy it back, the slot keeps it; tape: move it back, the slot is empty
    discard,  // the state in the slot is not needed any more
    done,     // the running adjoint stands at step 0, all slots are empty
  };
  enum class What : std::uint8_t { state, tape };

  Kind kind = Kind::done;
  What what = What::state;  // for save, restore and discard
  std::int64_t from = 0, to = 0;
  std::int64_t keep = 0;  // for advance
  Slot slot;              // for save, restore and discard
  bool operator==(const Action&) const = default;
};

TIDEMARK_API const char* name_of(Action::Kind kind);

class TIDEMARK_API Schedule {
 public:
  virtual ~Schedule() = default;
  // After `done`, `done` again.
  virtual Action next() = 0;
  // An online schedule learns the number of steps while it runs: its driver stops inside an `advance` when
  // the loop ends, with the working state at `steps`, and calls finish.
  virtual bool online() const { return false; }
  virtual void finish(std::int64_t steps);
};

using SchedulePtr = std::unique_ptr<Schedule>;

// Called every few milliseconds while tables are filled, before there is a first action; it may throw to end it. May be empty.
using Watch = std::function<void()>;

}  // namespace tidemark::schedule
