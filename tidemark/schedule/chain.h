// Schedules for loops whose steps differ in time and size, with bytes as the budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/schedule.h"

namespace tidemark::schedule {

struct ChainStep {
  double forward = 0, adjoint = 0;  // seconds
  Bytes state = 0;                  // of the state it begins in
  Bytes tape = 0;                   // of its adjoint data
};

struct ChainOptions {
  // Slots and working tape together; the working state and the running adjoint are beside it.
  Bytes budget = 0;
  // The budget is divided into so many units and every size is rounded up to them; 0: as fine as the work
  // below allows.
  std::int64_t units = 0;
  // About how many sums the tables may take; a second is some 1e10 of them.
  double work = 1e10;
  // Beside the exact table, where that is coarse: one in which states are stored only at the best places, but
  // finely.
  bool refine = true;
  Watch watch;
};

struct Chain {
  SchedulePtr schedule;  // null: the budget is too small
  double seconds = 0;    // forward, the taped steps included, and adjoint
  double forward_seconds = 0;
  Bytes bytes = 0;        // most in slots and on the working tape at once
  Bytes granularity = 0;  // no persistent schedule with sizes rounded up to this has a lower forward time
  double exact_forward_seconds = 0;  // of that schedule; forward_seconds is at most this
  Bytes smallest = 0;                // a budget that is enough in any case: one state and the largest tape
};

TIDEMARK_API Chain chain(std::span<const ChainStep> steps, const ChainOptions& options);

}  // namespace tidemark::schedule
