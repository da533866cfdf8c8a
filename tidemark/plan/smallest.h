// The least budget for which a plan is found, and why no plan needs less than its bound. What `min` means as a budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

struct SmallestPeak {
  Bytes budget =
      -1;  // of `plan`: its peak, offsets included where they are asked for; -1: no plan, its `reason` says why
  Bytes bound = 0;  // no plan has fewer bytes live at its peak
  Plan plan;        // the fastest found for `budget`; its `proof` holds the certificates of both bounds
  std::string why;  // for people: which buffers must be live together, and when
};

// Goes down from the plan that keeps everything towards the bound, then looks for the fastest plan within what it reached;
// options.time_limit is for all of it.
TIDEMARK_API SmallestPeak smallest_peak(const Problem& problem, const Options& options = {});

}  // namespace tidemark::plan
