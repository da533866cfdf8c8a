// Bounds from several moments at once: what is stored at one must be kept, or made again, until the next, so
// that the memory which recomputation itself needs counts. A linear program, solved by HiGHS where it was
// found. Part of bound. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/certificate.h"
#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {

// Whether this build can solve the programs.
TIDEMARK_API bool stages_available();

struct StageBound {
  double seconds = 0;       // what the certificate proves; 0 if nothing was found
  bool infeasible = false;  // as floating point sees it: a hint, no proof
  Certificate certificate;
  // Where the solution of the program would need more than the budget: tasks whose first runs are worth a try as moments, with the
  // bytes beyond, or those that the run itself needs if they are fewer; most first. A hint likewise.
  std::vector<std::pair<Bytes, TaskId>> over;
};

// `moments` must each surely run before the next. `iterations` limits the simplex method; with it reached,
// the multipliers are less good but as valid.
TIDEMARK_API StageBound bound_stages(const Values& values, const std::vector<TaskId>& moments, Bytes budget,
                                     int iterations, const Limit* limit = nullptr);

struct StageBranchOptions {
  Bytes budget = 0;
  double enough = 0;  // seconds: no need to prove more
  int leaves = 1, iterations = 20'000;
  const Limit* limit = nullptr;
  std::function<bool()> go_on;  // asked before each split
};

// The same with branching on "stored or not" at each of the moments.
TIDEMARK_API StageBound branch_stages(const Values& values, const std::vector<TaskId>& moments,
                                      const StageBranchOptions& options);

}  // namespace tidemark::plan
