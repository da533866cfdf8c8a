// Ballast: what finds no place weighs on the tasks that run while it lives, and on no others; and offsets next to the least peak, where it takes that.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/ballast.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tidemark/base/random.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/solve.h"
#include "tidemark/plan/timeline.h"

namespace tidemark::plan {
namespace {

// Each task makes one value of a size of its own and reads those that end with it.
Problem of_random_lives(Rng& rng, int tasks) {
  Problem p;
  p.name = "lives";
  p.tasks.resize(static_cast<std::size_t>(tasks));
  for (int t = 0; t < tasks; ++t) {
    p.buffers.push_back({.name = "b" + std::to_string(t), .bytes = 100 + rng.below(900)});
    Task& task = p.tasks[static_cast<std::size_t>(t)];
    task.name = "t" + std::to_string(t);
    task.writes = {t};
    task.seconds = 1;
    const std::int64_t last = t + 1 + rng.below(30);
    if (last < tasks) p.tasks[static_cast<std::size_t>(last)].reads.push_back(t);
  }
  return p;
}

TEST(Ballast, WeighsWhereSomethingHasNoPlaceAndNowhereElse) {
  Rng rng(4);
  int placed = 0, weighed = 0;
  for (int k = 0; k < 40; ++k) {
    const Problem problem = of_random_lives(rng, 12 + 4 * k);
    const Model model(problem, {});
    Timeline line(model);
    line.assign(model.order, 0);
    Plan plan = plan_of(problem, steps_of(line));
    const Bytes arena = plan.live_peak + (k % 2 == 0 ? 0 : plan.live_peak / 8);
    Ballast ballast(problem, model, arena);
    if (ballast.place(plan, 2, Limit(1e9, -1))) {
      ++placed;
      plan.budget = arena;
      EXPECT_TRUE(plan.has_arena);
      EXPECT_EQ(check(problem, plan), "");
      continue;
    }
    ballast.set(1000, 2);
    int heavier = 0;
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      const Bytes more = ballast.model().workspace[t] - model.workspace[t];
      EXPECT_TRUE(more == 0 || more == 1000) << more;
      heavier += more > 0 ? 1 : 0;
    }
    EXPECT_GT(heavier, 0);
    weighed += heavier < std::ssize(problem.tasks) ? 1 : 0;
    // Anew each time, from what it was when the plan was looked at.
    ballast.set(0, 2);
    EXPECT_EQ(ballast.model().workspace, model.workspace);
    // Not where more is live, and a part of it all.
    ballast.set(1000, 0);
    EXPECT_EQ(ballast.model().workspace, model.workspace);
    ballast.set(1000, 2);
    ballast.lighten(0.25);
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      const Bytes more = ballast.model().workspace[t] - model.workspace[t];
      EXPECT_TRUE(more == 0 || more == 250) << more;
    }
  }
  EXPECT_GT(placed, 3);
  EXPECT_GT(weighed, 3);
}

TEST(Ballast, MoreThanTheArenaLiveIsNoReasonForAny) {
  Rng rng(1);
  const Problem problem = of_random_lives(rng, 30);
  const Model model(problem, {});
  Timeline line(model);
  line.assign(model.order, 0);
  Plan plan = plan_of(problem, steps_of(line));
  Ballast ballast(problem, model, plan.live_peak - 1);
  EXPECT_FALSE(ballast.place(plan, 2, Limit(1e9, -1)));
  ballast.set(1000, 2);
  EXPECT_EQ(ballast.model().workspace, model.workspace);
}

// Its outputs alone are 99.3 % of the arena, and were never placed before there was ballast.
TEST(Ballast, FindsOffsetsWhereOutputsFillTheArena) {
  const std::filesystem::path file =
      std::filesystem::path(TIDEMARK_SOURCE_DIR) / "../shared/problems/h200/gpt2_xl.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const Problem problem = read_problem(read_file(file.string()));
  // More time than it takes, for machines that are busy.
  const Plan plan =
      solve(problem, {.budget = parse_budget(problem, "30%"), .time_limit = 3, .bounds = false});
  ASSERT_TRUE(has_plan(plan)) << plan.reason;
  EXPECT_TRUE(plan.has_arena);
  EXPECT_LE(plan.peak, plan.budget);
  EXPECT_LT(plan.seconds, 1.14 * floor_seconds(problem));
}

}  // namespace
}  // namespace tidemark::plan
