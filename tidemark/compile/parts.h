// From a traced Graph to a Plan, in as many parts of the batch as the options ask for or the planner finds best: between trace and
// lower, what Compiled starts with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/planning.h"

namespace tidemark {

struct PlannedParts {
  Posed posed;
  Planned planned;
  int parts = 1;
  std::string why{};  // for Compiled::notes, where the planner chose to split
};
// A budget that is a fraction becomes bytes. Throws as plan_posed and split_batch do; where `how` explains, a refusal names changes of the
// options under which the program fits.
PlannedParts plan_parts(Graph graph, CompileOptions& options, const PoseOptions& pose_options,
                        std::span<const TierSpec> tiers, const Replanning& how = {});

}  // namespace tidemark
