// Buffers that start or end in a tier: small problems on which copies and the room for them once went wrong.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "exhaustive.h"
#include "random_problem.h"
#include "tidemark/base/random.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

Options rounds(Bytes budget) {
  Options o;
  o.budget = budget;
  o.effort = 200;
  o.time_limit = 1e9;
  return o;
}

// b0 is copied out behind its last use and must come back, a second fetch from the same tier.
TEST(SolveTiers, AnOutputThatEndsInATierIsFetchedBack) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "back",
    "buffers": [{"name": "b0", "bytes": 8, "start": "t", "end": "t"}, {"name": "b1", "bytes": 1}],
    "tasks": [{"name": "k0", "reads": [0], "writes": [0], "seconds": 9, "once": true},
              {"name": "k1", "reads": [0], "writes": [1], "seconds": 0}],
    "outputs": [0, 1],
    "tiers": {"t": {"write_bytes_per_second": 2, "read_bytes_per_second": 4, "latency_seconds": 0, "bytes": 35}}})");
  const Plan plan = solve(p, rounds(9));
  ASSERT_FALSE(plan.steps.empty()) << plan.reason;
  EXPECT_EQ(check(p, plan), "");
  EXPECT_EQ(plan.live_peak, 9);
}

// b1 has to end in the tier: it is copied out while k2 reads it, so nobody waits.
TEST(SolveTiers, WhatEndsInATierIsCopiedOutWhileItIsRead) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "beside",
    "buffers": [{"name": "b0", "bytes": 10, "resident": true}, {"name": "b1", "bytes": 100, "end": "t"}, {"name": "b2", "bytes": 4}],
    "tasks": [{"name": "k1", "reads": [0], "writes": [1], "seconds": 1}, {"name": "k2", "reads": [1], "writes": [2], "seconds": 4}],
    "outputs": [2],
    "tiers": {"t": {"write_bytes_per_second": 50, "read_bytes_per_second": 50, "latency_seconds": 0, "bytes": 1000}}})");
  const Plan plan = solve(p, rounds(114));
  EXPECT_EQ(check(p, plan), "");
  EXPECT_EQ(plan.seconds, 5);
}

// 4 bytes have to leave before k3: while k1 and k2 run, not before them.
TEST(SolveTiers, ACopyOutOfThePlanThatWaitsAtOnceIsWaitedForLater) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "later",
    "buffers": [{"name": "b0", "bytes": 50, "resident": true}, {"name": "b1", "bytes": 179}, {"name": "b2", "bytes": 100},
                {"name": "b3", "bytes": 50}, {"name": "b4", "bytes": 191}, {"name": "b5", "bytes": 4}],
    "tasks": [{"name": "k0", "reads": [0], "writes": [1], "seconds": 2.25},
              {"name": "k1", "reads": [0], "writes": [2], "seconds": 1.5, "once": true},
              {"name": "k2", "reads": [0], "writes": [3], "seconds": 0},
              {"name": "k3", "reads": [3, 2], "writes": [4], "seconds": 0.6875},
              {"name": "k4", "reads": [1], "writes": [5], "seconds": 0.875}],
    "outputs": [4, 5],
    "tiers": {"t": {"write_bytes_per_second": 96, "read_bytes_per_second": 64, "latency_seconds": 0.25, "bytes": 205}}})");
  const Plan plan = solve(p, rounds(391));
  EXPECT_EQ(check(p, plan), "");
  EXPECT_NEAR(plan.seconds, 5.625, 1e-9);  // one fetch at the end is all that is waited for
}

// What is read first is fetched first, k2 runs while b0 is on its way, and b2 is made without it.
TEST(SolveTiers, CopiesComeInTheOrderInWhichOtherRunsHideThem) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "first",
    "buffers": [{"name": "b0", "bytes": 42, "start": "t", "end": "t"}, {"name": "b1", "bytes": 56, "start": "t"},
                {"name": "b2", "bytes": 175}, {"name": "b3", "bytes": 105}, {"name": "b4", "bytes": 0}],
    "tasks": [{"name": "k0", "reads": [0, 1], "writes": [2], "seconds": 0},
              {"name": "o0", "reads": [1], "writes": [2], "seconds": 0.1875, "optional": true},
              {"name": "k1", "reads": [1], "writes": [3], "seconds": 4},
              {"name": "k2", "reads": [1], "writes": [3], "seconds": 0.25, "optional": true, "instead_of": 2},
              {"name": "o1", "reads": [1], "writes": [2], "seconds": 3, "optional": true},
              {"name": "k3", "reads": [2], "writes": [4], "seconds": 0.5625}],
    "outputs": [3],
    "tiers": {"t": {"write_bytes_per_second": 11, "read_bytes_per_second": 76, "latency_seconds": 0, "bytes": 1000}}})");
  const Plan plan = solve(p, rounds(325));
  EXPECT_EQ(check(p, plan), "");
  EXPECT_NEAR(plan.seconds, 56.0 / 76 + 0.1875 + 0.5625 + 0.25, 1e-9);
}

