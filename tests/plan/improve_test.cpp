// Moves of the local search: what one takes out must go whole, and whatever it does leaves a plan that fits or nothing changed.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/improve.h"

#include <gtest/gtest.h>

#include "random_problem.h"

namespace tidemark::plan {
namespace {

// `wide` and what is made from it, `cheap`, are read again behind two tasks beside which only one of them has room.
Problem keep_one_of_two() {
  Problem p;
  for (const Bytes bytes : {100, 100, 1, 1, 1, 1, 1})
    p.buffers.push_back({.name = "b" + std::to_string(p.buffers.size()), .bytes = bytes});
  p.tasks = {{.name = "wide", .writes = {0}, .seconds = 4},
             {.name = "cheap", .reads = {0}, .writes = {1}, .seconds = 3},
             {.name = "first", .writes = {2}, .seconds = 1, .workspace = 150},
             {.name = "use", .reads = {1, 2}, .writes = {3}, .seconds = 1},
             {.name = "second", .reads = {3}, .writes = {4}, .seconds = 1, .workspace = 150},
             {.name = "use again", .reads = {1, 4}, .writes = {5}, .seconds = 1},
             {.name = "last", .reads = {0, 5}, .writes = {6}, .seconds = 1}};
  p.outputs = {6};
  return p;
}

TEST(Improve, ASwapKeepsTheChildForTheParent) {
  const Problem p = keep_one_of_two();
  const Model model(p, {});
  Timeline line(model);
  line.assign({0, 1, 2, 1, 3, 4, 1, 5, 6}, 7);
  Drops drops(line, 260);
  ASSERT_LE(line.peak(), 260);
  Improve improve(line, drops, 1);
  for (int k = 0; k < 20; ++k) improve.swap(0);
  EXPECT_EQ(line.runs(), (std::vector<TaskId>{0, 1, 2, 3, 4, 5, 0, 6}));
}

// Values that are all made first and used one by one: each use moves to where its value is made, each making to its use.
TEST(Improve, PassesOverAllRunsEndWhenTheTimeIsUp) {
  constexpr int n = 3000;
  Problem p;
  for (int i = 0; i < n; ++i) {
    p.buffers.push_back({.name = "large", .bytes = 100});
    p.tasks.push_back({.name = "make", .writes = {i}, .seconds = 1});
  }
  for (int i = 0; i < n; ++i) {
    p.buffers.push_back({.name = "small", .bytes = 1});
    p.tasks.push_back({.name = "use", .reads = {n - 1 - i}, .writes = {n + i}, .seconds = 1});
    p.outputs.push_back(n + i);
  }
  const Model model(p, {});
  for (const bool later : {false, true}) {
    const auto peak_after = [&](const Limit* limit) {
      Timeline line(model);
      line.assign(model.order, 7);
      Drops drops(line, 0);
      Improve improve(line, drops, 1);
      improve.set_limit(limit);
      later ? improve.delay(true) : improve.advance();
      EXPECT_TRUE(line.sound());
      return line.peak();
    };
    EXPECT_LT(peak_after(nullptr), 2 * n) << later;
    int asked = 0;
    Limit limit(1e9, -1);
    limit.ask([&] { return ++asked < 1; });
    EXPECT_GT(peak_after(&limit), 50 * n) << later;
    EXPECT_EQ(asked, 1) << later;
  }
}

// Three layers and the gradient of a large weight, which the layers' values have no room beside until they are used up.
Problem large_gradient_in_the_middle() {
  Problem p;
  for (const Bytes bytes : {10, 10, 10, 40, 1, 1, 1, 1})
    p.buffers.push_back({.name = "b" + std::to_string(p.buffers.size()), .bytes = bytes});
  p.buffers.push_back({.name = "weight", .bytes = 40, .resident = true});
  p.tasks = {{.name = "a", .writes = {0}, .seconds = 1},
             {.name = "b", .reads = {0}, .writes = {1}, .seconds = 1},
             {.name = "c", .reads = {1}, .writes = {2}, .seconds = 1},
             {.name = "turn", .reads = {2}, .writes = {4}, .seconds = 1},
             {.name = "gradient", .reads = {4}, .writes = {3}, .seconds = 1},
             {.name = "update", .reads = {3, 8}, .writes = {8}, .seconds = 1, .once = true},
             {.name = "back c", .reads = {2, 4}, .writes = {5}, .seconds = 1},
             {.name = "back b", .reads = {1, 5}, .writes = {6}, .seconds = 1},
             {.name = "back a", .reads = {0, 6}, .writes = {7}, .seconds = 1}};
  p.outputs = {7, 8};
  return p;
}

TEST(Improve, AGradientMovesWithItsUpdate) {
  const Problem p = large_gradient_in_the_middle();
  const Model model(p, {});
  Timeline line(model);
  line.assign({0, 1, 2, 3, 4, 5, 0, 1, 2, 6, 7, 8}, 7);
  const Bytes budget = 40 + 65;
  ASSERT_LE(line.peak(), budget);
  Drops drops(line, budget);
  Improve improve(line, drops, 1);
  for (int k = 0; k < 60; ++k) improve.relocate(0);
  EXPECT_EQ(line.run_count(), 9) << "made again though the update could wait";
  EXPECT_TRUE(line.sound());
  EXPECT_LE(line.peak(), budget);
}

// Two heads of a trunk, each three large values deep with a loss of its own: listed forward, forward, backward, backward.
Problem two_heads() {
  Problem p;
  const auto buffer = [&](Bytes bytes) {
    p.buffers.push_back({.name = "b" + std::to_string(p.buffers.size()), .bytes = bytes});
    return static_cast<BufferId>(p.buffers.size() - 1);
  };
  const BufferId trunk = buffer(10);
  p.tasks.push_back({.name = "trunk", .writes = {trunk}, .seconds = 1});
  std::vector<std::vector<BufferId>> heads;
  for (int head = 0; head < 2; ++head) {
    heads.push_back({trunk});
    for (int k = 0; k < 3; ++k) {
      const BufferId made = buffer(k < 2 ? 100 : 50);
      p.tasks.push_back({.name = "forward", .reads = {heads.back().back()}, .writes = {made}, .seconds = 1});
      heads.back().push_back(made);
    }
  }
  for (int head = 0; head < 2; ++head) {
    BufferId gradient = heads[static_cast<std::size_t>(head)].back();
    for (int k = 3; k > 0; --k) {
      const BufferId next = buffer(k > 1 ? 150 : 10);
      const BufferId value = heads[static_cast<std::size_t>(head)][static_cast<std::size_t>(k - 1)];
      p.tasks.push_back({.name = "backward", .reads = {value, gradient}, .writes = {next}, .seconds = 1});
      gradient = next;
    }
    p.outputs.push_back(gradient);
  }
  return p;
}

// One head's backward part before the other's forward part needs nothing twice. Run by run, the way there is barred by the budget.
TEST(Improve, AWholeBranchMovesAtOnce) {
  const Problem p = two_heads();
  const Model model(p, {});
  Timeline line(model);
  const Bytes budget = 460;
  const auto begin = [&] {
    line.assign({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5, 10, 11, 12}, 7);
    ASSERT_TRUE(line.sound());
    ASSERT_LE(line.peak(), budget);
  };
  begin();
  Drops drops(line, budget);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    begin();
    Improve improve(line, drops, seed);
    for (int k = 0; k < 100; ++k) improve.shift(0);
    EXPECT_EQ(line.run_count(), 13) << seed;
    EXPECT_TRUE(line.sound());
    EXPECT_LE(line.peak(), budget);
    begin();
    for (int k = 0; k < 100; ++k) improve.relocate(0);
    EXPECT_GT(line.run_count(), 13) << "a run by itself gets there too: this shows nothing of shifts";
  }
}

TEST(Improve, WhatWasMadeForARemovedRunGoesWithIt) {
  // Dearest first: `wide` and `middle` cannot be kept over the full task and stay, until `small` goes.
  Problem p;
  for (const Bytes bytes : {100, 100, 1, 1, 1})
    p.buffers.push_back({.name = "b" + std::to_string(p.buffers.size()), .bytes = bytes});
  p.tasks = {{.name = "wide", .writes = {0}, .seconds = 9},
             {.name = "middle", .reads = {0}, .writes = {1}, .seconds = 5},
             {.name = "small", .reads = {1}, .writes = {2}, .seconds = 1},
             {.name = "full", .writes = {3}, .seconds = 1, .workspace = 200},
             {.name = "use", .reads = {2, 3}, .writes = {4}, .seconds = 1}};
  p.outputs = {4};
  const Model model(p, {});
  Timeline line(model);
  line.assign({0, 1, 2, 3, 0, 1, 2, 4}, 7);
  Drops drops(line, 210);
  Improve improve(line, drops, 1);
  improve.prune();
  EXPECT_EQ(line.runs(), (std::vector<TaskId>{0, 1, 2, 3, 4}));
}

TEST(Improve, ATradeGivesTwoRunsBackForOneDrop) {
  Problem p;
  for (const Bytes bytes : {28, 47, 75, 1, 1})
    p.buffers.push_back({.name = "b" + std::to_string(p.buffers.size()), .bytes = bytes});
  p.tasks = {{.name = "a", .writes = {0}, .seconds = 3},
             {.name = "b", .writes = {1}, .seconds = 4},
             {.name = "c", .writes = {2}, .seconds = 5},
             {.name = "full", .writes = {3}, .seconds = 1, .workspace = 100},
             {.name = "use", .reads = {0, 1, 2, 3}, .writes = {4}, .seconds = 1}};
  p.outputs = {4};
  const Model model(p, {});
  Timeline line(model);
  line.assign({0, 1, 2, 3, 0, 1, 4}, 7);
  Drops drops(line, 176);
  drops.set_moves_first(false);  // else c is made late
  ASSERT_EQ(line.peak(), 176);
  Improve improve(line, drops, 1);
  EXPECT_TRUE(improve.trade());
  EXPECT_EQ(line.runs(), (std::vector<TaskId>{0, 1, 2, 3, 2, 4}));
  EXPECT_FALSE(improve.trade());
}

TEST(Improve, EveryMoveLeavesAPlanThatFitsOrNothingChanged) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomProblem shape;
    shape.tasks = 30;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    const Model model(p, {});
    Timeline line(model);
    line.assign(model.order, 7);
    const Bytes budget = line.peak() - (line.peak() - model.base) / 4;
    Drops drops(line, budget);
    Improve improve(line, drops, seed);
    if (drops.repair(1e9, 0.2, improve.rng(), 1000) != Drops::Outcome::fits) continue;
    for (int k = 0; k < 30; ++k) {
      const std::vector<TaskId> before = line.runs();
      const double seconds = line.seconds();
      const bool moved = k % 5 == 0   ? improve.swap(0.5)
                         : k % 5 == 1 ? improve.relocate(0.5)
                         : k % 5 == 2 ? improve.trade()
                         : k % 5 == 3 ? improve.shift(0.5)
                                      : improve.ruin_and_recreate(0.5);
      ASSERT_TRUE(line.sound()) << seed;
      ASSERT_LE(line.peak(), budget) << seed;
      ASSERT_TRUE(moved || line.runs() == before) << seed;
      ASSERT_LE(line.seconds(), seconds + 0.5 + 1e-9) << seed;
      changed += moved ? 1 : 0;
      line.forget_log();
    }
  }
  EXPECT_GT(changed, 100);
}

