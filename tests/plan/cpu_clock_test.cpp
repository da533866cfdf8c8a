// The clock of the planner's work: plans do not depend on what else the process does meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/cpu_clock.h"

#include <gtest/gtest.h>

#include "random_problem.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

void burn(double seconds) {
  const double begin = process_seconds();
  while (process_seconds() - begin < seconds) {
  }
}

TEST(WorkClock, CountsWorkAlone) {
  const WorkClock clock(100);
  const Limit limit(1e-3, -1);
  burn(0.01);
  EXPECT_FALSE(limit.time_is_up());
  worked(2000, 1e-6);
  EXPECT_TRUE(limit.time_is_up());
  EXPECT_GE(limit.elapsed(), 2e-3);
}

TEST(WorkClock, LooksCountToo) {
  const WorkClock clock(100);
  const Limit limit(1e-3, -1);
  std::int64_t looks = 0;
  while (!limit.time_is_up() && looks < 1'000'000) ++looks;
  EXPECT_LT(looks, 1'000'000);
  EXPECT_GT(looks, 10);
}

TEST(WorkClock, ALimitStaysWithItsClock) {
  const Limit outside(1e9, -1);
  double inside = 0;
  {
    const WorkClock clock(10);
    {
      const WorkClock inner(10);
      EXPECT_LT(cpu_seconds(), 1e-3);  // begins anew
      worked(1, 5.0);
    }
    inside = cpu_seconds();
    EXPECT_LT(outside.elapsed(), 4);
  }
  EXPECT_GE(inside, 5);  // what was counted inside is its work as well
  const double begin = process_seconds();
  burn(1e-3);
  EXPECT_GT(cpu_seconds(), begin);
}

// By the clock these would be other plans: it is stopped for others whenever somebody asks.
TEST(WorkClock, PlansDoNotDependOnTheTime) {
  RandomProblem shape;
  shape.tasks = 40;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Problem p = random_problem(seed, shape);
    const auto least = [&](bool busy) {
      const WorkClock clock(p.tasks.size());
      Options o{.time_limit = 0.05};
      if (busy)
        o.progress = [](const Progress&) {
          burn(4e-3);
          return true;
        };
      return smallest_peak(p, o);
    };
    const SmallestPeak calm = least(false), busy = least(true);
    EXPECT_EQ(calm.budget, busy.budget) << seed;
    EXPECT_EQ(calm.plan.seconds, busy.plan.seconds) << seed;
    EXPECT_EQ(calm.plan.seconds_bound, busy.plan.seconds_bound) << seed;
    ASSERT_EQ(calm.plan.steps.size(), busy.plan.steps.size()) << seed;
    const auto planned = [&](bool slow) {
      const WorkClock clock(p.tasks.size());
      Options o{.budget = calm.budget + calm.budget / 20, .time_limit = 0.02};
      if (slow)
        o.progress = [](const Progress&) {
          burn(2e-3);
          return true;
        };
      return solve(p, o).seconds;
    };
    EXPECT_EQ(planned(false), planned(true)) << seed;
  }
}

}  // namespace
}  // namespace tidemark::plan