TEST(SolveTiers, NoTinyPlanIsSlowerThanTheBest) {
  int compared = 0, beyond_the_floor = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed * 29 + 11);
    const Problem p = mirrored_problem(rng, {.half = 2, .rates = 60, .ends_there = true});
    ASSERT_EQ(verify(p), "") << seed;
    const Bytes all = store_all_live_peak(p);
    for (const Bytes budget : {all * 7 / 10, all * 85 / 100, all}) {
      const Exhaustive best = fastest_with_copies(p, budget, 30'000);
      if (!best.complete || !best.seconds) continue;
      Options o = rounds(budget);
      o.offsets = false;
      const Plan plan = solve(p, o);
      EXPECT_EQ(check(p, plan), "") << seed;
      EXPECT_NEAR(plan.seconds, *best.seconds, 1e-9) << "seed " << seed << " budget " << budget;
      ++compared;
      beyond_the_floor += *best.seconds > floor_seconds(p) + 1e-9 ? 1 : 0;
    }
  }
  std::printf("%d compared, %d of them above the floor\n", compared, beyond_the_floor);
  EXPECT_GT(beyond_the_floor, 30);
}

// Makers that are left away are tasks without a use: whoever plans with them has to leave them out too.
TEST(SolveTiers, OptionalTasksThatMakeNothingNeverRun) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Rng rng(seed * 29 + 11);
    Problem p = mirrored_problem(rng, {.half = 5, .rates = 60, .ends_there = true});
    const auto made = static_cast<TaskId>(p.tasks.size());
    for (int k = 0; k < 6; ++k) p.tasks.push_back({.name = "idle", .kind = "idle", .optional = true});
    const Plan plan = solve(p, rounds(store_all_live_peak(p) * 7 / 10));
    EXPECT_EQ(check(p, plan), "") << seed;
    found += has_plan(plan);
    for (const Step& s : plan.steps)
      EXPECT_FALSE(s.kind == Step::Kind::run && s.id >= made) << "seed " << seed;
  }
  EXPECT_GT(found, 3);
}

// b0 fills the tier and nothing needs it: what ends there fits only once it is discarded.
Problem full_tier() {
  return read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "full",
    "buffers": [{"name": "b0", "bytes": 6, "start": "t"}, {"name": "b1", "bytes": 6, "end": "t"},
                {"name": "b2", "bytes": 2}, {"name": "b3", "bytes": 4, "end": "t"}],
    "tasks": [{"name": "k0", "reads": [], "writes": [1, 2], "seconds": 8},
              {"name": "o0", "reads": [0, 0], "writes": [2], "seconds": 4, "optional": true},
              {"name": "k1", "reads": [1], "writes": [3], "seconds": 6}],
    "outputs": [1, 3],
    "tiers": {"t": {"write_bytes_per_second": 2, "read_bytes_per_second": 4, "latency_seconds": 1, "bytes": 11}}})");
}

TEST(SolveTiers, ACopyThatNothingFetchesLeavesItsRoomAtOnce) {
  const Problem p = full_tier();
  const Plan plan = solve(p, rounds(10));
  ASSERT_FALSE(plan.steps.empty()) << plan.reason;
  EXPECT_EQ(check(p, plan), "");
}

TEST(SolveTiers, FinishDiscardsWhatNoRunReads) {
  const Problem p = full_tier();
  const Plan plan = finish(p, {{Step::Kind::run, 0, -1, {}}, {Step::Kind::run, 2, -1, {}}}, {});
  EXPECT_EQ(plan.reason, "");
  EXPECT_EQ(check(p, plan), "");
}

TEST(SolveTiers, ATierTooSmallForItAllIsSaidAndNoPeakIsMadeUp) {
  Problem p = full_tier();
  p.tiers[0].bytes = 8;
  const Plan plan = solve(p, rounds(1000));
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_FALSE(plan.smallest_peak);
  EXPECT_NE(plan.reason.find("does not fit its tier"), std::string::npos) << plan.reason;
}

}  // namespace
}  // namespace tidemark::plan
