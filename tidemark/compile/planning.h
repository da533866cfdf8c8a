// From a posed Problem to the Plan that a compiled program runs: the budget in bytes, the planner by name, a refusal that says why.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/compile/compiled.h"

namespace tidemark {

// In bytes; -1: none, or the least there is. Throws Error(usage) for what is none.
Bytes budget_of(const plan::Problem& problem, const Budget& memory);

struct Planned {
  plan::Plan plan;
  Program program;
  std::shared_ptr<const Planned> fallback = nullptr;  // to start over with where a codec's slot is too small
};
// Adds tiers, makers and pins to `posed`, plans it and lowers the plan. Throws Error(infeasible) where nothing fits; the plan has
// passed check(). `tiers`: those of the options with their rates.
// `threads` and `profile`: as posed with.
struct Replanning {
  const plan::Plan* from = nullptr;  // a plan to start with
  std::function<bool()> stop = {};   // asked now and then
  bool explain = true;               // a refusal names a budget that was planned too
  const plan::Options* solve = nullptr;  // for each search, but for its budget and time
  plan::Plan* refused = nullptr;         // where nothing fits: what was found and proven
  bool down = true;                      // to the least budget before a refusal (SolveWith)
};
Planned plan_posed(Posed& posed, const CompileOptions& options, std::span<const TierSpec> tiers, int threads,
                   const DeviceProfile* profile, const Replanning& how = {});

// The same for what plan_posed has been through before, when its seconds or the budget have changed.
Planned plan_again(Posed& posed, const CompileOptions& options, std::span<const TierSpec> tiers, const Replanning& how);

}  // namespace tidemark
