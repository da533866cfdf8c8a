// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/smallest.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "tidemark/base/error.h"
#include "tidemark/plan/arrange.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/fewest.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/peak.h"

namespace tidemark::plan {
namespace {

constexpr double kLeast =
    0.7;  // of the time, for fewer bytes; what is left is for the fastest plan with them
constexpr double kLeastSeconds = 0.05;   // whatever was given: everything kept would be no answer
constexpr double kFewBytes = 0.7;        // of that, before packing is asked for each of them
constexpr double kFewLive = 0.5;         // the same by live bytes alone
constexpr std::size_t kToPlace = 3;      // of what was found by them
constexpr std::int32_t kBothWays = 300;  // tasks
constexpr double kMore = 0.005;          // of the live bytes, for fewer runs
constexpr double kToKeep = 0.1;          // of the time, for offsets of what keeps everything
constexpr double kToThin = 0.08, kToPack = 0.08, kToArrange = 0.03;  // of the time, for each

Plan named(const Problem& problem, Plan plan) {
  plan.planner = "solve";
  plan.problem = problem.name;
  plan.problem_hash = hash(problem);
  return plan;
}

class Smallest {
 public:
  Smallest(const Problem& problem, const Options& options)
      : problem_(problem),
        options_(options),
        limit_(std::max(kLeast * options.time_limit, kLeastSeconds), -1),
        counted_(options.effort >= 0),
        model_(problem, {.makers = options.makers, .in_place = options.in_place, .tiers = options.tiers}) {
    if (!options_.progress) return;
    limit_.ask([this] {
      stopped_ = !options_.progress({limit_.seen(), std::numeric_limits<double>::infinity(), 0, "few bytes"});
      return !stopped_;
    });
  }

  // `from`: a plan of the problem, to go below; null: the one that keeps everything.
  SmallestPeak run(const Plan* from = nullptr) {
    const Values values(problem_);
    const bool idle = no_run_helps(problem_);
    PeakBound peak;
    if (idle)
      peak.bytes = values.resident_bytes;
    else
      peak = peak_bound(values);
    result_.bound = peak.bytes;
    result_.why = idle ? fmt::format("nothing has to run; {} are resident", format_bytes(peak.bytes))
                       : explain(values, peak);
    keep_everything();
    if (from != nullptr && (!has_plan(result_.plan) || from->peak < result_.budget)) begin_with(*from);
    if (!has_plan(result_.plan)) {
      result_.budget = -1;
      return std::move(result_);
    }
    if (!idle) {
      few_bytes();
      solve_below();
    }
    result_.plan.proof.json = proof_json({}, &peak);
    result_.plan.seconds_bound.reset();
    fastest();
    result_.plan.budget = result_.budget;
    result_.plan.peak_bound = result_.bound;
    const std::string broken = check(problem_, result_.plan);
    TIDEMARK_CHECK(broken.empty(), "[smallest] {}", broken);
    return std::move(result_);
  }

 private:
  double packing_seconds(double share) const {
    return counted_ ? options_.time_limit : std::clamp(share * options_.time_limit, 0.02, 1.0);
  }

  bool go_on() const { return !limit_.time_is_up(); }

  bool take(Plan plan) {
    if (!has_plan(plan) || plan.peak >= result_.budget) return false;
    result_.budget = plan.peak;
    result_.plan = std::move(plan);
    return true;
  }

  bool take_steps(const std::vector<Step>& steps, double to_pack) {
    Plan plan = named(problem_, plan_of(problem_, steps));
    if (plan.live_peak >= result_.budget || !tried_.insert(plan.live_peak).second) return false;
    if (options_.offsets)
      place(problem_, plan, -1, packing_seconds(to_pack), counted_, [this] { return go_on(); });
    return take(std::move(plan));
  }

  void keep_everything() {
    Options step = options_;
    step.bounds = false;
    step.budget = -1;
    step.effort = 0;
    step.progress = {};
    if (options_.offsets && !counted_) step.time_limit = std::min(kToKeep * options_.time_limit, 1.0);
    result_.plan = solve(problem_, step);
    result_.budget = result_.plan.peak;
  }

  void begin_with(const Plan& from) {
    Plan plan = named(problem_, plan_of(problem_, from.steps));
    plan.placements = from.placements;
    plan.arena_bytes = from.arena_bytes;
    plan.has_arena = from.has_arena;
    plan.peak = from.peak;
    result_.budget = plan.peak;
    result_.plan = std::move(plan);
  }

  void few_bytes() {
    if (options_.offsets && can_arrange(model_, options_)) {
      few_live_bytes();
      // Small ones end long before their time: each way finds what the other does not.
      if (model_.tasks > kBothWays) return;
    }
    const auto offer = [this](const std::vector<TaskId>& runs) {
      Timeline line(model_);
      line.assign(runs, 0);
      Plan plan;
      plan.steps = steps_of(line);
      // Copies that are half in place are no plan.
      if (replay(problem_, plan).broken.empty()) take_steps(plan.steps, 0.1);
      return result_.budget;
    };
    const Limit share = counted_ ? limit_ : limit_.rest(kFewBytes);
    descend(model_, options_, {result_.bound, result_.bound, result_.budget, offer}, share);
  }

