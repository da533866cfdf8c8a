// Sequences of ever fewer live bytes: runs for few bytes by halving, then starts of the search at budgets below what is had. How
// smallest_peak goes down, and solve where its own start does not fit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/model.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

struct Descent {
  Bytes floor = 0;   // to go towards: no plan is below it
  Bytes target = 0;  // to end at: fewer are not asked for
  Bytes have = 0;    // the fewest so far; the same bytes as `take` counts
  // The fewest so far, this sequence counted.
  std::function<Bytes(const std::vector<TaskId>&)> take;
};

// Ends at the target, when the time is up, or when it finds no more; the fewest at the end.
Bytes descend(const Model& model, const Options& options, const Descent& descent, const Limit& limit);

// solve, which goes `below` where its starts do not fit, or leaves that to a caller that has done so.
Plan solve(const Problem& problem, const Options& options, bool below);

}  // namespace tidemark::plan
