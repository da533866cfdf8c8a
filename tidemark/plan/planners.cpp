// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners.h"

#include "tidemark/base/error.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {
namespace named {

Plan store_all(const Problem& problem, const Options& options);

}  // namespace named

namespace {

constexpr Planner kPlanners[] = {
    {"solve", "ours: order, recomputation, makers, in place and tiers together, with a bound and its proof",
     solve},
    {"store_all", "runs the list once and keeps every buffer until its last use", named::store_all},
};

// A planner that says no without saying why: the peak that must be live proves it, or storing all is the least known.
void give_evidence(const Problem& problem, Plan& plan) {
  if (plan.status != Plan::Status::infeasible || plan.smallest_peak ||
      (plan.peak_bound && *plan.peak_bound > plan.budget))
    return;
  const BoundResult result = bound(problem, {.budget = plan.budget, .time_limit = 0.1, .branch = false});
  if (result.peak.bytes > plan.budget) {
    plan.peak_bound = result.peak.bytes;
    plan.seconds_bound.reset();
    plan.proof = result.proof;
  } else {
    const Plan all = named::store_all(problem, {.offsets = false});
    if (all.peak > plan.budget) plan.smallest_peak = all.peak;
    if (!plan.smallest_peak) plan.status = Plan::Status::timed_out;
  }
}

}  // namespace

std::span<const Planner> planners() { return kPlanners; }

const Planner* find_planner(std::string_view name) {
  for (const Planner& planner : planners()) {
    if (planner.name == name) return &planner;
  }
  return nullptr;
}

Plan run_planner(const Planner& planner, const Problem& problem, const Options& options) {
  const double begin = cpu_seconds();
  Plan plan = planner.run(problem, options);
  plan.solve_seconds = cpu_seconds() - begin;
  plan.planner = planner.name;
  plan.problem = problem.name;
  plan.problem_hash = hash(problem);
  plan.budget = options.budget;
  give_evidence(problem, plan);
  const std::string broken = check(problem, plan);
  TIDEMARK_CHECK(broken.empty(), "[{}] {}", planner.name, broken);
  return plan;
}

}  // namespace tidemark::plan
