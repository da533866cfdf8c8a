// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

// y0 -> y1 -> ... -> y7, and back: g_i reads y_i.
Problem chain() {
  Problem p;
  p.name = "chain";
  constexpr int n = 8;
  for (int i = 0; i < 2 * n; ++i)
    p.buffers.push_back(
        {.name = i < n ? "y" + std::to_string(i) : "g" + std::to_string(i - n), .bytes = 100});
  for (int i = 0; i < n; ++i) {
    Task t{.name = p.buffers[static_cast<std::size_t>(i)].name, .writes = {i}, .seconds = 1};
    if (i > 0) t.reads = {i - 1};
    p.tasks.push_back(t);
  }
  for (int i = n - 1; i >= 0; --i) {
    Task t{.name = p.buffers[static_cast<std::size_t>(n + i)].name,
           .reads = {i},
           .writes = {n + i},
           .seconds = 1};
    if (i < n - 1) t.reads.push_back(n + i + 1);
    p.tasks.push_back(t);
  }
  p.outputs = {n};
  return p;
}

TEST(Diff, NamesWhatOnePlanRunsMoreOften) {
  const Problem p = chain();
  const Plan all = run_planner(*find_planner("store_all"), p, {});
  const Plan tight = solve(p, {.budget = 600, .effort = 100});
  ASSERT_GT(tight.seconds, all.seconds);
  const PlanDiff d = diff(p, all, tight);
  ASSERT_FALSE(d.runs.empty());
  int more = 0;
  for (const PlanDiff::Runs& r : d.runs) more += r.b - r.a;
  EXPECT_DOUBLE_EQ(tight.seconds - all.seconds, more);
  const std::string text = to_string(p, d);
  EXPECT_THAT(text, testing::HasSubstr("runs     1 -> 2  y"));
  EXPECT_THAT(text, testing::HasSubstr("peak"));
  EXPECT_FALSE(d.same_steps);
}

TEST(Diff, APlanIsItself) {
  const Problem p = chain();
  const Plan all = run_planner(*find_planner("store_all"), p, {});
  const PlanDiff d = diff(p, all, all);
  EXPECT_TRUE(d.same_steps);
  EXPECT_TRUE(d.runs.empty());
  EXPECT_THAT(to_string(p, d), testing::HasSubstr("the same steps"));
}

}  // namespace
}  // namespace tidemark::plan
