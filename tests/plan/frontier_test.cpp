// The curve of time against budget: every point checked, monotone, between a bound and its plan.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/frontier.h"

#include <gtest/gtest.h>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/proof.h"

namespace tidemark::plan {
namespace {

// Forward and backward through n steps; every backward task reads its forward value.
Problem there_and_back(int n) {
  Problem p;
  p.name = "there and back";
  p.buffers = {{"x", 10, true}};
  for (int i = 0; i < 2 * n; ++i) p.buffers.push_back({"b" + std::to_string(i), 100 + 10 * (i % 3)});
  for (int i = 0; i < n; ++i)
    p.tasks.push_back(
        {.name = "f" + std::to_string(i), .reads = {i}, .writes = {i + 1}, .seconds = 1.0 + i % 2});
  for (int i = 0; i < n; ++i) {
    p.tasks.push_back(
        {.name = "g" + std::to_string(i), .reads = {n + i, n - i}, .writes = {n + i + 1}, .seconds = 2});
  }
  p.outputs = {2 * n};
  return p;
}

// With more memory than the list takes, a task may be done in another way that takes less time.
TEST(Frontier, EndsWithTheFastestPlanAndNoPointIsBehindSolve) {
  Problem p = there_and_back(6);
  p.tasks.push_back(
      {.name = "wide", .reads = {0}, .writes = {1}, .workspace = 5000, .optional = true, .instead_of = 0});
  p.tasks.back().seconds = 0.25;
  ASSERT_EQ(verify(p), "");
  const Options by{.time_limit = 60, .effort = 60};
  const auto points = frontier(p, {.points = 5, .solve = by});
  ASSERT_GE(points.size(), 4u);
  EXPECT_GT(points.back().budget, 5000);
  EXPECT_NEAR(points.back().plan.seconds, floor_seconds(p), 1e-9);
  for (const FrontierPoint& point : points) {
    EXPECT_EQ(check(p, point.plan), "");
    Options alone = by;
    alone.budget = point.budget;
    EXPECT_LE(point.plan.seconds, solve(p, alone).seconds * (1 + 1e-9)) << point.budget;
  }
}

TEST(Frontier, IsMonotoneAndChecked) {
  const Problem p = there_and_back(8);
  ASSERT_EQ(verify(p), "");
  for (const bool offsets : {false, true}) {
    const auto points =
        frontier(p, {.points = 4, .solve = {.time_limit = 60, .effort = 40, .offsets = offsets}});
    ASSERT_GE(points.size(), 4u);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(check(p, points[i].plan), "");
      EXPECT_EQ(points[i].plan.budget, points[i].budget);
      EXPECT_EQ(verify_proof(p, points[i].plan), "") << i;
      EXPECT_TRUE(points[i].plan.seconds_bound) << i;
      EXPECT_LE(points[i].seconds_bound, points[i].plan.seconds * (1 + 1e-9));
      if (i == 0) continue;
      EXPECT_LT(points[i - 1].budget, points[i].budget);
      EXPECT_GE(points[i - 1].plan.seconds, points[i].plan.seconds);
      EXPECT_GE(points[i - 1].seconds_bound, points[i].seconds_bound);
      EXPECT_GE(points[i - 1].seconds_per_gib, 0);
    }
    EXPECT_DOUBLE_EQ(points.back().plan.seconds, floor_seconds(p));
    EXPECT_GT(points.front().plan.seconds, floor_seconds(p));
  }
}

// Bounds fall with the budget to the last digit: the same seconds added up in another order may be larger than the plan's.
TEST(Frontier, BoundsFallToTheLastDigit) {
  std::vector<FrontierPoint> points(2);
  points[0].budget = 1;
  points[1].budget = 2;
  points[0].plan.seconds = points[1].plan.seconds = 0.3;
  points[0].seconds_bound = 0.1;
  points[1].seconds_bound = 0.1 + 0.2;
  ASSERT_GT(points[1].seconds_bound, 0.3);
  add_margins(points);
  EXPECT_GE(points[0].seconds_bound, points[1].seconds_bound);
  EXPECT_EQ(points[0].seconds_per_gib, 0);
}

TEST(Frontier, HasTwoEnds) { EXPECT_THROW(frontier(there_and_back(2), {.points = 1}), Error); }

TEST(Frontier, StopsWhenTold) {
  const Problem p = there_and_back(8);
  const auto points = frontier(
      p, {.points = 8, .solve = {.time_limit = 5, .progress = [](const Progress&) { return false; }}});
  ASSERT_FALSE(points.empty());
  for (const FrontierPoint& point : points) EXPECT_EQ(check(p, point.plan), "");
}

}  // namespace
}  // namespace tidemark::plan
