// The least budget: how low it gets on chains whose answer is known, and what it says of sizes that make no sense.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/smallest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "exhaustive.h"
#include "random_problem.h"
#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/frontier.h"
#include "tidemark/plan/frugal.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/proof.h"

namespace tidemark::plan {
namespace {

// There and back: backward task i reads what forward task n - 1 - i wrote and the gradient before it.
Problem there_and_back(int n) {
  Problem p;
  p.buffers.push_back({.name = "x", .bytes = 10, .resident = true});
  for (int i = 0; i < 2 * n; ++i) p.buffers.push_back({.name = "b" + std::to_string(i), .bytes = 100});
  for (int i = 0; i < 2 * n; ++i) {
    Task t{.name = "t" + std::to_string(i), .reads = {i}, .writes = {i + 1}, .seconds = 1};
    if (i >= n) t.reads.push_back(2 * n - i);
    p.tasks.push_back(std::move(t));
  }
  p.outputs = {2 * n};
  return p;
}

Options counted() {
  Options o;
  o.effort = 20;
  o.time_limit = 1e9;
  return o;
}

TEST(SmallestPeak, AChainNeedsThreeBuffers) {
  // A gradient, what it is multiplied with, and the new one; the chain is made again from its beginning beside the gradient.
  const Problem p = there_and_back(12);
  for (const bool offsets : {false, true}) {
    Options o = counted();
    o.offsets = offsets;
    const SmallestPeak least = smallest_peak(p, o);
    EXPECT_EQ(least.budget, 310) << offsets;
    EXPECT_EQ(least.bound, 310) << offsets;
    EXPECT_EQ(check(p, least.plan), "") << offsets;
    EXPECT_EQ(verify_proof(p, least.plan), "") << offsets;
    EXPECT_NE(least.why.find("first runs"), std::string::npos) << least.why;
  }
}

// It is looked for without copies too, where a plan to start from that has some is none.
TEST(SmallestPeak, AWarmStartMayHaveCopies) {
  Problem p = there_and_back(6);
  p.tiers.resize(1);
  p.tiers[0].name = "host";
  p.tiers[0].bytes = 10'000;
  p.tiers[0].read_bytes_per_second = p.tiers[0].write_bytes_per_second = 1e4;
  Options o = counted();
  o.budget = 430;
  o.recompute = false;
  const Plan given = solve(p, o);
  ASSERT_TRUE(has_plan(given));
  ASSERT_TRUE(std::any_of(given.steps.begin(), given.steps.end(),
                          [](const Step& s) { return s.kind == Step::Kind::evict; }));
  Options from = counted();
  from.warm_start = &given;
  const SmallestPeak least = smallest_peak(p, from);
  EXPECT_EQ(check(p, least.plan), "");
  EXPECT_LE(least.budget, given.peak);
}

TEST(SmallestPeak, WhereNothingHasToRunItIsWhatIsResident) {
  Problem p;
  p.buffers = {{.name = "x", .bytes = 10, .resident = true}, {.name = "y", .bytes = 100}};
  p.tasks = {{.name = "t", .reads = {0}, .writes = {1}, .seconds = 1, .workspace = 30, .optional = true}};
  for (const bool offsets : {false, true}) {
    Options o = counted();
    o.offsets = offsets;
    const SmallestPeak least = smallest_peak(p, o);
    EXPECT_EQ(least.budget, 10);
    EXPECT_EQ(least.bound, 10);
    EXPECT_EQ(least.plan.status, Plan::Status::optimal);
    EXPECT_EQ(check(p, least.plan), "");
    EXPECT_EQ(verify_proof(p, least.plan), "");
    const auto points = frontier(p, {.points = 3, .solve = o});
    ASSERT_EQ(points.size(), 1u);
    EXPECT_EQ(points[0].budget, 10);
    EXPECT_EQ(points[0].plan.seconds, 0);
  }
}

TEST(SmallestPeak, FrugalRunsAreAPlanWithinTheBudgetTheyWereMadeFor) {
  int made = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomProblem shape;
    shape.tasks = 14;
    shape.tiers = shape.makers = shape.in_place = false;
    const Problem p = random_problem(seed, shape);
    std::vector<TaskId> list;
    for (std::size_t t = 0; t < p.tasks.size(); ++t) list.push_back(static_cast<TaskId>(t));
    const Bytes least = peak_bound(Values(p)).bytes, most = store_all_live_peak(p);
    for (const double f : {0.0, 0.3, 0.7}) {
      const Bytes budget = least + static_cast<Bytes>(f * static_cast<double>(most - least));
      const std::vector<TaskId> runs = frugal_runs(p, list, budget, 1000, [] { return true; });
      if (runs.empty()) continue;
      ++made;
      std::vector<Step> steps;
      for (const TaskId t : runs) steps.push_back({Step::Kind::run, t, -1, {}});
      Options o;
      o.budget = budget;
      o.offsets = false;
      const Plan plan = finish(p, std::move(steps), o);
      EXPECT_EQ(check(p, plan), "") << seed;
      EXPECT_LE(plan.live_peak, budget) << seed;
      EXPECT_NE(plan.status, Plan::Status::infeasible) << seed << ": " << plan.reason;
    }
  }
  EXPECT_GT(made, 60);
}

TEST(SmallestPeak, SolveFindsNothingBelow) {
  for (const std::uint64_t seed : {27, 42}) {
    RandomProblem shape;
    shape.tasks = 20;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    for (const bool offsets : {false, true}) {
      Options o = counted();
      o.offsets = offsets;
      const SmallestPeak least = smallest_peak(p, o);
      o.bounds = false;
      for (const double part : {0.95, 0.98, 0.99}) {
        o.budget = static_cast<Bytes>(part * static_cast<double>(least.budget));
        EXPECT_TRUE(solve(p, o).steps.empty()) << offsets << ": " << o.budget << " is below " << least.budget;
      }
    }
  }
}

TEST(SmallestPeak, IsAsFastAsSolveWithinTheSameBytesAndProvesIt) {
  for (const std::uint64_t seed : {3, 8, 11, 19}) {
    RandomProblem shape;
    shape.tasks = 17;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    Options o = counted();
    o.effort = 200;
    o.offsets = false;
    const SmallestPeak least = smallest_peak(p, o);
    o.budget = least.budget;
    const Plan plan = solve(p, o);
    EXPECT_LE(least.plan.seconds, plan.seconds * (1 + 1e-9)) << seed;
    ASSERT_TRUE(least.plan.seconds_bound) << seed;
    EXPECT_EQ(verify_proof(p, least.plan), "") << seed;
    EXPECT_EQ(least.plan.peak_bound, least.bound) << seed;
  }
}

TEST(SmallestPeak, SaysThatThereIsNoPlan) {
  Problem p = there_and_back(3);
  p.tiers = {{.name = "t", .write_bytes_per_second = 1, .read_bytes_per_second = 1, .bytes = 50}};
  p.buffers[6].end = 0;
  ASSERT_EQ(verify(p), "");
  const SmallestPeak none = smallest_peak(p, counted());
  EXPECT_EQ(none.budget, -1);
  EXPECT_TRUE(none.plan.steps.empty());
  EXPECT_NE(none.plan.reason.find("does not fit its tier"), std::string::npos) << none.plan.reason;
  EXPECT_TRUE(frontier(p, {.points = 3, .solve = counted()}).empty());
}

TEST(SmallestPeak, SolveFindsWhatItFound) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    RandomProblem shape;
    shape.tasks = seed % 2 == 0 ? 18 : 12;
    shape.tiers = seed > 2;
    const Problem p = random_problem(seed, shape);
    Options o = counted();
    o.bounds = o.offsets = false;
    o.budget = smallest_peak(p, o).budget;
    if (o.budget < 0) continue;
    EXPECT_FALSE(solve(p, o).steps.empty()) << seed << " at " << o.budget;
  }
}

