// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners.h"

#include "tidemark/base/error.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/finish.h"

namespace tidemark::plan {
namespace named {

Plan store_all(const Problem& problem, const Options& options);
Plan recompute_all(const Problem& problem, const Options& options);
Plan every_k(const Problem& problem, const Options& options);
Plan sqrt_n(const Problem& problem, const Options& options);
Plan chen_greedy(const Problem& problem, const Options& options);
Plan linearised_sqrt_n(const Problem& problem, const Options& options);
Plan linearised_greedy(const Problem& problem, const Options& options);
Plan ap_sqrt_n(const Problem& problem, const Options& options);
Plan ap_greedy(const Problem& problem, const Options& options);
Plan critical_path(const Problem& problem, const Options& options);
Plan revolve(const Problem& problem, const Options& options);
Plan chain_dp(const Problem& problem, const Options& options);
Plan tree_dp(const Problem& problem, const Options& options);
Plan checkmate_milp(const Problem& problem, const Options& options);
Plan checkmate_lp(const Problem& problem, const Options& options);
Plan dtr(const Problem& problem, const Options& options);
Plan greedy(const Problem& problem, const Options& options);
Plan annealing(const Problem& problem, const Options& options);
Plan evolutionary(const Problem& problem, const Options& options);

}  // namespace named

namespace {

constexpr Planner kPlanners[] = {
    {"solve", "ours: order, recomputation, makers, in place and tiers together, with a bound and its proof",
     solve, "seed target_gap threads warm_start reorder recompute makers in_place tiers blocks"},
    {"store_all", "runs the list once and keeps every buffer until its last use, in place where it can",
     named::store_all, "in_place"},
    {"recompute_all", "keeps nothing over the turn; every later task makes again what it reads",
     named::recompute_all},
    {"every_k", "keeps every k-th value that crosses the turn", named::every_k},
    {"sqrt_n", "square root of n segments, keeps what crosses their boundaries (Chen et al. 2016)",
     named::sqrt_n},
    {"chen_greedy", "segments of about equal bytes, their size searched for (Chen et al. 2016)",
     named::chen_greedy},
    {"linearised_sqrt_n", "sqrt_n that keeps only the task at a boundary, as on a chain (Jain et al. 2020)",
     named::linearised_sqrt_n},
    {"linearised_greedy", "chen_greedy in the same way (Jain et al. 2020)", named::linearised_greedy},
    {"ap_sqrt_n", "sqrt_n with boundaries at articulation points only (Jain et al. 2020)", named::ap_sqrt_n},
    {"ap_greedy", "chen_greedy in the same way (Jain et al. 2020)", named::ap_greedy},
    {"critical_path", "keeps the path of greatest time through the forward part, or every k-th value of it",
     named::critical_path},
    {"revolve", "chains: the binomial schedule (Griewank & Walther 2000)", named::revolve},
    {"chain_dp",
     "chains of unequal tasks: the best persistent plan by dynamic programming (rotor, Beaumont et al. 2020)",
     named::chain_dp},
    {"tree_dp", "trees: the order of least peak by hills and valleys (Liu 1987)", named::tree_dp},
    {"checkmate_milp", "integer program over runs and kept values, with HiGHS (Jain et al. 2020)",
     named::checkmate_milp, "seed target_gap"},
    {"checkmate_lp", "its relaxation and two-phase rounding (Jain et al. 2020)", named::checkmate_lp, "seed"},
    {"dtr", "online: evicts by cost / (size * staleness), simulated (Kirisame et al. 2021)", named::dtr},
    {"greedy", "gives up what costs least per byte until the budget holds", named::greedy},
    {"annealing", "simulated annealing over what is kept over the turn", named::annealing, "seed"},
    {"evolutionary", "a genetic algorithm over what is kept over the turn", named::evolutionary, "seed"},
};

constexpr double kProofSeconds = 0.1;

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
  if (const std::string broken = verify(problem); !broken.empty())
    fail(Error::Kind::usage, "[{}] problem: {}", planner.name, broken);
  const double begin = cpu_seconds();
  // What every planner would say; most look for the tasks that have to run to begin with.
  Plan plan = no_run_helps(problem) ? solve(problem, options) : planner.run(problem, options);
  plan.solve_seconds = cpu_seconds() - begin;
  plan.planner = planner.name;
  plan.problem = problem.name;
  plan.problem_hash = hash(problem);
  plan.budget = options.budget;
  give_evidence(problem, plan);
  // Planners that decide on runs alone state the floor, which needs a proof like any bound.
  if (plan.seconds_bound && plan.proof.json.empty()) {
    const BoundResult floor =
        bound(problem, {.time_limit = kProofSeconds, .branch = false, .stages = false, .peak = false});
    plan.seconds_bound = std::min(*plan.seconds_bound, floor.seconds);
    plan.proof = floor.proof;
  }
  const std::string broken = check(problem, plan);
  TIDEMARK_CHECK(broken.empty(), "[{}] {}", planner.name, broken);
  return plan;
}

}  // namespace tidemark::plan
