// The planners by name, for comparison: the published methods beside ours. Each stands in its own file in
// planners/ and is listed once, in planners.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

struct Planner {
  std::string_view name;
  std::string_view doc;  // one line: what it decides, and who published it
  Plan (*run)(const Problem& problem, const Options& options);
  // Which fields of Options it heeds beside budget, time_limit, effort, offsets, bounds and progress, which all do.
  std::string_view uses = "";
};

TIDEMARK_API std::span<const Planner> planners();
// Null if there is none of that name.
TIDEMARK_API const Planner* find_planner(std::string_view name);
// Runs it; fills in planner, problem, problem_hash, budget and solve_seconds; checks what came out.
TIDEMARK_API Plan run_planner(const Planner& planner, const Problem& problem, const Options& options);

}  // namespace tidemark::plan
