// Chooses the moments of a bound from several moments: a few more at a time, where the solution so far would need more than the budget. Part of bound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "tidemark/plan/stages.h"

namespace tidemark::plan {

struct StageOptions {
  Bytes budget = 0;
  double enough = 0;                       // no need to prove more
  TaskId also = -1;                        // a moment to begin with beside the first, where it is in line
  const Limit* limit = nullptr;            // ends a program under way
  std::function<bool()> unhurried;         // there is time for programs that prove little more
  std::function<bool(int moments)> go_on;  // asked before each program, with its number of moments
};

struct StageSearch {
  StageBound best;  // `seconds` is 0 unless it proves more than `single`, the bound of the first moment alone
  std::unique_ptr<StageProgram> program;  // the one that does, or of the first moment, to branch in
};

StageSearch search_stages(const Values& values, TaskId first, double single, const StageOptions& options);

// Branches, and where nothing is left to branch on, does so again with more moments.
StageBound branch_and_grow(const Values& values, std::unique_ptr<StageProgram> program,
                           const StageBranchOptions& options);

}  // namespace tidemark::plan
