// From a posed Problem to the Plan that a compiled program runs: the budget in bytes, the planner by name, a refusal that says why.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/compiled.h"

namespace tidemark {

// Throws Error(infeasible) where nothing fits; the plan has passed check().
plan::Plan make_plan(const plan::Problem& problem, const CompileOptions& options);

}  // namespace tidemark
