// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/other_budgets.h"

#include <algorithm>

#include "tidemark/compile/loops.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/values.h"

namespace tidemark {
namespace {

// The least budget takes up to eight times the time (docs/compile.md), and as a rule half of that.
constexpr double kForLeast = 1.0 / 4;

// For a larger budget than it was made for.
plan::Plan unproven(plan::Plan plan, Bytes budget) {
  forget_proofs(plan);
  plan.budget = budget;
  return plan;
}

// What is known to do for a plan that was made: the budget that it was made for, or what it takes.
Bytes known_budget(const plan::Plan& plan) { return plan.budget >= 0 ? plan.budget : plan.peak; }

void make_monotone(std::vector<plan::FrontierPoint>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].plan.seconds <= points[i - 1].plan.seconds) continue;
    points[i].plan = unproven(points[i - 1].plan, points[i].budget);
  }
  plan::add_margins(points);
}

}  // namespace

OtherBudgets::OtherBudgets(const Graph& graph, CompileOptions options, PoseOptions pose_options)
    : graph_(graph), options_(std::move(options)), pose_options_(std::move(pose_options)) {
  options_.planner.clear();
  options_.plan_cache.clear();
  options_.plan_file.clear();
  const bool split = options_.micro_batches.parts == 0;
  const bool waits = std::any_of(pose_options_.tiers.begin(), pose_options_.tiers.end(),
                                 [&](const TierSpec& t) { return options_.atomic && t.can_fail(); });
  one_problem_ = !split && !waits && !has_loops(inline_calls(graph_));
  // With copies that updates wait for and without them; and as a whole and in some numbers of parts.
  searches_ = (waits ? 3 : 1) * (split ? 6 : 1);
}

PlannedParts OtherBudgets::at(const Budget& memory, double time_limit) const {
  if (!(time_limit >= 0))
    fail(Error::Kind::usage, "[compile] a time limit of {} vs seconds from 0 on", time_limit);
  CompileOptions options = options_;
  options.memory = memory;
  options.time_limit = time_limit / searches_;
  PoseOptions pose_options = pose_options_;
  pose_options.regions = std::make_shared<RegionCache>();
  return plan_parts(graph_, options, pose_options, pose_options.tiers, {.explain = false});
}

// The search for few bytes goes other ways than that for a budget, which may want a little more.
PlannedParts OtherBudgets::by_name(PlannedParts least, double time_limit) const {
  const Bytes reached = least.planned.plan.peak;
  least.planned.plan.budget = reached;
  for (const double more : {1.0, 1.01, 1.03, 1.1, 1.3}) {
    const auto budget = static_cast<Bytes>(more * static_cast<double>(reached));
    try {
      PlannedParts named = at(Budget(budget), std::min(time_limit, searches_ * options_.time_limit));
      return more == 1 ? std::move(least) : std::move(named);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::infeasible) throw;
    }
  }
  PlannedParts all = at(Budget(), time_limit);
  all.planned.plan.budget = all.planned.plan.peak;
  return all;
}

plan::SmallestPeak OtherBudgets::smallest(double time_limit, const plan::Plan& running) const {
  plan::SmallestPeak least;
  const Bytes known = known_budget(running);
  try {
    PlannedParts found = by_name(at(Budget::minimum(), kForLeast * time_limit), time_limit);
    const plan::Problem& problem = found.posed.problem;
    least.plan = std::move(found.planned.plan);
    least.budget = least.plan.budget;
    if (one_problem_ && !plan::no_run_helps(problem)) {
      const plan::Values values(problem);
      const plan::PeakBound peak = plan::peak_bound(values);
      least.bound = peak.bytes;
      least.why = plan::explain(values, peak);
    } else {
      least.bound = plan::resident_bytes(problem);
      least.why = fmt::format("{} are resident", format_bytes(least.bound));
    }
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible) throw;
    least.plan.status = plan::Plan::Status::timed_out;
    least.plan.reason = e.what();
  }
  if (least.budget < 0 || known < least.budget) {
    least.plan = running;
    least.budget = least.plan.budget = known;
  }
  return least;
}

std::vector<plan::FrontierPoint> OtherBudgets::frontier(int points, double time_limit,
                                                        const plan::Plan& running, bool measured) const {
  if (points < 2) fail(Error::Kind::usage, "[frontier] {} points vs at least the two ends", points);
  const double each = time_limit / points;
  std::vector<plan::FrontierPoint> curve;
  const auto add = [&](const Budget& memory, double seconds) {
    try {
      PlannedParts found = at(memory, seconds);
      plan::Plan plan = std::move(found.planned.plan);
      const Bytes budget = memory.kind == Budget::Kind::bytes ? memory.bytes : plan.peak;
      const double bound =
          one_problem_ ? plan.seconds_bound.value_or(plan::floor_seconds(found.posed.problem)) : 0;
      const bool comparable = one_problem_ || !measured;
      plan.budget = budget;
      // The one to start over with, where there is one, fits the budget that it was made for.
      const bool fits = running.peak <= budget && running.budget <= budget;
      if (comparable && fits && running.seconds < plan.seconds)
        plan = running.budget == budget ? running : unproven(running, budget);
      curve.push_back({.budget = budget, .seconds_bound = bound, .plan = std::move(plan)});
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::infeasible) throw;
    }
  };
  add(Budget(), each);
  if (curve.empty()) return curve;
  add(Budget::minimum(), kForLeast * each);
  if (const Bytes known = known_budget(running); known < curve.back().budget) {
    if (one_problem_ || !measured) {
      const double bound = one_problem_ ? running.seconds_bound.value_or(0) : 0;
      curve.push_back({.budget = known, .seconds_bound = bound, .plan = running});
      curve.back().plan.budget = known;
    } else {
      add(Budget(known), each);
    }
  }
  const Bytes most = curve.front().budget, least = curve.back().budget, step = (most - least) / (points - 1);
  if (most <= least) curve.resize(1);
  for (int i = 1; i + 1 < points && step > 0; ++i) add(Budget(least + step * i), each);
  std::sort(curve.begin(), curve.end(), [](const auto& a, const auto& b) { return a.budget < b.budget; });
  make_monotone(curve);
  return curve;
}

Marginal OtherBudgets::what_more_buys(const plan::Plan& running, bool measured, Bytes more,
                                      double time_limit) const {
  Marginal marginal{.more = more};
  if (running.budget < 0) return marginal;
  const auto seconds_at = [&](Bytes budget) { return at(Budget(budget), time_limit).planned.plan.seconds; };
  try {
    const double now = measured && !one_problem_ ? seconds_at(running.budget) : running.seconds;
    const double then = seconds_at(running.budget + more);
    if (now > 0) marginal.seconds_saved = std::max(0.0, 1 - then / now) * running.seconds;
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible) throw;
  }
  return marginal;
}

}  // namespace tidemark
