// Tiny problems, searched whole: the fastest sequence within a budget, or that there is none. Where the local search of
// search.h may miss what a person sees; solve and smallest_peak ask it first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/model.h"

namespace tidemark::plan {

struct ExactOptions {
  Bytes budget = 0;
  bool reorder = true;    // required tasks may run first in another order than the list's
  bool recompute = true;  // a task may run again
};

struct Exact {
  bool complete =
      false;  // every state that matters was seen: without runs, there is no plan within the budget
  std::vector<TaskId> runs;  // the fastest; with copies the fastest of those that wait for each at once
};

// Whether it is small enough to try at all.
bool is_tiny(const Model& model);
// A* over what is live, done and in which tier, until the goal, a fixed number of states, or the time is up. Copies that are waited for at
// once need the fewest bytes, so whether there is a plan does not depend on those that are not.
Exact exact(const Model& model, const ExactOptions& options, const Limit& limit);
// The fewest live bytes of any sequence and one that has them, or of those that were found where not every state was seen; nothing where there is none. Above `low`,
// which no plan is below.
struct ExactLeast {
  Bytes peak = 0;
  std::vector<TaskId> runs;
};
std::optional<ExactLeast> exact_least(const Model& model, Bytes low, ExactOptions options,
                                      const Limit& limit);

}  // namespace tidemark::plan
