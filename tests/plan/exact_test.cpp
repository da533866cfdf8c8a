// The search of tiny problems against one that shares nothing with it: the same seconds, the same least peak, the same
// problems without a plan.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/exact.h"

#include <gtest/gtest.h>

#include "exhaustive.h"
#include "random_problem.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

const Limit kLong(1e9, -1);

Problem tiny(std::uint64_t seed, bool tiers, bool in_place) {
  RandomProblem shape;
  shape.tasks = 2 + static_cast<int>(seed % 4);
  shape.tiers = tiers;
  shape.in_place = in_place;
  return random_problem(seed, shape);
}

// Whether both find a plan or both none; counts which.
struct Agreement {
  int plans = 0, none = 0;
  bool has_plan(const Exact& e, const Exhaustive& truth, std::uint64_t seed, Bytes budget) {
    EXPECT_EQ(e.runs.empty(), !truth.seconds) << seed << " at " << budget;
    ++(e.runs.empty() ? none : plans);
    return !e.runs.empty() && truth.seconds.has_value();
  }
};

TEST(Exact, GivesTheSecondsAndTheLeastPeakOfTryingEverything) {
  Agreement both;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Problem p = tiny(seed, false, seed % 3 == 0);
    const std::optional<Bytes> least = least_peak(p);
    if (!least) continue;
    const Model model(p, {});
    const auto found = exact_least(model, 0, {.budget = store_all_live_peak(p)}, kLong);
    ASSERT_TRUE(found) << seed;
    EXPECT_EQ(found->peak, *least) << seed;
    for (const Bytes budget : {*least - 1, *least, (*least + store_all_live_peak(p)) / 2}) {
      const Exhaustive truth = fastest(p, budget);
      if (!truth.complete) continue;
      const Exact e = exact(model, {.budget = budget}, kLong);
      ASSERT_TRUE(e.complete) << seed;
      if (!both.has_plan(e, truth, seed, budget)) continue;
      Timeline line(model);
      line.assign(e.runs, 0);
      EXPECT_LE(line.peak(), budget) << seed;
      EXPECT_NEAR(line.seconds(), *truth.seconds, 1e-9) << seed << " at " << budget;
    }
  }
  EXPECT_GT(both.plans, 200);
  EXPECT_GT(both.none, 100);
}

TEST(Exact, WithCopiesThereIsAPlanWhereverThereIsOne) {
  Agreement both;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Problem p = tiny(seed, true, false);
    const Model model(p, {});
    const Bytes most = store_all_live_peak(p);
    for (const Bytes budget : {most / 2, 3 * most / 4, most}) {
      const Exhaustive truth = fastest_with_copies(p, budget, 1500);
      if (!truth.complete) continue;
      const Exact e = exact(model, {.budget = budget}, kLong);
      if (!e.complete) continue;
      if (!both.has_plan(e, truth, seed, budget)) continue;
      Timeline line(model);
      line.assign(e.runs, 0);
      Plan plan;
      plan.steps = steps_of(line);
      const Replay carried_out = replay(p, plan);
      EXPECT_EQ(carried_out.broken, "") << seed << " at " << budget;
      EXPECT_LE(carried_out.live_peak, budget) << seed;
    }
  }
  EXPECT_GT(both.plans, 30);
  EXPECT_GT(both.none, 100);
}

TEST(Exact, KeepsTheListsOrderAndRunsNothingAgainWhereTold) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem p = tiny(seed, false, false);
    const Model model(p, {.makers = false});
    const Bytes budget = store_all_live_peak(p);
    const Exact once = exact(model, {.budget = budget, .reorder = false, .recompute = false}, kLong);
    ASSERT_TRUE(once.complete) << seed;
    EXPECT_EQ(once.runs, model.order) << seed;
  }
}

// The maker that may run only once has to be saved for the end: k1, drop, k0, then o1.
TEST(Exact, SolveAndSmallestAskIt) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "saved", "align": 4,
    "buffers": [{"name": "b0", "bytes": 5, "resident": true}, {"name": "b1", "bytes": 3, "resident": true},
                {"name": "b2", "bytes": 7}, {"name": "b3", "bytes": 8}],
    "tasks": [{"name": "k0", "reads": [1, 0], "writes": [2], "seconds": 4, "workspace": 5},
              {"name": "k1", "reads": [1, 1], "writes": [3], "seconds": 2, "workspace": 5},
              {"name": "o1", "reads": [], "writes": [3], "seconds": 5, "once": true, "optional": true}],
    "outputs": [2, 3]})");
  Options o{.time_limit = 1e9, .effort = 20};
  const SmallestPeak least = smallest_peak(p, o);
  EXPECT_EQ(least.budget, 28);
  o.budget = 28;
  const Plan plan = solve(p, o);
  ASSERT_FALSE(plan.steps.empty()) << plan.reason;
  EXPECT_NEAR(plan.seconds, 11, 1e-9);
  o.budget = 27;
  const Plan no = solve(p, o);
  EXPECT_EQ(no.status, Plan::Status::infeasible);
}

}  // namespace
}  // namespace tidemark::plan
