// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/smallest.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/frugal.h"
#include "tidemark/plan/order.h"
#include "tidemark/plan/peak.h"

namespace tidemark::plan {
namespace {

constexpr int kSteps = 40;

bool has_plan(const Plan& plan) {
  return plan.status == Plan::Status::feasible || plan.status == Plan::Status::optimal;
}

Plan plan_of(const Problem& problem, const std::vector<Step>& steps) {
  Plan plan;
  plan.planner = "solve";
  plan.problem = problem.name;
  plan.problem_hash = hash(problem);
  plan.steps = steps;
  const Replay truth = replay(problem, plan);
  TIDEMARK_CHECK(truth.broken.empty(), "[smallest] {}", truth.broken);
  plan.live_peak = plan.peak = truth.live_peak;
  plan.seconds = truth.seconds;
  plan.lossy = truth.lossy;
  return plan;
}

// Runs of few live bytes, by halving, from the list's order and from one of few bytes.
class Down {
 public:
  Down(const Problem& problem, const Options& options, Bytes bound, Bytes most)
      : problem_(problem),
        model_(problem, {.makers = options.makers, .in_place = options.in_place, .tiers = options.tiers}),
        line_(model_),
        bound_(bound),
        peak_(most) {}

  void from(const std::vector<TaskId>& order, const std::function<bool()>& go_on) {
    take(order);
    Bytes low = bound_ - 1, high = peak_;
    while (high - low > std::max<Bytes>(1, high / 250) && go_on()) {
      const Bytes budget = low + (high - low) / 2;
      const std::vector<TaskId> runs = frugal_runs(problem_, order, budget, 4 * order.size() + 1000, go_on);
      const Bytes before = peak_;
      if (runs.empty() || take(runs) >= before) {
        low = budget;
      } else {
        high = std::min(budget, peak_);
      }
    }
  }
  Bytes peak() const { return peak_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  Bytes take(const std::vector<TaskId>& runs) {
    line_.assign(runs, 0);
    if (line_.peak() < peak_) {
      peak_ = line_.peak();
      steps_ = steps_of(line_);
    }
    return line_.peak();
  }

  const Problem& problem_;
  Model model_;
  Timeline line_;
  Bytes bound_, peak_;
  std::vector<Step> steps_;
};

}  // namespace

SmallestPeak smallest_peak(const Problem& problem, const Options& options) {
  Limit limit(options.time_limit, -1);
  const bool counted = options.effort >= 0;  // then what is found does not depend on the time
  SmallestPeak result;
  const Values values(problem);
  const PeakBound peak = peak_bound(values);
  result.bound = peak.bytes;
  result.why = explain(values, peak);

  Options step = options;
  step.bounds = false;
  step.budget = -1;
  step.effort = 0;
  if (options.offsets) step.time_limit = counted ? 0.25 : std::min(options.time_limit, 1.0);
  result.plan = solve(problem, step);
  result.budget = result.plan.peak;
  // The least time for the bytes is not asked for: the first plan that fits will do.
  step.progress = [&](const Progress& now) {
    if (options.progress && !options.progress(now)) limit.stop();
    return now.best_seconds > 1e300 && !limit.time_is_up();
  };
  const auto attempt = [&](Bytes budget) {
    step.budget = budget;
    step.warm_start = nullptr;
    step.effort = options.effort;
    // Packing goes by the time alone and is not interrupted.
    step.time_limit = !options.offsets ? limit.left() / 2 : counted ? 0.25 : std::min(limit.left() / 2, 3.0);
    Plan plan = solve(problem, step);
    const bool better = has_plan(plan) && plan.peak < result.budget;
    const std::optional<Bytes> smallest = plan.smallest_peak;
    if (better) {
      result.budget = plan.peak;
      result.plan = std::move(plan);
    }
    return std::pair(better, smallest);
  };
  if (problem.tiers.empty() && options.recompute && has_plan(result.plan)) {
    Down down(problem, options, result.bound, result.plan.live_peak);
    std::vector<TaskId> listed;
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      if (!problem.tasks[t].optional) listed.push_back(static_cast<TaskId>(t));
    }
    const Limit share(counted ? options.time_limit : 0.6 * options.time_limit, -1);
    const auto go_on = [&] {
      const Progress now{share.elapsed(), std::numeric_limits<double>::infinity(), 0, "few bytes"};
      if (options.progress && !options.progress(now)) limit.stop();
      return !share.time_is_up() && !limit.time_is_up();
    };
    down.from(listed, go_on);
    if (options.reorder && go_on()) {
      OrderOptions by{.in_place = options.in_place, .time_limit = std::min(0.1 * options.time_limit, 0.5)};
      if (counted) by = {.in_place = options.in_place, .time_limit = 1e9, .effort = 20'000};
      down.from(order(problem, by), go_on);
    }
    if (!down.steps().empty()) {
      Plan plan = plan_of(problem, down.steps());
      if (options.offsets) place(problem, plan, -1, std::clamp(0.2 * options.time_limit, 0.05, 1.0), counted);
      if (plan.peak < result.budget) {
        result.budget = plan.peak;
        result.plan = std::move(plan);
      }
    }
  }
  // How far to go from what fits towards the bound. A budget at which nothing was found in its share of the time is not
  // known to be impossible, so the next try is nearer to what fits.
  double stride = 0.6;
  for (int k = 0; k < kSteps && result.bound < result.budget && !limit.time_is_up() && has_plan(result.plan);
       ++k) {
    const auto less = static_cast<Bytes>(static_cast<double>(result.budget - result.bound) * stride);
    const Bytes budget = result.budget - std::max<Bytes>(1, less);
    const auto [better, seen] = attempt(budget);
    if (better) continue;
    stride /= 2;
    if (stride < 1e-3) break;
    // Seen on the way, for sure within reach.
    if (seen && *seen > budget && *seen < result.budget && !options.offsets) attempt(*seen);
  }
  result.plan.budget = result.budget;
  result.plan.peak_bound = result.bound;
  result.plan.proof.json = proof_json(nullptr, &peak);
  const std::string broken = check(problem, result.plan);
  TIDEMARK_CHECK(broken.empty(), "[smallest] {}", broken);
  return result;
}

}  // namespace tidemark::plan