// A search that ends a little above the least is pressed down to it: what is proven is reached.
TEST(SmallestPeak, WhatIsALittleOverIsMadeToFit) {
  const std::string path = TIDEMARK_SOURCE_DIR "/../shared/problems/h200/vgg16.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": a real model is not planned";
  Options o = counted();
  o.effort = 0;
  o.bounds = o.offsets = false;
  const SmallestPeak least = smallest_peak(read_problem(read_file(path)), o);
  EXPECT_EQ(least.budget, least.bound);
}

TEST(SmallestPeak, SizesThatOverflowAreRefusedBeforeAnythingIsAddedUp) {
  Problem p = there_and_back(3);
  p.tasks[2].workspace = Bytes{1} << 61;
  EXPECT_NE(verify(p), "");
  p.tasks[2].workspace = Bytes{1} << 59;
  ASSERT_EQ(verify(p), "");
  const SmallestPeak least = smallest_peak(p, counted());
  EXPECT_GE(least.bound, Bytes{1} << 59);
  EXPECT_GE(least.budget, least.bound);
  EXPECT_EQ(check(p, least.plan), "");
}

// Where the search itself knows no way down: all that can be live is looked at.
TEST(SmallestPeak, IsTheLeastOfSomeTwentyTasks) {
  struct Shape {
    int required;
    std::uint64_t seed;
  };
  for (const auto& [required, seed] : {Shape{12, 42}, {12, 93}, {12, 272}, {14, 136}, {14, 188}, {14, 247}}) {
    RandomProblem shape;
    shape.tasks = required;
    Rng rng(seed);
    choose_features(rng, 2, shape);
    shape.tiers = shape.lossy = false;
    const Problem p = random_problem(seed, shape);
    ASSERT_GT(p.tasks.size(), 16u);
    const std::optional<Bytes> least = least_peak(p, 400'000);
    ASSERT_TRUE(least) << seed;
    const SmallestPeak found =
        smallest_peak(p, {.time_limit = 1e9, .effort = 5, .offsets = false, .bounds = false});
    EXPECT_EQ(found.plan.peak, *least) << seed;
  }
}

}  // namespace
}  // namespace tidemark::plan
