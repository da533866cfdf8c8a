// From the search's sequence of runs to the steps of a Plan and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"
#include "tidemark/plan/timeline.h"

namespace tidemark::plan {

// Steps with drops as early as they can be, waits as late.
std::vector<Step> steps_of(const Timeline& line);
// Live figures of steps that carry out, as replay sees them; a plan without offsets.
Plan plan_of(const Problem& problem, std::vector<Step> steps);
// The runs and copies of given steps that the model knows, in order; drops and waits for copies in are implied.
std::vector<TaskId> runs_of_steps(const Model& model, const std::vector<Step>& steps);

}  // namespace tidemark::plan
