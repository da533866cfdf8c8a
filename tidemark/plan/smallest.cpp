// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/smallest.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "tidemark/base/error.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/frugal.h"
#include "tidemark/plan/order.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/search.h"

namespace tidemark::plan {
namespace {

constexpr std::uint64_t kSteps = 40;

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
  Down(const Problem& problem, const Model& model, Bytes bound, Bytes most)
      : problem_(problem), line_(model), bound_(bound), peak_(most) {}

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
  Timeline line_;
  Bytes bound_, peak_;
  std::vector<Step> steps_;
};

class Smallest {
 public:
  Smallest(const Problem& problem, const Options& options)
      : problem_(problem),
        options_(options),
        limit_(options.time_limit, -1),
        counted_(options.effort >= 0),
        model_(problem, {.makers = options.makers, .in_place = options.in_place, .tiers = options.tiers}) {}

  SmallestPeak run() {
    const Values values(problem_);
    const PeakBound peak = peak_bound(values);
    result_.bound = peak.bytes;
    result_.why = explain(values, peak);
    keep_everything();
    if (has_plan(result_.plan)) {
      if (problem_.tiers.empty() && options_.recompute) few_bytes();
      search_below();
      solve_below();
    }
    result_.plan.budget = result_.budget;
    result_.plan.peak_bound = result_.bound;
    result_.plan.proof.json = proof_json(nullptr, &peak);
    const std::string broken = check(problem_, result_.plan);
    TIDEMARK_CHECK(broken.empty(), "[smallest] {}", broken);
    return std::move(result_);
  }

 private:
  // Packing goes by the time alone and is not interrupted.
  double packing_seconds(double share) const {
    return counted_ ? 0.25 : std::clamp(share * options_.time_limit, 0.02, 1.0);
  }

  bool go_on() {
    const Progress now{limit_.elapsed(), std::numeric_limits<double>::infinity(), 0, "few bytes"};
    if (options_.progress && !options_.progress(now)) limit_.stop();
    return !limit_.time_is_up();
  }

  bool take(Plan plan) {
    if (!has_plan(plan) || plan.peak >= result_.budget) return false;
    result_.budget = plan.peak;
    result_.plan = std::move(plan);
    return true;
  }

  bool take_steps(const std::vector<Step>& steps) {
    Plan plan = plan_of(problem_, steps);
    if (plan.live_peak >= result_.budget || !tried_.insert(plan.live_peak).second) return false;
    if (options_.offsets) place(problem_, plan, -1, packing_seconds(0.1), counted_);
    return take(std::move(plan));
  }

  void keep_everything() {
    Options step = options_;
    step.bounds = false;
    step.budget = -1;
    step.effort = 0;
    step.progress = {};
    if (options_.offsets) step.time_limit = counted_ ? 0.25 : std::min(options_.time_limit, 1.0);
    result_.plan = solve(problem_, step);
    result_.budget = result_.plan.peak;
  }

  void few_bytes() {
    Down down(problem_, model_, result_.bound, result_.plan.live_peak);
    std::vector<TaskId> listed;
    for (std::size_t t = 0; t < problem_.tasks.size(); ++t) {
      if (!problem_.tasks[t].optional) listed.push_back(static_cast<TaskId>(t));
    }
    const Limit share(counted_ ? options_.time_limit : 0.4 * options_.time_limit, -1);
    const auto more = [&] { return go_on() && !share.time_is_up(); };
    down.from(listed, more);
    if (options_.reorder && more()) {
      OrderOptions by{.in_place = options_.in_place, .time_limit = std::min(0.1 * options_.time_limit, 0.5)};
      if (counted_) by = {.in_place = options_.in_place, .time_limit = 1e9, .effort = 20'000};
      down.from(order(problem_, by), more);
    }
    if (!down.steps().empty()) take_steps(down.steps());
  }

  // How far to go from what fits towards the bound. What a search comes to on its way to a budget that is too small is the least it can do, and
  // often less than what it needs for one that is not. A budget at which nothing was found in its share of the time is not known to be
  // impossible, so the next try is nearer to what fits.
  void search_below() {
    double stride = 0.6;
    const Limit share(counted_ ? options_.time_limit : 0.7 * options_.time_limit, -1);
    for (std::uint64_t k = 0; k < kSteps && result_.bound < result_.budget && go_on() && !share.time_is_up();
         ++k) {
      const auto less = static_cast<Bytes>(static_cast<double>(result_.budget - result_.bound) * stride);
      const Bytes before = result_.budget, budget = before - std::max<Bytes>(1, less);
      Limit limit(counted_ ? 1e9 : 0.5 * limit_.left(), options_.effort);
      limit.ask([this] { return go_on(); });
      Search search(model_,
                    {.budget = budget,
                     .seed = options_.seed + k,
                     .reorder = options_.reorder,
                     .recompute = options_.recompute,
                     .tiers = options_.tiers,
                     .blocks = options_.blocks,
                     .enough = std::numeric_limits<double>::max()},
                    limit);
      if (options_.warm_start != nullptr) search.offer(runs_of_steps(model_, options_.warm_start->steps));
      search.start();
      bool better = false;
      if (!search.least_runs().empty()) {
        Timeline line(model_);
        line.assign(search.least_runs(), 0);
        Plan plan;
        plan.steps = steps_of(line);
        // Copies that are half in place are no plan.
        if (replay(problem_, plan).broken.empty()) better = take_steps(plan.steps);
      }
      if (better && result_.budget <= before - std::max<Bytes>(1, less / 4)) continue;
      stride /= 2;
      if (stride < 1e-3) break;
    }
  }

  // Whatever solve finds below that, which packs again and again with fewer live bytes: a part less until it finds nothing, then a smaller part.
  void solve_below() {
    Options step = options_;
    step.bounds = false;
    for (const double part : {0.05, 0.02, 0.01, 0.001}) {
      while (result_.bound < result_.budget && go_on()) {
        const auto less = static_cast<Bytes>(part * static_cast<double>(result_.budget));
        step.budget = std::max(result_.bound, result_.budget - std::max<Bytes>(1, less));
        if (!counted_) step.time_limit = std::min(limit_.left() / 2, 3.0);
        if (!take(solve(problem_, step))) break;
      }
    }
  }

  const Problem& problem_;
  const Options& options_;
  Limit limit_;
  const bool counted_;  // then what is found does not depend on the time
  Model model_;
  std::set<Bytes> tried_;  // live peaks: the same again is as a rule the same plan
  SmallestPeak result_;
};

}  // namespace

SmallestPeak smallest_peak(const Problem& problem, const Options& options) {
  return Smallest(problem, options).run();
}

}  // namespace tidemark::plan
