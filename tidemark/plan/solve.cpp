// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/solve.h"

#include <cmath>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/plan/drops.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/improve.h"
#include "tidemark/plan/start_cut.h"

namespace tidemark::plan {

Plan solve(const Problem& problem, const Options& options) {
  Limit limit(options.time_limit, options.effort);
  const Bytes budget = options.budget < 0 ? std::numeric_limits<Bytes>::max() / 4 : options.budget;
  Model model(problem, {.makers = options.makers, .in_place = options.in_place, .tiers = options.tiers});
  Timeline line(model);
  line.assign(model.order, 3);
  Drops drops(line, budget);
  Improve improve(line, drops, options.seed + 1);
  const bool dbg = getenv("DBG");
  if (options.reorder) {
    improve.delay();
    improve.advance();
  }
  const std::vector<TaskId> first = line.runs();
  const double floor = line.seconds();
  double best_seconds = std::numeric_limits<double>::infinity();
  std::vector<TaskId> best;
  const auto note = [&](const char* what) {
    if (line.peak() <= budget && line.seconds() < best_seconds) {
      best_seconds = line.seconds();
      best = line.runs();
    }
    if (dbg) fprintf(stderr, "%-12s t %.4f sec %.4f%% peak/budget %.4f best %.4f%% runs %d\n", what, limit.elapsed(), 100 * (line.seconds() / floor - 1), double(line.peak()) / budget, 100 * (best_seconds / floor - 1), line.run_count());
  };
  note("reordered");
  if (line.peak() > budget) {
    const std::int32_t moment = line.profile().where_most();
    const Bytes room = budget - model.base - bytes_of_run(line, moment);
    const auto cuts = cuts_at(line, moment, room, limit);
    if (dbg) for (auto& c : cuts) fprintf(stderr, "cut sec %.4f%% stored/room %.4f n %zu t %.4f\n", 100 * c.seconds / floor, double(c.stored) / room, c.again.size(), limit.elapsed());
    for (std::size_t k = 0; k <= cuts.size(); ++k) {
      line.assign(first, 7);
      if (k < cuts.size()) {
        Cut cut = cuts[k];
        cut.moment = line.runs_of(model.order[0]).front();
        // the same run in the new numbering
        cut.moment = 0;
        std::int32_t index = 0;
        (void)index;
        Timeline old(model);
        old.assign(first, 3);
        cut.moment = (moment + 1) / 4 * 8 - 1;
        if (!apply_cut(line, cut)) { if (dbg) fprintf(stderr, "apply failed\n"); continue; }
      }
      note("cut");
      auto out = drops.repair(1e300, 0, improve.rng(), 100000);
      if (dbg) fprintf(stderr, "repair %d\n", (int)out);
      note("repaired");
      improve.prune();
      note("pruned");
    }
    if (!best.empty()) {
      line.assign(best, 7);
      double current = line.seconds();
      std::int64_t rounds = 0, ok = 0;
      while (!limit.time_is_up()) {
        const double left = limit.left() / limit.total();
        const double slack = 0.0005 * floor * left * left * -std::log(improve.rng().uniform() + 1e-12);
        ++rounds;
        if (improve.ruin_and_recreate(slack)) {
          ++ok;
          line.forget_log();
          current = line.seconds();
          if (current < best_seconds - 1e-12 * floor) { best_seconds = current; best = line.runs(); }
        }
        if ((rounds & 255) == 0 && current > best_seconds + 0.002 * floor) line.assign(best, 7);
      }
      if (dbg) fprintf(stderr, "rounds %ld accepted %ld\n", rounds, ok);
      line.assign(best, 7);
      improve.prune();
      note("end");
    }
  }
  Plan plan;
  plan.budget = budget;
  plan.problem = problem.name;
  if (best.empty()) {
    plan.status = Plan::Status::infeasible;
    plan.reason = "none found";
    return plan;
  }
  line.assign(best, 1);
  plan.steps = steps_of(line);
  plan.live_peak = plan.peak = line.peak();
  plan.seconds = line.seconds();
  const Replay r = replay(problem, plan);
  if (!r.broken.empty()) { plan.reason = "BROKEN " + r.broken; }
  if (r.live_peak != plan.live_peak) plan.reason += " PEAK differs";
  return plan;
}

}  // namespace tidemark::plan
