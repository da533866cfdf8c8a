// Bounds from several moments at once: what is stored at one must be kept, or made again, until the next, so that the memory which recomputation itself needs
// counts. Part of bound. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/stage_program.h"

namespace tidemark::plan {

// Whether this build can solve the programs.
TIDEMARK_API bool stages_available();

struct StageBound {
  double seconds = 0;       // what the certificate proves; 0 if nothing was found
  bool infeasible = false;  // as floating point sees it: a hint, no proof
  Certificate certificate;
  std::vector<std::pair<Bytes, TaskId>> over;  // see StageProgram::over; a hint likewise
};

// `moments` must each surely run before the next.
TIDEMARK_API StageBound bound_stages(const Values& values, const std::vector<TaskId>& moments, Bytes budget,
                                     int iterations, const Limit* limit = nullptr);

// Of a program that has been solved.
StageBound bound_of(const StageProgram& program);

struct StageBranchOptions {
  double enough = 0;  // seconds: no need to prove more
  int leaves = 1;
  std::function<bool()> go_on;  // asked before each split
};

// The same with branching on "stored or not" at each of the moments. `over` is there where nothing is left to branch on: only another moment can prove more.
StageBound branch_stages(const StageProgram& program, const StageBranchOptions& options);

}  // namespace tidemark::plan
