// Optional updates that stand in for updates of the list: solve takes them where they are the only way or the better one.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "exhaustive.h"
#include "random_problem.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

TEST(StandIns, TheOnlyPlanIsFound) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "stand-in",
    "buffers": [{"name": "w", "bytes": 4, "resident": true}],
    "tasks": [{"name": "update", "reads": [0], "writes": [0], "seconds": 5, "workspace": 4, "once": true},
              {"name": "other", "reads": [0], "writes": [0], "seconds": 6, "optional": true, "instead_of": 0, "once": true}],
    "outputs": []})");
  for (const bool offsets : {false, true}) {
    const Plan tight = solve(p, {.budget = 4, .time_limit = 1e9, .effort = 20, .offsets = offsets});
    EXPECT_EQ(check(p, tight), "");
    EXPECT_EQ(tight.seconds, 6) << tight.reason;
    EXPECT_EQ(tight.peak, 4);
    EXPECT_EQ(verify_proof(p, tight), "");
    const Plan roomy = solve(p, {.budget = 8, .time_limit = 1e9, .effort = 20, .offsets = offsets});
    EXPECT_EQ(roomy.seconds, 5);
    const Plan without =
        solve(p, {.budget = 4, .time_limit = 1e9, .effort = 20, .offsets = offsets, .makers = false});
    EXPECT_TRUE(without.steps.empty());
  }
}

// Each of four parameters may be updated in half the time beside a workspace, which fits once what `late` reads is gone.
TEST(StandIns, SeveralTogetherAndOneThatReadsWhatIsMadeLater) {
  Problem p;
  p.buffers.push_back({.name = "x", .bytes = 10, .resident = true});
  for (int i = 0; i < 4; ++i) p.buffers.push_back({.name = "w", .bytes = 10, .resident = true});
  p.buffers.push_back({.name = "g", .bytes = 20});
  p.buffers.push_back({.name = "norm", .bytes = 2});
  p.tasks.push_back({.name = "grad", .reads = {0}, .writes = {5}, .seconds = 1});
  for (int i = 1; i <= 4; ++i)
    p.tasks.push_back(
        {.name = "update", .reads = {i, 5}, .writes = {i}, .seconds = 4, .workspace = 8, .once = true});
  p.tasks.push_back({.name = "norm", .reads = {5}, .writes = {6}, .seconds = 1});
  for (int i = 1; i <= 4; ++i)
    p.tasks.push_back({.name = "other",
                       .reads = {i, 5, 6},
                       .writes = {i},
                       .seconds = i == 3 ? 8.0 : 2.0,
                       .workspace = i == 4 ? 100 : 0,
                       .once = true,
                       .optional = true,
                       .instead_of = i});
  p.outputs = {6};
  ASSERT_EQ(verify(p), "");
  for (const auto& [budget, seconds] :
       {std::pair{Bytes{80}, 2 + 2 + 2 + 4 + 4.0}, {Bytes{300}, 2 + 2 + 2 + 4 + 2.0}}) {
    const Plan plan = solve(p, {.budget = budget, .time_limit = 1e9, .effort = 60});
    EXPECT_EQ(check(p, plan), "");
    EXPECT_EQ(plan.seconds, seconds) << budget;
    EXPECT_EQ(plan.seconds, fastest(p, budget).seconds) << budget;
    EXPECT_EQ(verify_proof(p, plan), "");
  }
}

// What the stand-in reads is made behind the update, and `new` reads the updated value before: with both makers in front of the update,
// it may run in its place. One that is made from the updated value cannot be.
TEST(StandIns, OneThatReadsWhatIsMadeBehindReadersOfTheUpdate) {
  for (const bool from_new : {false, true}) {
    Problem p;
    for (const char* name : {"x", "w"}) p.buffers.push_back({.name = name, .bytes = 10, .resident = true});
    for (const char* name : {"g", "new", "sum", "norm"}) p.buffers.push_back({.name = name, .bytes = 4});
    p.tasks = {{.name = "grad", .reads = {0}, .writes = {2}, .seconds = 1},
               {.name = "update", .reads = {1, 2}, .writes = {1}, .seconds = 20, .once = true},
               {.name = "new", .reads = {1}, .writes = {3}, .seconds = 1},
               {.name = "sum", .reads = {from_new ? 3 : 2}, .writes = {4}, .seconds = 1},
               {.name = "norm", .reads = {4}, .writes = {5}, .seconds = 1},
               {.name = "other",
                .reads = {1, 2, 5},
                .writes = {1},
                .seconds = 2,
                .once = true,
                .optional = true,
                .instead_of = 1}};
    p.outputs = {3, 5};
    ASSERT_EQ(verify(p), "");
    const Plan plan = solve(p, {.budget = 40, .time_limit = 1e9, .effort = 60});
    EXPECT_EQ(check(p, plan), "");
    EXPECT_EQ(plan.seconds, from_new ? 24 : 6);
    EXPECT_EQ(plan.seconds, fastest(p, 40).seconds);
    EXPECT_EQ(verify_proof(p, plan), "");
  }
}

