// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/fit.h"

#include <algorithm>
#include <cmath>

#include "tidemark/compile/loops.h"
#include "tidemark/compile/parts.h"
#include "tidemark/plan/budget.h"

namespace tidemark {
namespace {

class Fitting {
 public:
  Fitting(const PoseAt& pose_at, const FitOptions& options, const PlanAt& plan_at)
      : pose_at_(pose_at), plan_at_(plan_at), options_(options) {
    if (options.budget < 0) fail(Error::Kind::usage, "[fit] a budget is needed, in bytes");
    if (!(options.more_time >= 1))
      fail(Error::Kind::usage, "[fit] {} times the time is not more", options.more_time);
    if (options.multiple_of < 1)
      fail(Error::Kind::usage, "[fit] multiples of {} are none", options.multiple_of);
    if (std::isnan(options.most_overhead))
      fail(Error::Kind::usage, "[fit] a limit of nan on the overhead is none; give a fraction, e.g. 0.33");
    // Sizes are counted in multiples from here on. Twice the largest is a number too.
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
    low_ = (std::max<std::int64_t>(options.least, 1) - 1) / options.multiple_of + 1;
    high_ = std::min(options.most, kMost) / options.multiple_of;
    if (low_ > high_)
      fail(Error::Kind::usage, "[fit] no multiple of {} lies between {} and {}", options.multiple_of,
           options.least, options.most);
  }

  Fit largest() {
    for (level_ = 0; !holds(low_);) {
      if (!again(low_)) return finished();
    }
    // Memory is nearly affine in the size: a line through what keeping everything takes at two sizes says where to look
    // first, doubling does the rest.
    climb(low_, high_ + 1, guess(low_));
    // Not found in the time is not the same as not there: what is next is looked at with more of it, and goes on from there.
    while (!best_.stopped && fits_ < high_ && again(fits_ + 1)) {
      if (holds(fits_ + 1)) gallop();
    }
    return finished();
  }

  // Samples a second rise while fixed work is shared out and fall when recomputation sets in: sizes a factor apart, then
  // around the best of them.
  Fit best() {
    for (std::int64_t n = low_; n <= high_ && !best_.stopped; n = std::max(n + 1, n * 2)) {
      bool fits = look(n, faster_than_best());
      while (!fits && !best_.stopped && again(n)) fits = look(n, faster_than_best());
      if (!fits) break;
    }
    level_ = 0;
    if (best_.n == 0) return finished();
    for (std::int64_t step = best_.n / options_.multiple_of / 2; step >= 1 && !best_.stopped; step /= 2) {
      const std::int64_t centre = best_.n / options_.multiple_of;
      // A difference of a few per cent in size is within the error of any prediction.
      if (step * 32 < centre) break;
      for (const std::int64_t n : {centre + step, centre - step}) {
        if (n >= low_ && n <= high_ && !best_.stopped && !seen(n)) look(n, faster_than_best());
      }
    }
    return finished();
  }

