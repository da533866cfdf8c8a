// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/frontier.h"

#include <algorithm>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/smallest.h"

namespace tidemark::plan {
namespace {

class Curve {
 public:
  Curve(const Problem& problem, const FrontierOptions& options) : problem_(problem), options_(options) {}

  std::vector<FrontierPoint> run() {
    const Bytes most = keep_everything();
    if (points_.empty()) return {};
    const Bytes least = find_least(most);
    const int between = options_.points - 1;
    // From the top: the neighbour above is the nearest plan that needs only a little more room.
    const Bytes step = (most - least) / between;
    for (int i = between - 1; i > 0 && step > 0 && !stopped_; --i) add(least + step * i, points_.back().plan);
    // What needs the least was looked for by its bytes.
    if (least < most && !stopped_) add(least, Plan(points_.front().plan));
    const auto faster_at = [](const auto& a, const auto& b) {
      return std::pair{a.budget, a.plan.seconds} < std::pair{b.budget, b.plan.seconds};
    };
    std::sort(points_.begin(), points_.end(), faster_at);
    const auto same = [](const auto& a, const auto& b) { return a.budget == b.budget; };
    points_.erase(std::unique(points_.begin(), points_.end(), same), points_.end());
    make_monotone();
    return std::move(points_);
  }

 private:
  Bytes keep_everything() {
    Options options = options_.solve;
    options.budget = -1;
    FrontierPoint point;
    point.plan = run_planner(*find_planner("store_all"), problem_, options);
    // In the list's order what ends in a tier may not fit it; in another it may.
    if (point.plan.status == Plan::Status::timed_out)
      point.plan = run_planner(*find_planner("solve"), problem_, options);
    if (!has_plan(point.plan)) return 0;
    // Another way to do what a task of the list does may be faster than all that the list says.
    if (point.plan.seconds > floor_seconds(problem_) * (1 + 1e-9)) {
      options.warm_start = &point.plan;
      watch(options);
      Plan fastest = run_planner(*find_planner("solve"), problem_, options);
      if (has_plan(fastest) && fastest.seconds < point.plan.seconds) point.plan = std::move(fastest);
    }
    point.budget = point.plan.budget = point.plan.peak;
    point.seconds_bound = floor_seconds(problem_);
    points_.push_back(std::move(point));
    return points_.back().budget;
  }

  void watch(Options& options) {
    if (!options_.solve.progress) return;
    options.progress = [this](const Progress& p) {
      stopped_ = stopped_ || !options_.solve.progress(p);
      return !stopped_;
    };
  }

  void add(Bytes budget, const Plan& from) {
    Options options = options_.solve;
    options.budget = budget;
    options.warm_start = &from;
    watch(options);
    Plan plan = run_planner(*find_planner("solve"), problem_, options);
    if (!has_plan(plan)) return;
    const double bound = plan.seconds_bound.value_or(floor_seconds(problem_));
    points_.push_back({.budget = budget, .seconds_bound = bound, .plan = std::move(plan)});
  }

  Bytes find_least(Bytes most) {
    Options options = options_.solve;
    options.warm_start = &points_.back().plan;
    watch(options);
    SmallestPeak least = smallest_peak(problem_, options);
    if (least.budget >= most || !has_plan(least.plan)) return most;
    least.plan.budget = least.budget;
    const double bound = least.plan.seconds_bound.value_or(floor_seconds(problem_));
    points_.insert(points_.begin(),
                   {.budget = least.budget, .seconds_bound = bound, .plan = std::move(least.plan)});
    return points_.front().budget;
  }

  // A plan for a smaller budget serves a larger one.
  void make_monotone() {
    for (std::size_t i = 1; i < points_.size(); ++i) {
      FrontierPoint& here = points_[i];
      const Plan& before = points_[i - 1].plan;
      if (before.seconds >= here.plan.seconds) continue;
      here.plan.steps = before.steps;
      here.plan.placements = before.placements;
      here.plan.has_arena = before.has_arena;
      here.plan.arena_bytes = before.arena_bytes;
      here.plan.peak = before.peak;
      here.plan.live_peak = before.live_peak;
      here.plan.seconds = before.seconds;
      here.plan.lossy = before.lossy;
      here.plan.status =
          before.seconds - here.seconds_bound <= 1e-9 * before.seconds && here.plan.seconds_bound
              ? Plan::Status::optimal
              : Plan::Status::feasible;
    }
    add_margins(points_);
    for (const FrontierPoint& p : points_) {
      const std::string broken = check(problem_, p.plan);
      TIDEMARK_CHECK(broken.empty(), "[frontier] {}", broken);
    }
  }

  const Problem& problem_;
  const FrontierOptions& options_;
  std::vector<FrontierPoint> points_;
  bool stopped_ = false;
};

}  // namespace

void add_margins(std::vector<FrontierPoint>& points) {
  // The same tasks added up in another order may differ in the last digit.
  for (FrontierPoint& p : points) p.seconds_bound = std::min(p.seconds_bound, p.plan.seconds);
  for (std::size_t i = points.size(); i-- > 1;) {
    FrontierPoint &here = points[i - 1], &above = points[i];
    here.seconds_bound = std::max(here.seconds_bound, std::min(above.seconds_bound, here.plan.seconds));
    const auto gib = static_cast<double>(above.budget - here.budget) / 0x1p30;
    here.seconds_per_gib = gib > 0 ? (here.plan.seconds - above.plan.seconds) / gib : 0;
  }
}

std::vector<FrontierPoint> frontier(const Problem& problem, const FrontierOptions& options) {
  if (options.points < 2)
    fail(Error::Kind::usage, "[frontier] {} points vs at least the two ends", options.points);
  return Curve(problem, options).run();
}

}  // namespace tidemark::plan
