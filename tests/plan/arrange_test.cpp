// Places that Arrange gives are a plan's by the rules alone, of the same runs, and it finds some where the order as it stands has none.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/arrange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/plan/random_problem.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/timeline.h"

namespace tidemark::plan {
namespace {

struct Given {
  std::vector<TaskId> runs;
  Plan plan;
  Bytes live = 0;  // without what is always there
};

Given as_listed(const Model& model) {
  Given given;
  Timeline line(model);
  given.runs = model.order;
  line.assign(given.runs, 0);
  given.plan.steps = steps_of(line);
  given.live = line.peak() - model.base;
  return given;
}

// Whether what has places, if all of it has, is a plan of the same runs.
bool is_plan(const Problem& problem, const Model& model, const Given& given, Bytes arena,
             const Arrange& arrange) {
  const std::vector<TaskId> runs = arrange.runs();
  EXPECT_TRUE(std::is_permutation(runs.begin(), runs.end(), given.runs.begin(), given.runs.end()));
  Timeline line(model);
  line.assign(runs, 0);
  Plan plan;
  plan.steps = steps_of(line);
  place_at(problem, plan, [&](std::int32_t run, BufferId b) { return arrange.offset_of(run, b); });
  EXPECT_LE(plan.arena_bytes, arena);
  EXPECT_EQ(replay(problem, plan).broken, "");
  return true;
}

bool arranged(const Problem& problem, const Model& model, const Given& given, Bytes arena) {
  Arrange arrange(model, arena, 7);
  return arrange.run(given.runs, Limit(10, -1), 20000) && is_plan(problem, model, given, arena, arrange);
}

bool dived(const Problem& problem, const Model& model, const Given& given, Bytes arena) {
  Arrange arrange(model, arena, 7);
  return arrange.dive(given.runs, Limit(10, -1)) && is_plan(problem, model, given, arena, arrange);
}

TEST(Arrange, PlacesAreAPlansByTheRules) {
  int found = 0, dives = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomProblem shape{.tasks = 4 + static_cast<int>(seed % 40), .tiers = false};
    Rng rng(seed);
    choose_features(rng, 3, shape);
    const Problem problem = random_problem(seed, shape);
    const Model model(problem, {});
    const Given given = as_listed(model);
    if (!replay(problem, given.plan).broken.empty()) continue;
    // A little more than is live: what takes over a larger storage counts as that.
    found += arranged(problem, model, given, given.live + given.live / 10) ? 1 : 0;
    dives += dived(problem, model, given, given.live + given.live / 10) ? 1 : 0;
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(dives, 300);
}

// All large ones at once as listed; one after the other they fit.
TEST(Arrange, MovesRunsToWhereTheirResultsHavePlaces) {
  constexpr int kCount = 6;
  Problem p;
  for (int i = 0; i < kCount; ++i) {
    p.buffers.push_back({"large" + std::to_string(i), 10});
    p.tasks.push_back({.name = "make" + std::to_string(i), .writes = {i}, .seconds = 1});
  }
  for (int i = 0; i < kCount; ++i) {
    p.buffers.push_back({"small" + std::to_string(i), 1});
    p.tasks.push_back(
        {.name = "use" + std::to_string(i), .reads = {i}, .writes = {kCount + i}, .seconds = 1});
    p.outputs.push_back(kCount + i);
  }
  const Model model(p, {});
  const Given given = as_listed(model);
  EXPECT_EQ(given.live, 10 * kCount + 1);
  EXPECT_TRUE(arranged(p, model, given, 10 + kCount));
  EXPECT_FALSE(arranged(p, model, given, 10 + kCount - 1));
}

// 3 and 2 live together: five fit, and no four.
Problem two_together() {
  Problem p;
  p.buffers = {{"a", 3}, {"b", 2}};
  p.tasks = {{.name = "a", .writes = {0}, .seconds = 1},
             {.name = "b", .reads = {0}, .writes = {1}, .seconds = 1}};
  p.outputs = {1};
  return p;
}

TEST(Arrange, SaysWhetherThereIsRoom) {
  const Problem p = two_together();
  const Model model(p, {});
  Arrange four(model, 4, 0);
  EXPECT_FALSE(four.run({0, 1}, Limit(10, -1), 100));
  Arrange five(model, 5, 0);
  ASSERT_TRUE(five.run({0, 1}, Limit(10, -1), 100));
  EXPECT_NE(five.offset_of(0, 0), five.offset_of(1, 1));
}

TEST(Arrange, TellsHowMuchLargerTheArenaWouldHaveToBe) {
  const Problem p = two_together();
  const Model model(p, {});
  const auto over = [&](Bytes arena, std::vector<double> parts) {
    return Arrange(model, arena, 0).part_over({0, 1}, parts, Limit(10, -1));
  };
  EXPECT_EQ(over(4, {0.75, 0.25, 0.2}), 0.25);
  EXPECT_EQ(over(5, {0.75, 0.25, 0}), 0);
  EXPECT_EQ(over(4, {0.2, 0.1}), std::numeric_limits<double>::infinity());
}

TEST(Arrange, TheSameSeedGivesTheSamePlaces) {
  const Problem problem = random_problem(3, {.tasks = 40, .tiers = false});
  const Model model(problem, {});
  const Given given = as_listed(model);
  std::vector<TaskId> runs;
  for (int k = 0; k < 2; ++k) {
    Arrange arrange(model, given.live, 5);
    arrange.run(given.runs, Limit(10, -1), 500);
    if (k == 1) {
      EXPECT_EQ(arrange.runs(), runs);
    }
    runs = arrange.runs();
  }
}

}  // namespace
}  // namespace tidemark::plan