 private:
  using Better = std::function<bool(const plan::Plan&, std::int64_t n)>;
  Better faster_than_best() {
    return [this](const plan::Plan& plan, std::int64_t n) {
      return best_.n == 0 || static_cast<double>(n) / plan.seconds > best_.per_second();
    };
  }
  // Between a size that fits and one that does not.
  void climb(std::int64_t fits, std::int64_t not_fits, std::int64_t next) {
    fits_ = fits;
    while (fits_ < high_ && fits_ + 1 < not_fits && !best_.stopped) {
      next = std::clamp(next, fits_ + 1, not_fits - 1);
      if (holds(next)) {
        fits_ = next;
      } else {
        not_fits = next;
      }
      next = not_fits > high_ ? std::min(high_, fits_ * 2) : fits_ + (not_fits - fits_) / 2;
    }
  }
  // From one that fits after all: what more time finds is as a rule near, so in steps that double, up to what is proven.
  void gallop() {
    const std::int64_t end = least_proven();
    std::int64_t not_fits = end;
    ++fits_;
    for (std::int64_t step = 1; fits_ + step < end && !best_.stopped; step *= 2) {
      if (!holds(fits_ + step)) {
        not_fits = fits_ + step;
        break;
      }
      fits_ += step;
    }
    climb(fits_, not_fits, fits_ + (not_fits - fits_) / 2);
  }
  // Whether a size that was refused is worth more time; it has it from then on.
  bool again(std::int64_t units) {
    if (level_ >= options_.retries || best_.stopped || units >= least_proven()) return false;
    ++level_;
    return true;
  }
  std::int64_t least_proven() const {
    std::int64_t least = high_ + 1;
    for (const FitTry& t : best_.tried) {
      if (!t.fits && t.proven) least = std::min(least, t.n / options_.multiple_of);
    }
    return least;
  }
  Fit finished() {
    for (const FitTry& t : best_.tried) {
      const bool later = std::any_of(best_.tried.begin(), best_.tried.end(),
                                     [&](const FitTry& u) { return u.fits && u.n >= t.n; });
      if (t.fits || later) continue;
      if (best_.refused == 0 || t.n < best_.refused) best_.refused = t.n;
    }
    best_.proven =
        best_.refused == 0 ? !best_.stopped : least_proven() * options_.multiple_of <= best_.refused;
    return std::move(best_);
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
    plan::Options solve = options_.solve;
    solve.budget = options_.budget;
    const double times = std::pow(options_.more_time, level_);
    solve.time_limit *= times;
    if (solve.effort >= 0)
      solve.effort = static_cast<std::int64_t>(static_cast<double>(solve.effort) * times);
    FitTry tried{.n = n, .time_limit = solve.time_limit};
    std::string why;
    SizedPlan sized;
    bool posed = true;
    try {
      sized.problem = pose_at_(n);
      tried.seconds_floor = plan::floor_seconds(sized.problem);
      if (plan_at_)
        sized = plan_at_(n, solve);
      else
        sized.plan = plan::solve(sized.problem, solve);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::usage || best_.tried.empty()) throw;
      posed = false;
      tried.proven = true;
      why = e.what();
    }
    if (posed) {
      plan::Plan& plan = sized.plan;
      if (plan::has_plan(plan)) {
        tried.peak = plan.peak;
        tried.seconds = plan.seconds;
        tried.fits = plan.seconds <= tried.seconds_floor * (1 + options_.most_overhead);
        tried.proven = !tried.fits && sized.bounds_hold && plan.seconds_bound && !plan.bound_order_given &&
                       *plan.seconds_bound > tried.seconds_floor * (1 + options_.most_overhead);
        if (!tried.fits)
          why = fmt::format("{:.1f} % over running everything once",
                            100 * (plan.seconds / tried.seconds_floor - 1));
      } else {
        tried.peak = plan.smallest_peak.value_or(0);
        tried.proven = sized.bounds_hold && plan.peak_bound && *plan.peak_bound > options_.budget;
        why = plan.reason;
      }
      if (tried.fits && better(plan, n)) {
        best_.n = n;
        best_.seconds_floor = tried.seconds_floor;
        best_.problem = std::move(sized.problem);
        best_.plan = std::move(plan);
      }
    }
    if (best_.n == 0) best_.why_not = why;
    best_.tried.push_back(tried);
    if (options_.progress && !options_.progress(tried)) best_.stopped = true;
    return tried.fits;
  }

  const PoseAt& pose_at_;
  const PlanAt& plan_at_;
  const FitOptions& options_;
  std::int64_t low_ = 1, high_ = 1, fits_ = 0;
  int level_ = 0;  // of time
  Fit best_;
};

}  // namespace

Fit largest_fit(const PoseAt& pose_at, const FitOptions& options, const PlanAt& plan_at) {
  return Fitting(pose_at, options, plan_at).largest();
}
Fit best_fit(const PoseAt& pose_at, const FitOptions& options, const PlanAt& plan_at) {
  return Fitting(pose_at, options, plan_at).best();
}

CompileOptions with_rates(CompileOptions options) {
  for (TierSpec& tier : options.tiers) tier = measured(std::move(tier));
  return options;
}

SizedPlan plan_within(Graph graph, CompileOptions options, const plan::Options& solve) {
  options = with_rates(std::move(options));
  if (!options.device) options.device = cpu();
  options.memory = solve.budget;
  options.time_limit = solve.time_limit;
  const auto profile = profile_for(options, *options.device);
  const PoseOptions pose_options{.threads = options.device->threads(),
                                 .profile = profile.get(),
                                 .name = options.name,
                                 .regions = std::make_shared<RegionCache>(),
                                 .tiers = options.tiers};
  // Other areas for loops, and other numbers of parts, are other problems.
  const bool one = options.micro_batches.parts != 0 && !has_loops(inline_calls(graph));
  plan::Plan refused{.status = plan::Plan::Status::timed_out};
  try {
    PlannedParts found = plan_parts(std::move(graph), options, pose_options, options.tiers,
                                    {.explain = false, .solve = &solve, .refused = &refused});
    return {std::move(found.posed.problem), std::move(found.planned.plan), one};
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible) throw;
    refused.reason = e.what();
    return {{}, std::move(refused), one};
  }
}

}  // namespace tidemark
