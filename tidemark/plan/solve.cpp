// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/solve.h"

#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/search.h"

namespace tidemark::plan {

Plan solve(const Problem& problem, const Options& options) {
  Limit limit(options.time_limit, options.effort);
  const Bytes budget = options.budget < 0 ? std::numeric_limits<Bytes>::max() / 4 : options.budget;
  Model model(problem, {.makers = options.makers, .in_place = options.in_place, .tiers = options.tiers});
  Search search(model, {.budget = budget, .seed = options.seed, .reorder = options.reorder, .recompute = options.recompute}, limit);
  search.start();
  if (getenv("DBG")) fprintf(stderr, "start %.4f%% t %.4f\n", 100 * (search.best_seconds() / search.floor() - 1), limit.elapsed());
  search.improve([] { return true; });
  Plan plan;
  plan.budget = budget;
  plan.problem = problem.name;
  if (!search.found()) {
    plan.status = Plan::Status::infeasible;
    plan.reason = "none found, least peak " + std::to_string(double(search.least_peak()) / budget);
    return plan;
  }
  Timeline line(model);
  line.assign(search.best(), 0);
  plan.steps = steps_of(line);
  plan.live_peak = plan.peak = line.peak();
  plan.seconds = line.seconds();
  const Replay r = replay(problem, plan);
  if (!r.broken.empty()) plan.reason = "BROKEN " + r.broken;
  if (r.live_peak != plan.live_peak) plan.reason += " PEAK differs";
  return plan;
}

}  // namespace tidemark::plan
