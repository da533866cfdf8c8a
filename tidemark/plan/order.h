// Peak-aware order: the tasks of a problem, each run once, so that the most bytes live at one moment are few.
// No recomputation, no copies; the planner starts from it. Never worse than the order of the list.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tidemark/plan/problem.h"

namespace tidemark::plan {

struct OrderOptions {
  bool in_place = true;     // a write takes over the storage of a read that dies, where the task allows it
  double time_limit = 0.2;  // process CPU seconds; large problems need linear time beyond it
  std::int64_t effort =
      -1;  // states visited; the result depends on it alone when the time limit is not reached
};

// The tasks that are not optional, in an order that keeps the order of all accesses to a buffer of which one
// writes.
TIDEMARK_API std::vector<TaskId> order(const Problem& problem, const OrderOptions& options = {});
// Most bytes live when these tasks run in this order, each buffer dropped after the last task that touches
// it; resident buffers and those with a `start` count all along, outputs and those with an `end` to the end.
// -1: not a valid order.
TIDEMARK_API Bytes live_peak(const Problem& problem, std::span<const TaskId> order, bool in_place);

}  // namespace tidemark::plan
