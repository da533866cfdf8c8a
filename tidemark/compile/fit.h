// What fits a budget: the largest batch or sequence for which there is a plan, and the one with most samples a second. By
// bisection over plans: nothing is allocated and nothing runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "tidemark/compile/compile.h"
#include "tidemark/plan/solve.h"

namespace tidemark {

// One size that was looked at.
struct FitTry {
  std::int64_t n = 0;
  bool fits = false;
  Bytes peak = 0;            // of its plan; where it does not fit, the least found, or 0
  double seconds = 0;        // of its plan
  double seconds_floor = 0;  // every task once
  // Where it does not fit: no plan can, by a bound with its proof, or the size cannot be traced. False: none was found in the time.
  bool proven = false;
  double time_limit = 0;  // the planner's, in seconds
};

struct FitOptions {
  Bytes budget = -1;
  std::int64_t least = 1, most = 1 << 20;
  std::int64_t multiple_of = 1;
  // Only plans that take at most this much longer than running everything once, e.g. 0.33 for one extra forward pass.
  double most_overhead = std::numeric_limits<double>::infinity();
  plan::Options solve = {};  // for each size; its budget is `budget`
  // The least size for which no plan was found, and none is proven to be, is looked at again so often, each time with so many times the
  // time (or rounds) of the last; where it fits then, so are those above it.
  int retries = 1;
  double more_time = 4;
  std::function<bool(const FitTry&)> progress{};  // after each size; false: stop with the best so far
};

struct Fit {
  std::int64_t n = 0;  // 0: not even the least fits
  bool stopped = false;
  plan::Problem problem;      // at n
  plan::Plan plan;            // at n
  double seconds_floor = 0;   // at n
  std::vector<FitTry> tried;  // in the order they were looked at
  // The upper side: the least size above n that does not fit, and whether that is proven (FitTry::proven). 0: none, n is the most that
  // was asked for.
  std::int64_t refused = 0;
  bool proven = false;
  std::string why_not;        // where n is 0: what the planner says of the least

  double overhead() const { return seconds_floor > 0 ? plan.seconds / seconds_floor - 1 : 0; }
  double per_second() const { return plan.seconds > 0 ? static_cast<double>(n) / plan.seconds : 0; }
};

// The problem at size n. Sizes that cannot be traced at all (a sequence longer than the model's table) may throw
// Error(usage): they count as not fitting.
using PoseAt = std::function<plan::Problem(std::int64_t n)>;
// A size planned: what the problem is by then, and whether what is proven of it (Plan::peak_bound, seconds_bound) holds for every way to
// plan the size. Where nothing fits, the plan says what was found.
struct SizedPlan {
  plan::Problem problem;
  plan::Plan plan;
  bool bounds_hold = true;
};
using PlanAt = std::function<SizedPlan(std::int64_t n, const plan::Options& solve)>;

// The largest n that fits. Larger sizes are taken to need more: what is proven of one holds for those above it.
// `plan_at`: null: the problem as it is posed is solved.
TIDEMARK_API Fit largest_fit(const PoseAt& pose_at, const FitOptions& options,
                             const PlanAt& plan_at = nullptr);
// The n with the most n per second inside the budget.
TIDEMARK_API Fit best_fit(const PoseAt& pose_at, const FitOptions& options, const PlanAt& plan_at = nullptr);

// f at size n: arguments(n) gives a tuple of them; contents are not needed (abstract() will do).
template <typename F, typename Arguments>
PoseAt posed_at(F f, CompileOptions options, Arguments arguments) {
  return [f = std::move(f), options = std::move(options), arguments = std::move(arguments)](std::int64_t n) {
    return std::apply([&](const auto&... args) { return posed_problem(f, options, args...); }, arguments(n));
  };
}

// What compile plans for the traced function, settled (compile.h), within the budget and time of `solve`: with its pins, makers, tiers and
// parts, loops fitted to the budget.
TIDEMARK_API SizedPlan plan_within(Graph graph, CompileOptions options, const plan::Options& solve);
template <typename F, typename Arguments>
PlanAt planned_at(F f, CompileOptions options, Arguments arguments) {
  return [f = std::move(f), options = std::move(options), arguments = std::move(arguments)](
             std::int64_t n, const plan::Options& solve) {
    return std::apply(
        [&](const auto&... args) {
          Graph graph = trace(f, args...);
          CompileOptions settled = options;
          settle_arguments(graph, settled, {static_cast<int>(flatten(args).size())...});
          return plan_within(std::move(graph), std::move(settled), solve);
        },
        arguments(n));
  };
}
// With the rates of its tiers, so that they are not measured for every size.
TIDEMARK_API CompileOptions with_rates(CompileOptions options);

// max_length(f, 8_GiB, [&](std::int64_t length) { return std::tuple(weights, abstract({{8, length}, DType::i32})); }): the largest size for which
// compile(f, options) has a plan with that budget.
template <typename F, typename Arguments>
Fit max_length(F f, Bytes budget, Arguments arguments, const CompileOptions& options = {},
               FitOptions fit = {}) {
  fit.budget = budget;
  const CompileOptions rated = with_rates(options);
  return largest_fit(posed_at(f, rated, arguments), fit, planned_at(f, rated, arguments));
}
// max_batch(step, 8_GiB, [&](std::int64_t batch) { return std::tuple(state, abstract({batch, 784})); }, {.state = 1})
// The same for a batch: micro-batches are equal, so only multiples of their number are looked at.
template <typename F, typename Arguments>
Fit max_batch(F f, Bytes budget, Arguments arguments, const CompileOptions& options = {},
              FitOptions fit = {}) {
  fit.multiple_of = std::lcm(fit.multiple_of, std::max(options.micro_batches.parts, 1));
  return max_length(std::move(f), budget, std::move(arguments), options, std::move(fit));
}
template <typename F, typename Arguments>
Fit best_batch(F f, Bytes budget, Arguments arguments, const CompileOptions& options = {},
               FitOptions fit = {}) {
  fit.budget = budget;
  fit.multiple_of = std::lcm(fit.multiple_of, std::max(options.micro_batches.parts, 1));
  const CompileOptions rated = with_rates(options);
  return best_fit(posed_at(f, rated, arguments), fit, planned_at(f, rated, arguments));
}

}  // namespace tidemark