// A copy that is read behind a task beside which it has no room, and what it is a copy of.
TEST(Improve, ADropOfWhatNothingHasUsedYetMovesItsRun) {
  Problem p;
  for (const Bytes bytes : {1, 100, 1, 1})
    p.buffers.push_back({.name = "b" + std::to_string(p.buffers.size()), .bytes = bytes});
  p.tasks = {{.name = "make", .writes = {0}, .seconds = 1},
             {.name = "copy", .reads = {0}, .writes = {1}, .seconds = 5},
             {.name = "step", .reads = {0}, .writes = {2}, .seconds = 1, .workspace = 150},
             {.name = "use", .reads = {0, 1, 2}, .writes = {3}, .seconds = 1}};
  p.outputs = {3};
  const Model model(p, {});
  for (const bool moves : {true, false}) {
    Timeline line(model);
    line.assign(model.order, 7);
    Drops drops(line, 200);
    drops.set_moves_first(moves);
    Rng rng(1);
    EXPECT_EQ(drops.repair(1e9, 0, rng, 10), Drops::Outcome::fits);
    EXPECT_EQ(line.runs(), moves ? (std::vector<TaskId>{0, 2, 1, 3}) : (std::vector<TaskId>{0, 1, 2, 1, 3}));
    EXPECT_EQ(line.seconds(), moves ? 8 : 13);
  }
}

}  // namespace
}  // namespace tidemark::plan
