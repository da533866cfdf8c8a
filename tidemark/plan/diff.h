// How two plans for one problem differ: what each makes more often, moves or puts in place, and their figures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"

namespace tidemark::plan {

struct PlanDiff {
  struct Runs {
    TaskId task = 0;
    int a = 0, b = 0;
  };
  struct Moves {
    BufferId buffer = 0;
    int a = 0, b = 0;  // copies out and back
  };
  std::vector<Runs> runs;  // tasks that one runs more often, dearest difference first
  std::vector<Moves> moves;
  int in_place_a = 0, in_place_b = 0;
  double seconds_a = 0, seconds_b = 0;
  Bytes peak_a = 0, peak_b = 0;
  bool same_steps = false;
};

// Both plans must be of the problem.
TIDEMARK_API PlanDiff diff(const Problem& problem, const Plan& a, const Plan& b);
// A few lines for people; at most `rows` tasks and buffers are named.
TIDEMARK_API std::string to_string(const Problem& problem, const PlanDiff& diff, int rows = 20);

}  // namespace tidemark::plan
