// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/fit.h"

#include <algorithm>
#include <cmath>

#include "tidemark/plan/budget.h"

namespace tidemark {
namespace {

class Fitting {
 public:
  Fitting(const PoseAt& pose_at, const FitOptions& options) : pose_at_(pose_at), options_(options) {
    if (options.budget < 0) fail(Error::Kind::usage, "[fit] a budget is needed, in bytes");
    if (options.multiple_of < 1)
      fail(Error::Kind::usage, "[fit] multiples of {} are none", options.multiple_of);
    // Sizes are counted in multiples from here on.
    low_ = (std::max<std::int64_t>(options.least, 1) + options.multiple_of - 1) / options.multiple_of;
    high_ = options.most / options.multiple_of;
    if (low_ > high_)
      fail(Error::Kind::usage, "[fit] no multiple of {} lies between {} and {}", options.multiple_of,
           options.least, options.most);
  }

  Fit largest() {
    std::int64_t fits = 0, not_fits = high_ + 1;
    if (!holds(low_)) return std::move(best_);
    fits = low_;
    // Memory is nearly affine in the size: a line through what keeping everything takes at two sizes says where to look
    // first, doubling does the rest.
    for (std::int64_t next = std::min(high_, guess(fits));
         fits < high_ && fits + 1 < not_fits && !best_.stopped;) {
      next = std::clamp(next, fits + 1, not_fits - 1);
      if (holds(next)) {
        fits = next;
      } else {
        not_fits = next;
      }
      next = not_fits > high_ ? std::min(high_, fits * 2) : fits + (not_fits - fits) / 2;
    }
    return std::move(best_);
  }

  // Samples a second rise while fixed work is shared out and fall when recomputation sets in: sizes a factor apart, then
  // around the best of them.
  Fit best() {
    for (std::int64_t n = low_; n <= high_ && !best_.stopped; n = std::max(n + 1, n * 2)) {
      if (!look(n, faster_than_best())) break;
    }
    if (best_.n == 0) return std::move(best_);
    for (std::int64_t step = best_.n / options_.multiple_of / 2; step >= 1 && !best_.stopped; step /= 2) {
      const std::int64_t centre = best_.n / options_.multiple_of;
      // A difference of a few per cent in size is within the error of any prediction.
      if (step * 32 < centre) break;
      for (const std::int64_t n : {centre + step, centre - step}) {
        if (n >= low_ && n <= high_ && !best_.stopped && !seen(n)) look(n, faster_than_best());
      }
    }
    return std::move(best_);
  }

 private:
  using Better = std::function<bool(const plan::Plan&, std::int64_t n)>;
  Better faster_than_best() {
    return [this](const plan::Plan& plan, std::int64_t n) {
      return best_.n == 0 || static_cast<double>(n) / plan.seconds > best_.per_second();
    };
  }
  bool seen(std::int64_t units) const {
    return std::any_of(best_.tried.begin(), best_.tried.end(),
                       [&](const FitTry& t) { return t.n == units * options_.multiple_of; });
  }
  bool holds(std::int64_t units) {
    return look(units, [this](const plan::Plan&, std::int64_t n) { return n > best_.n; });
  }

  std::int64_t guess(std::int64_t units) {
    try {
      const double a = static_cast<double>(plan::store_all_live_peak(pose_at_(units * options_.multiple_of)));
      const double b =
          static_cast<double>(plan::store_all_live_peak(pose_at_(units * 2 * options_.multiple_of)));
      const double per_unit = (b - a) / static_cast<double>(units);
      if (!(per_unit > 0)) return units * 2;
      const double most = static_cast<double>(units) + (static_cast<double>(options_.budget) - a) / per_unit;
      return static_cast<std::int64_t>(
          std::clamp(most, static_cast<double>(units), static_cast<double>(high_)));
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::usage) throw;
      return units + 1;
    }
  }

  // Plans that size; keeps it where it fits and is better.
  bool look(std::int64_t units, const Better& better) {
    const std::int64_t n = units * options_.multiple_of;
    FitTry tried{.n = n};
    std::string why;
    plan::Problem problem;
    bool posed = true;
    try {
      problem = pose_at_(n);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::usage || best_.tried.empty()) throw;
      posed = false;
      why = e.what();
    }
    if (posed) {
      plan::Options solve = options_.solve;
      solve.budget = options_.budget;
      plan::Plan plan = plan::solve(problem, solve);
      tried.seconds_floor = plan::floor_seconds(problem);
      const bool found =
          plan.status == plan::Plan::Status::optimal || plan.status == plan::Plan::Status::feasible;
      if (found) {
        tried.peak = plan.peak;
        tried.seconds = plan.seconds;
        tried.fits = plan.seconds <= tried.seconds_floor * (1 + options_.most_overhead);
        if (!tried.fits)
          why = fmt::format("{:.1f} % over running everything once",
                            100 * (plan.seconds / tried.seconds_floor - 1));
      } else {
        tried.peak = plan.smallest_peak.value_or(0);
        why = plan.reason;
      }
      if (tried.fits && better(plan, n)) {
        best_.n = n;
        best_.seconds_floor = tried.seconds_floor;
        best_.problem = std::move(problem);
        best_.plan = std::move(plan);
      }
    }
    if (best_.n == 0) best_.why_not = why;
    best_.tried.push_back(tried);
    if (options_.progress && !options_.progress(tried)) best_.stopped = true;
    return tried.fits;
  }

  const PoseAt& pose_at_;
  const FitOptions& options_;
  std::int64_t low_ = 1, high_ = 1;
  Fit best_;
};

}  // namespace

Fit largest_fit(const PoseAt& pose_at, const FitOptions& options) {
  return Fitting(pose_at, options).largest();
}
Fit best_fit(const PoseAt& pose_at, const FitOptions& options) { return Fitting(pose_at, options).best(); }

}  // namespace tidemark
