// What is carried over from one sequence of runs to another is what stands between the first runs that both have.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/relink.h"

#include <gtest/gtest.h>

namespace tidemark::plan {
namespace {

Problem chain(int n) {
  Problem p;
  for (int i = 0; i < n; ++i) p.buffers.push_back({"b" + std::to_string(i), 1});
  for (int i = 0; i < n; ++i) {
    p.tasks.push_back({.name = "t" + std::to_string(i), .writes = {i}, .seconds = 1});
    if (i > 0) p.tasks.back().reads = {i - 1};
  }
  p.outputs = {n - 1};
  return p;
}

TEST(Relink, TakesOverStretchByStretch) {
  const Problem p = chain(6);
  const Model model(p, {});
  const std::vector<TaskId> base{0, 1, 0, 2, 3, 4, 3, 5}, other{0, 1, 2, 1, 3, 4, 5, 2};
  const Relink relink(model, base, other);
  ASSERT_EQ(relink.stretches(), 2U);  // before 2 and 3; before 5 and at the end
  EXPECT_EQ(relink.blend(0, 1), (std::vector<TaskId>{0, 1, 2, 1, 3, 4, 3, 5}));
  EXPECT_EQ(relink.blend(1, 2), (std::vector<TaskId>{0, 1, 0, 2, 3, 4, 5, 2}));
  EXPECT_EQ(relink.blend(0, 2), other);
  EXPECT_EQ(relink.seconds_more(0, 1), 0);
  EXPECT_EQ(Relink(model, base, {0, 1, 2, 3, 4, 5}).seconds_more(0, 2), -2);
}

TEST(Relink, EqualSequencesHaveNoStretch) {
  const Problem p = chain(3);
  const Model model(p, {});
  EXPECT_EQ(Relink(model, {0, 1, 0, 2}, {0, 1, 0, 2}).stretches(), 0U);
}

TEST(Relink, KeepsTheOrderOfFirstRunsOfTheBase) {
  Problem p = chain(3);
  p.tasks[2].reads = {0};
  const Model model(p, {});
  const Relink relink(model, {0, 1, 2}, {0, 2, 0, 1});
  ASSERT_EQ(relink.stretches(), 1U);
  EXPECT_EQ(relink.blend(0, 1), (std::vector<TaskId>{0, 0, 1, 2}));
}

}  // namespace
}  // namespace tidemark::plan