  // Packing each sequence on the way down takes time from going down, and one whose packing is bad hides the better one behind it. So down by
  // live bytes alone, then offsets for those that need fewest, and first for one of fewer runs in hardly more bytes, which packs better.
  void few_live_bytes() {
    std::map<Bytes, std::vector<TaskId>> fewest;  // by live peak
    Timeline line(model_);
    const auto note = [&](const std::vector<TaskId>& runs) {
      line.assign(runs, 0);
      fewest.emplace(line.peak(), runs);
      if (fewest.size() > kToPlace) fewest.erase(std::prev(fewest.end()));
      return fewest.begin()->first;
    };
    const Limit share = counted_ ? limit_ : limit_.rest(kFewLive);
    descend(model_, options_, {result_.bound, result_.bound, result_.plan.live_peak, note}, share);
    if (!fewest.empty() && fewest.begin()->first < result_.budget) place_thinner(*fewest.begin());
    for (const auto& [peak, runs] : fewest) place_below(runs);
  }

  void place_thinner(const std::pair<const Bytes, std::vector<TaskId>>& fewest) {
    const auto& [peak, runs] = fewest;
    Timeline line(model_);
    line.assign(runs, 0);
    const Plan from = plan_of(problem_, steps_of(line));
    Options step = options_;
    step.bounds = step.offsets = false;
    step.warm_start = &from;
    step.budget = peak + static_cast<Bytes>(kMore * static_cast<double>(peak - model_.base));
    if (!counted_) step.time_limit = kToThin * options_.time_limit;
    const Plan thinner = solve(problem_, step, false);
    if (has_plan(thinner)) place_below(runs_of_steps(model_, thinner.steps));
  }

  // With offsets, in this order or, where that leaves holes, in another.
  void place_below(const std::vector<TaskId>& runs) {
    Timeline line(model_);
    line.assign(runs, 0);
    if (line.peak() >= result_.budget || !go_on()) return;
    take_steps(steps_of(line), kToPack);
    for (const double holes : {0.003, 0.015, 0.04}) {
      const auto arena = static_cast<Bytes>((1 + holes) * static_cast<double>(line.peak() - model_.base));
      if (model_.base + arena >= result_.budget || !go_on()) return;
      Limit limit(counted_ ? 1e9 : kToArrange * options_.time_limit, -1);
      limit.ask([this] { return go_on(); });
      const std::optional<Plan> plan = arranged(problem_, model_, runs, arena, options_, limit);
      if (plan && take(named(problem_, *plan))) return;
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
        if (!take(solve(problem_, step, false))) break;
      }
    }
  }

  // The least peak is a budget like others: the fastest plan for it, from the one that was found, and how fast one can be.
  void fastest() {
    if (stopped_) return;
    Options last = options_;
    last.budget = result_.budget;
    last.warm_start = &result_.plan;
    // solve ends a little behind its time, by a cut or a packing.
    if (!counted_)
      last.time_limit = std::max(0.05 * options_.time_limit, 0.9 * (options_.time_limit - limit_.elapsed()));
    take_faster(solve(problem_, last, false));
    if (counted_) as_solve();
  }

  // A plan to begin with keeps a search from looking elsewhere, so it may end above what solve finds without one. What solve finds needs fewer
  // bytes still, now and then, and is then asked for these.
  void as_solve() {
    constexpr int kMost = 8;
    Options cold = options_;
    for (int k = 0; k < kMost; ++k) {
      cold.budget = result_.budget;
      if (!take_faster(solve(problem_, cold)) || result_.budget == cold.budget) return;
    }
  }

  // Whether it is faster. The better of both bounds is the answer's: budgets only fall here, and a bound for a larger one holds.
  bool take_faster(Plan fast) {
    const bool better = has_plan(fast) && fast.seconds < result_.plan.seconds;
    const std::optional<double> had = result_.plan.seconds_bound;
    const std::optional<double> proven = fast.proof.json.empty() ? std::nullopt : fast.seconds_bound;
    Plan& plan = better ? fast : result_.plan;
    plan.proof = proven && proven >= had ? fast.proof : result_.plan.proof;
    plan.seconds_bound = std::max(proven, had);
    if (plan.seconds_bound) {
      plan.seconds_bound = std::min(*plan.seconds_bound, plan.seconds);
      if (plan.seconds - *plan.seconds_bound <= 1e-9 * plan.seconds) plan.status = Plan::Status::optimal;
    }
    if (!better) return false;
    result_.budget = fast.peak;
    result_.plan = std::move(fast);
    return true;
  }

  const Problem& problem_;
  const Options& options_;
  Limit limit_;
  const bool counted_;  // then what is found does not depend on the time
  Model model_;
  std::set<Bytes> tried_;  // live peaks: the same again is as a rule the same plan
  SmallestPeak result_;
  bool stopped_ = false;
};

}  // namespace

SmallestPeak smallest_peak(const Problem& problem, const Options& options) {
  if (const std::string broken = verify(problem); !broken.empty())
    fail(Error::Kind::usage, "[smallest] problem: {}", broken);
  const bool begins_there = std::any_of(problem.buffers.begin(), problem.buffers.end(),
                                        [](const Buffer& b) { return b.start >= 0 || b.end >= 0; });
  if (problem.tiers.empty() || !options.tiers || begins_there) return Smallest(problem, options).run();
  // Copies widen the choice, but the search among them goes other ways: it goes on below what there is without.
  Problem lone = problem;
  lone.tiers.clear();
  Options half = options;
  half.time_limit /= 2;
  Options alone = half;
  if (options.warm_start != nullptr && !replay(lone, *options.warm_start).broken.empty())
    alone.warm_start = nullptr;  // it has copies
  const Plan from = Smallest(lone, alone).run().plan;
  return Smallest(problem, half).run(has_plan(from) ? &from : nullptr);
}

}  // namespace tidemark::plan
