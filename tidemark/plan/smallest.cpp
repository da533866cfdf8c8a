// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/smallest.h"

#include <algorithm>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/peak.h"

namespace tidemark::plan {
namespace {
constexpr int kSteps = 40;
}

SmallestPeak smallest_peak(const Problem& problem, const Options& options) {
  const Limit limit(options.time_limit, -1);
  SmallestPeak result;
  const Values values(problem);
  const PeakBound peak = peak_bound(values);
  result.bound = peak.bytes;
  result.why = explain(values, peak);

  Options step = options;
  step.bounds = false;
  step.budget = -1;
  step.effort = 0;
  result.plan = solve(problem, step);
  result.budget = result.plan.peak;
  const Bytes low = result.bound;  // nothing fits below
  // How far to go from what fits towards the bound. A budget at which nothing was found in its share of the time is not
  // known to be impossible, so the next try is nearer to what fits.
  double stride = 0.6;
  for (int k = 0; k < kSteps && low < result.budget && !limit.time_is_up(); ++k) {
    step.budget = result.budget - std::max<Bytes>(1, static_cast<Bytes>(static_cast<double>(result.budget - low) * stride));
    // Not from the plan that fits: the search finds its own way down sooner than from a roomy one.
    step.warm_start = nullptr;
    step.effort = options.effort;
    step.time_limit = limit.left() / 2;
    // The least time for the bytes is not asked for: the first plan that fits will do.
    step.progress = [&](const Progress& now) {
      return now.best_seconds > 1e300 && (!options.progress || options.progress(now));
    };
    Plan plan = solve(problem, step);
    if (plan.status == Plan::Status::feasible || plan.status == Plan::Status::optimal) {
      result.budget = plan.peak;
      result.plan = std::move(plan);
    } else {
      stride /= 2;
      if (stride < 1e-3) break;
      if (plan.smallest_peak && *plan.smallest_peak > step.budget && *plan.smallest_peak < result.budget &&
          !options.offsets) {
        // Seen on the way, for sure within reach.
        step.budget = *plan.smallest_peak;
        Plan seen = solve(problem, step);
        if (seen.status == Plan::Status::feasible) {
          result.budget = seen.peak;
          result.plan = std::move(seen);
        }
      }
    }
  }
  result.plan.budget = result.budget;
  result.plan.peak_bound = result.bound;
  result.plan.proof.json = proof_json(nullptr, &peak);
  return result;
}

}  // namespace tidemark::plan
