// Equal blocks: found where they are and nowhere else, and what is carried over to them is a plan that takes less time and fits.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/blocks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "random_problem.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

// Layers of four tasks forward, and four backward in reverse, each of which reads what its forward twin made.
Problem layers(int count) {
  Problem p;
  p.name = "layers";
  p.buffers.push_back({"x", 8, true});
  const Bytes sizes[] = {40, 30, 50, 20};
  BufferId x = 0;
  std::vector<BufferId> kept;
  const auto add = [&](const std::string& name, std::vector<BufferId> reads, Bytes bytes, double seconds) {
    const auto made = static_cast<BufferId>(p.buffers.size());
    p.buffers.push_back({name, bytes});
    p.tasks.push_back({.name = name, .reads = std::move(reads), .writes = {made}, .seconds = seconds});
    return made;
  };
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < 4; ++k)
      kept.push_back(x = add("f" + std::to_string(4 * i + k), {x}, sizes[k], 1 + k));
  }
  BufferId g = add("loss", {x}, 4, 1);
  for (int t = 4 * count - 1; t >= 0; --t)
    g = add("b" + std::to_string(t), {g, kept[static_cast<std::size_t>(t)]}, 10 + sizes[t % 4], 2);
  p.outputs = {g};
  return p;
}

TEST(Blocks, LayersAreFoundForwardAndBackward) {
  const int count = 10;
  const Problem p = layers(count);
  const Model model(p, {});
  const Blocks blocks(model);
  ASSERT_TRUE(blocks.found());
  EXPECT_GE(blocks.count(), count - 1);
  int in_blocks = 0;
  for (TaskId t = 0; t < model.tasks; ++t) in_blocks += blocks.block_of(t) >= 0;
  EXPECT_GE(in_blocks, 8 * (count - 2));
  // The twin of a task: the same sizes, and back again.
  for (TaskId t = 0; t < model.tasks; ++t) {
    const std::int32_t from = blocks.block_of(t);
    if (from < 0) continue;
    for (std::int32_t to = 0; to < blocks.count(); ++to) {
      const TaskId twin = blocks.same_in(t, to);
      if (twin < 0) continue;
      EXPECT_EQ(blocks.same_in(twin, from), t);
      EXPECT_EQ(model.size[static_cast<std::size_t>(model.writes[static_cast<std::size_t>(t)].front())],
                model.size[static_cast<std::size_t>(model.writes[static_cast<std::size_t>(twin)].front())]);
    }
  }
}

TEST(Blocks, NothingIsFoundWhereNothingRepeats) {
  Problem p;
  p.buffers.push_back({"x", 8, true});
  for (int i = 0; i < 60; ++i) {
    p.buffers.push_back({"b", 100 + i * i});
    p.tasks.push_back({.name = "t", .reads = {i}, .writes = {i + 1}, .seconds = 1});
  }
  const Model model(p, {});
  EXPECT_FALSE(Blocks(model).found());
}

// Every second layer makes one buffer too many again: the others show it how.
TEST(Blocks, TheBetterPatternIsCarriedOver) {
  const Problem p = layers(12);
  const Model model(p, {});
  const Blocks blocks(model);
  Timeline line(model);
  line.assign(model.order, 7);
  const double floor = line.seconds();
  for (TaskId t = 0; t < 48; ++t) {
    if (t % 8 >= 4 || t % 4 != 2) continue;  // before its backward twin, from what is there
    const TaskId twin = 48 + 1 + (47 - t);
    line.insert(t, line.make_room_before(line.runs_of(twin).front(), 1));
  }
  ASSERT_GT(line.seconds(), floor);
  std::vector<std::int32_t> sources(static_cast<std::size_t>(blocks.count()));
  std::iota(sources.begin(), sources.end(), 0);
  EXPECT_GT(stitch(line, blocks, line.peak() + 1000, sources, Limit(100, -1)), 0);
  EXPECT_TRUE(line.sound());
  EXPECT_LE(line.seconds(), floor + 3 + 1e-9);  // what is in no block may stay
}

TEST(Blocks, PlansWithAndWithoutThemCheck) {
  const Problem p = layers(12);
  for (const double f : {0.4, 0.6, 0.8}) {
    Options o{.budget = budget_at(p, f), .time_limit = 1e9, .effort = 100, .offsets = false};
    const Plan with = solve(p, o);
    o.blocks = false;
    const Plan without = solve(p, o);
    EXPECT_EQ(check(p, with), "");
    EXPECT_EQ(check(p, without), "");
    EXPECT_EQ(with.steps.empty(), without.steps.empty()) << f;
  }
}

}  // namespace
}  // namespace tidemark::plan
