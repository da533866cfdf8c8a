// Every schedule that can be made; registry.h has them by name. docs/schedules.md says which to use when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/schedule.h"

namespace tidemark::schedule {

// Of writing and reading one state, in units of one forward step.
struct Costs {
  double write = 0, read = 0;
};

// One advance that tapes all steps, one reverse.
TIDEMARK_API SchedulePtr store_all(std::int64_t steps);
// Keeps every period-th state; segments are run again and taped whole, the last one first.
TIDEMARK_API SchedulePtr periodic(std::int64_t steps, std::int64_t period);
// periodic with the period that makes slots and taped steps equal: ceil(sqrt(steps)).
TIDEMARK_API SchedulePtr sqrt(std::int64_t steps);
// Bisection: about log2(steps) slots and log2(steps) / 2 re-runs a step.
TIDEMARK_API SchedulePtr binary(std::int64_t steps);

// The fewest forward steps that `slots` states allow (the initial state takes one), then the fewest writes.
// Constant memory.
TIDEMARK_API SchedulePtr revolve(std::int64_t steps, std::int64_t slots);
// The least time where writing and reading take some.
TIDEMARK_API SchedulePtr revolve(std::int64_t steps, std::int64_t slots, const Costs& ram,
                                 const Watch& watch = {});
// The fewest forward steps where a slot holds a state or the adjoint data of one step. Constant memory.
TIDEMARK_API SchedulePtr mixed(std::int64_t steps, std::int64_t slots);
// The same with bytes in place of slots, of which a state and the adjoint data of a step ("tape") take what they take, the first state and the tape of
// a step that is reversed at once too (sized.h); and how many forward steps that has.
TIDEMARK_API SchedulePtr sized(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes);
TIDEMARK_API std::int64_t sized_steps(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes);

// RAM is tier 0, disk tier 1.
TIDEMARK_API SchedulePtr multistage(std::int64_t steps, std::int64_t slots, std::int64_t disk_slots,
                                    const Costs& ram = {}, const Costs& disk = {}, const Watch& watch = {});
TIDEMARK_API SchedulePtr disk_revolve(std::int64_t steps, std::int64_t slots, const Costs& ram,
                                      const Costs& disk, const Watch& watch = {});
TIDEMARK_API SchedulePtr h_revolve(std::int64_t steps, std::int64_t slots, std::int64_t disk_slots,
                                   const Costs& ram, const Costs& disk, const Watch& watch = {});

// For loops whose length is known only at their end; see Schedule::finish.
TIDEMARK_API SchedulePtr online(std::int64_t slots);
// Steps that it runs again to come to a state, in a loop that had `steps`; the first state lies elsewhere.
TIDEMARK_API std::int64_t online_advances(std::int64_t steps, std::int64_t places);

}  // namespace tidemark::schedule
