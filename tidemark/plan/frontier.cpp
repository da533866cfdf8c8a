// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/frontier.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"

namespace tidemark::plan {
namespace {

class Curve {
 public:
  Curve(const Problem& problem, const FrontierOptions& options) : problem_(problem), options_(options) {}

  std::vector<FrontierPoint> run() {
    const Bytes most = keep_everything();
    const Bytes least = find_least(most);
    const int between = std::max(options_.points, 2) - 1;
    // From the top: the neighbour above is the nearest plan that needs only a little more room.
    for (int i = between - 1; i >= 0 && !stopped_; --i) add(least + (most - least) / between * i);
    std::sort(points_.begin(), points_.end(), [](const auto& a, const auto& b) { return a.budget < b.budget; });
    make_monotone();
    return std::move(points_);
  }

 private:
  Bytes keep_everything() {
    Options options = options_.solve;
    options.budget = -1;
    FrontierPoint point;
    point.plan = run_planner(*find_planner("store_all"), problem_, options);
    point.budget = point.plan.budget = point.plan.peak;
    point.seconds_bound = floor_seconds(problem_);
    points_.push_back(std::move(point));
    return points_.back().budget;
  }

  // False where no plan was found.
  bool add(Bytes budget) {
    if (std::any_of(points_.begin(), points_.end(), [&](const FrontierPoint& p) { return p.budget == budget; })) return true;
    Options options = options_.solve;
    options.budget = budget;
    if (options_.solve.progress) {
      options.progress = [this](const Progress& p) {
        stopped_ = stopped_ || !options_.solve.progress(p);
        return !stopped_;
      };
    }
    options.warm_start = &points_.back().plan;
    Plan plan = run_planner(*find_planner("solve"), problem_, options);
    if (plan.steps.empty()) {
      smallest_found_ = plan.smallest_peak.value_or(-1);
      return false;
    }
    const double bound = plan.seconds_bound.value_or(floor_seconds(problem_));
    points_.push_back({.budget = budget, .seconds_bound = bound, .plan = std::move(plan)});
    return true;
  }

  // What must be live in any plan is rarely enough; the least that a search reports mostly is, and else bisection.
  Bytes find_least(Bytes most) {
    Bytes low = resident_bytes(problem_), high = most;
    if (add(low)) return low;
    if (smallest_found_ > low && smallest_found_ < high && add(smallest_found_)) return smallest_found_;
    for (int i = 0; i < 5 && !stopped_; ++i) {
      const Bytes middle = low + (high - low) / 2;
      (add(middle) ? high : low) = middle;
    }
    return high;
  }

  // A plan for a smaller budget serves a larger one, and a bound for a larger budget holds for a smaller one.
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
      here.plan.status = before.seconds - here.seconds_bound <= 1e-9 * before.seconds && here.plan.seconds_bound ? Plan::Status::optimal : Plan::Status::feasible;
    }
    for (std::size_t i = points_.size(); i-- > 1;) {
      points_[i - 1].seconds_bound = std::max(points_[i - 1].seconds_bound, std::min(points_[i].seconds_bound, points_[i - 1].plan.seconds));
      const double saved = points_[i - 1].plan.seconds - points_[i].plan.seconds;
      const auto gib = static_cast<double>(points_[i].budget - points_[i - 1].budget) / 0x1p30;
      points_[i - 1].seconds_per_gib = gib > 0 ? saved / gib : 0;
    }
    for (const FrontierPoint& p : points_) {
      const std::string broken = check(problem_, p.plan);
      TIDEMARK_CHECK(broken.empty(), "[frontier] {}", broken);
    }
  }

  const Problem& problem_;
  const FrontierOptions& options_;
  std::vector<FrontierPoint> points_;
  Bytes smallest_found_ = -1;
  bool stopped_ = false;
};

}  // namespace

std::vector<FrontierPoint> frontier(const Problem& problem, const FrontierOptions& options) { return Curve(problem, options).run(); }

}  // namespace tidemark::plan
