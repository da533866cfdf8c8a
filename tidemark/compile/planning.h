// From a posed Problem to the Plan that a compiled program runs: the budget in bytes, the planner by name, a refusal that says why.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/compiled.h"

namespace tidemark {

struct Planned {
  plan::Plan plan;
  Program program;
};
// Adds tiers, makers and pins to `posed`, plans it and lowers the plan. Throws Error(infeasible) where nothing fits; the plan has
// passed check(). `tiers`: those of the options with their rates.
Planned plan_posed(Posed& posed, const CompileOptions& options, std::span<const TierSpec> tiers);

}  // namespace tidemark
