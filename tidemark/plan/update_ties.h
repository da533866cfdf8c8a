// Versions as an order of runs: which updates of the list every run of a task follows, and which it precedes.
// Between Problem and what looks for a Plan or a bound. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/csr.h"
#include "tidemark/plan/problem.h"

namespace tidemark::plan {

// By task: the updates just before and just behind it in the list, of all buffers that it reads or writes, each once. Not of those that an optional task
// updates itself: it stands in for another, in the place of that.
struct UpdateTies {
  explicit UpdateTies(const Problem& problem);

  Csr after, before;
};

}  // namespace tidemark::plan