// Many updates, half of which have a faster way that wants no more: it is taken without a search of its own, within the time, and the same
// for the same rounds.
TEST(StandIns, OnesThatWantNoMoreAreTakenInLongLists) {
  Problem p;
  constexpr int kLayers = 300;
  p.buffers.push_back({.name = "x", .bytes = 100, .resident = true});
  for (int i = 0; i < kLayers; ++i) p.buffers.push_back({.name = "w", .bytes = 10, .resident = true});
  for (int i = 0; i < kLayers; ++i) p.buffers.push_back({.name = "h", .bytes = 100});
  for (int i = 0; i < kLayers; ++i)
    p.tasks.push_back({.name = "forward", .reads = {i, 1 + i}, .writes = {kLayers + 1 + i}, .seconds = 1});
  p.tasks[0].reads = {0, 1};
  for (int i = 1; i < kLayers; ++i) p.tasks[static_cast<std::size_t>(i)].reads = {kLayers + i, 1 + i};
  for (int i = kLayers - 1; i >= 0; --i)
    p.tasks.push_back({.name = "update",
                       .reads = {1 + i, kLayers + 1 + i},
                       .writes = {1 + i},
                       .seconds = 2,
                       .workspace = 8,
                       .once = true});
  for (int i = 0; i < kLayers; i += 2)
    p.tasks.push_back({.name = "other",
                       .reads = {1 + i, kLayers + 1 + i},
                       .writes = {1 + i},
                       .seconds = 1,
                       .workspace = i % 4 == 0 ? 0 : 8,
                       .once = true,
                       .optional = true,
                       .instead_of = 2 * kLayers - 1 - i});
  ASSERT_EQ(verify(p), "");
  const Bytes budget = resident_bytes(p) + 100 * kLayers / 2;
  Plan plans[2];
  for (Plan& plan : plans) {
    plan = solve(p, {.budget = budget, .time_limit = 1e9, .effort = 20});
    EXPECT_EQ(check(p, plan), "");
  }
  EXPECT_EQ(plans[0].seconds, plans[1].seconds);
  const auto taken = [&](const Step& s) {
    return s.kind == Step::Kind::run && p.tasks[static_cast<std::size_t>(s.id)].optional;
  };
  EXPECT_EQ(std::count_if(plans[0].steps.begin(), plans[0].steps.end(), taken), kLayers / 2);
}

// A random problem and other ways to do its updates.
Problem with_stand_ins(std::uint64_t seed) {
  RandomProblem shape;
  shape.tasks = 6;
  shape.tiers = shape.lossy = false;
  Problem p = random_problem(seed, shape);
  Rng rng(seed * 17 + 5);
  const std::size_t n = p.tasks.size();
  for (std::size_t i = 0; i < n; ++i) {
    Task t = p.tasks[i];
    const auto is_update = [&] {
      return std::any_of(t.writes.begin(), t.writes.end(), [&](BufferId b) {
        return std::find(t.reads.begin(), t.reads.end(), b) != t.reads.end();
      });
    };
    if (t.optional || !is_update()) continue;
    t.optional = true;
    t.instead_of = static_cast<TaskId>(i);
    t.seconds = 0.5 * static_cast<double>(1 + rng.below(12));
    t.workspace = rng.below(2) * rng.below(60);
    p.tasks.push_back(t);
  }
  return p;
}

TEST(StandIns, NoPlanIsMissedOnSmallProblems) {
  int compared = 0, taken = 0, above = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Problem p = with_stand_ins(seed);
    if (p.tasks.size() > 14 || p.buffers.size() > 14) continue;
    ASSERT_EQ(verify(p), "") << seed;
    const std::optional<Bytes> least = least_peak(p, 60'000);
    if (!least) continue;
    for (const Bytes budget : {*least, *least + (budget_at(p, 1) - *least) / 2}) {
      const Exhaustive best = fastest(p, budget, 60'000);
      if (!best.complete || !best.seconds) continue;
      const Plan plan = solve(p, {.budget = budget, .time_limit = 1e9, .effort = 40, .offsets = false});
      ++compared;
      const bool found = !plan.steps.empty();
      if (found) {
        EXPECT_GE(plan.seconds, *best.seconds * (1 - 1e-9)) << seed;
        EXPECT_EQ(check(p, plan), "") << seed;
      }
      above += found && plan.seconds <= *best.seconds * (1 + 1e-9) ? 0 : 1;
      taken += std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& s) {
        const auto& t = s.kind == Step::Kind::run ? p.tasks[static_cast<std::size_t>(s.id)] : Task{};
        return t.optional && t.once;
      });
    }
  }
  std::printf("%d compared, %d with a stand-in, %d above the optimum\n", compared, taken, above);
  EXPECT_GT(taken, 20);
  EXPECT_EQ(above, 0);
}

}  // namespace
}  // namespace tidemark::plan
