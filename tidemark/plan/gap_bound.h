// A bound over gaps, for problems whose cuts take too long: a value that is not stored between two uses costs its maker once more and saves its bytes at all
// moments of the gap. Weaker than cuts with all that a maker needs, and linear in the problem. Part of bound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>

#include "tidemark/plan/stages.h"

namespace tidemark::plan {

struct GapOptions {
  Bytes budget = 0;
  int moments = 16;                                          // at most; fewer where the proof would be large
  double seconds = std::numeric_limits<double>::infinity();  // likewise where there is no time for more
  const Limit* limit = nullptr;                              // ends the choice of moments behind the first
};

// At some of the moments when `candidates` first run: sole tasks, in the order of the list. `live`: about how much is live when a task first
// runs, by task. Nothing is proven where `seconds` of the answer is 0.
TIDEMARK_API StageBound gap_bound(const Values& values, std::span<const TaskId> candidates,
                                  std::span<const Bytes> live, const GapOptions& options);

}  // namespace tidemark::plan
