// The least budget for which a plan is found, and why no plan needs less than its bound. What `min` means as a budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

struct SmallestPeak {
  Bytes budget = 0;  // of `plan`: its peak, offsets included where they are asked for
  Bytes bound = 0;   // no plan has fewer bytes live at its peak
  Plan plan;         // its `proof` holds the certificate of the bound
  std::string why;   // for people: which buffers must be live together, and when
};

// Halves the range between the bound and what is reached, each step from the plan before; options.time_limit is for all of them.
TIDEMARK_API SmallestPeak smallest_peak(const Problem& problem, const Options& options = {});

}  // namespace tidemark::plan
