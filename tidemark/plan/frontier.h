// The whole curve of time against budget: plans from the smallest budget found to the fastest, as a rule the one that keeps everything, each
// checked, none slower than one for a smaller budget. Input of the report and of `tidemark frontier`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

struct FrontierPoint {
  Bytes budget = 0;
  double seconds_bound = 0;    // no plan for this budget is faster
  double seconds_per_gib = 0;  // what a GiB more saves, up to the next point
  Plan plan;
};

struct FrontierOptions {
  int points = 12;  // evenly spaced from the smallest budget to that of the fastest plan
  // For each point; its budget is the point's, its progress may end the whole.
  Options solve = {};
};

// By rising budget, the last as fast as is found without one. Each point starts from its neighbour's plan. Empty where no plan is found whatever the
// budget (a tier is too small).
TIDEMARK_API std::vector<FrontierPoint> frontier(const Problem& problem, const FrontierOptions& options = {});

// Of points by rising budget: what a GiB more saves from each to the next; and a bound for a larger budget holds for a smaller one.
void add_margins(std::vector<FrontierPoint>& points);

}  // namespace tidemark::plan
