// Runs for few bytes rather than little time: each task of a list in turn, what it reads made again just before, and what is
// needed last or made again most cheaply given up when the memory is full. Where smallest_peak begins.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/plan.h"

namespace tidemark::plan {

// `order`: the required tasks, valid. The runs, or none where it gets stuck runs more than `most_runs`, or
// may not go on. Without tiers and
// optional tasks; what is updated is never given up.
TIDEMARK_API std::vector<TaskId> frugal_runs(const Problem& problem, const std::vector<TaskId>& order,
                                             Bytes budget, std::size_t most_runs,
                                             const std::function<bool()>& go_on);

}  // namespace tidemark::plan
