// solve where time is short: interrupts, very large problems, and tasks with very many buffers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

// On which the bound is not met at once.
Problem ladder(int n) {
  Problem p;
  p.buffers = {{.bytes = 10, .resident = true}};
  for (int i = 0; i < 2 * n; ++i) p.buffers.push_back({.bytes = 64 + 37 * i % 101});
  for (int i = 0; i < n; ++i)
    p.tasks.push_back({.reads = i < 2 ? std::vector{i} : std::vector{i, i - 1},
                       .writes = {i + 1},
                       .seconds = 1.0 + 13 * i % 7});
  for (int i = 0; i < n; ++i)
    p.tasks.push_back({.reads = i > 0 ? std::vector{n + i, n - i} : std::vector{n},
                       .writes = {n + i + 1},
                       .seconds = 2.0 + 11 * i % 5});
  p.outputs = {2 * n};
  return p;
}

// A no is obeyed wherever the search or the bound is, which has most of the time where a plan is next to it; and is not asked for again.
TEST(Solve, BoundsEndWhenProgressSaysSo) {
  const Problem p = ladder(1000);
  for (const int most : {1, 5}) {
    Options o;
    o.budget = budget_at(p, 0.6);
    o.time_limit = 30;
    int calls = 0;
    bool said_no = false;
    const double begin = cpu_seconds();
    o.progress = [&](const Progress&) {
      EXPECT_FALSE(said_no) << "asked again";
      said_no = ++calls >= most;
      return !said_no;
    };
    const Plan plan = solve(p, o);
    ASSERT_TRUE(said_no) << most;
    EXPECT_LT(cpu_seconds() - begin, 0.5) << most;
    EXPECT_EQ(check(p, plan), "") << most;
    EXPECT_EQ(verify_proof(p, plan), "") << most;
    EXPECT_TRUE(plan.seconds_bound || !has_plan(plan)) << most;
  }
}

// With much time, searches with other random numbers come first: they are interrupted like any, and what they find is not lost.
TEST(Solve, WithMuchTimeSeveralSearchesShareIt) {
  const Problem p = ladder(300);
  Options o;
  o.budget = budget_at(p, 0.3);
  o.offsets = false;
  o.time_limit = 0.4;
  const Plan soon = solve(p, o);
  ASSERT_TRUE(has_plan(soon)) << soon.reason;
  ASSERT_NE(soon.status, Plan::Status::optimal) << "nothing to search for";
  for (const double until : {1.0, 100.0}) {
    o.time_limit = 5;
    double least = std::numeric_limits<double>::infinity();
    bool said_no = false;
    o.progress = [&](const Progress& now) {
      EXPECT_LE(now.best_seconds, least) << "what was found is lost in " << now.phase;
      least = std::min(least, now.best_seconds);
      said_no = now.seconds_elapsed > until;
      return !said_no;
    };
    const double begin = cpu_seconds();
    const Plan plan = solve(p, o);
    EXPECT_LT(cpu_seconds() - begin, std::min(until, 5.0) + 0.6);
    EXPECT_EQ(said_no, until < 5);
    EXPECT_EQ(check(p, plan), "");
    EXPECT_LE(plan.seconds, least * (1 + 1e-9)) << until;
    if (!said_no) {
      EXPECT_LE(plan.seconds, soon.seconds * 1.01);
    }
  }
}

// A long chain of layers with far too little time for a cut: simple ways find a plan then, and so does solve.
TEST(Solve, FindsAPlanInALargeProblemWithNextToNoTime) {
  constexpr int n = 10000;
  Problem p;
  p.buffers = {{.bytes = 10, .resident = true}};
  for (int i = 0; i < 2 * n; ++i) p.buffers.push_back({.bytes = 100 + i % 7});
  for (int i = 0; i < n; ++i)
    p.tasks.push_back({.reads = {i}, .writes = {i + 1}, .seconds = i % 3 == 0 ? 5.0 : 1.0});
  for (int i = 0; i < n; ++i)
    p.tasks.push_back(
        {.reads = i > 0 ? std::vector{n + i, n - i} : std::vector{n}, .writes = {n + i + 1}, .seconds = 2});
  p.outputs = {2 * n};
  const Bytes budget = budget_at(p, 0.6);
  const Plan simple =
      run_planner(*find_planner("sqrt_n"), p, {.budget = budget, .time_limit = 0.02, .offsets = false});
  ASSERT_TRUE(has_plan(simple)) << simple.reason;
  const Plan plan = solve(p, {.budget = budget, .time_limit = 0.02, .offsets = false});
  ASSERT_TRUE(has_plan(plan)) << plan.reason;
  EXPECT_EQ(check(p, plan), "");
  EXPECT_LE(plan.seconds, simple.seconds);
}

// Layers with large values that are quick to make again: greedy is the way there, and is given the time that it needs.
TEST(Solve, IsNoWorseThanGreedyInALargeProblemWithLittleTime) {
  constexpr int n = 5000;
  Problem p;
  p.buffers = {{.bytes = 10, .resident = true}};
  const auto make = [&](std::vector<BufferId> reads, Bytes bytes, double seconds) {
    const auto b = static_cast<BufferId>(p.buffers.size());
    p.buffers.push_back({.bytes = bytes});
    p.tasks.push_back({.reads = std::move(reads), .writes = {b}, .seconds = seconds});
    return b;
  };
  std::vector<BufferId> kept{0}, quick{0};
  for (int i = 0; i < n; ++i) {
    kept.push_back(make({quick.back()}, 100, 50));
    quick.push_back(make({kept.back()}, 500 + i % 7, 1 + i % 5));
  }
  BufferId gradient = quick.back();
  for (std::size_t i = n; i > 0; --i) {
    std::vector<BufferId> reads{gradient, kept[i]};
    if (i < n) reads.push_back(quick[i]);
    gradient = make(reads, 100, 60);
  }
  p.outputs = {gradient};
  const Bytes budget = budget_at(p, 0.85);
  const Options options{.budget = budget, .time_limit = 0.1, .offsets = false};
  const Plan greedy = run_planner(*find_planner("greedy"), p, options);
  const Plan plan = solve(p, options);
  ASSERT_TRUE(has_plan(plan)) << plan.reason;
  if (has_plan(greedy)) {
    EXPECT_LE(plan.seconds, greedy.seconds);  // a slow machine takes longer for it
  }
}

// Many values that are made from the end of a chain that is given up: to rank them goes all the way back for each.
TEST(Greedy, HearsItsLimitWhileItRanks) {
  constexpr int n = 40'000;
  Problem p;
  p.buffers = {{.bytes = 10, .resident = true}};
  const auto make = [&](std::vector<BufferId> reads, double seconds) {
    const auto b = static_cast<BufferId>(p.buffers.size());
    p.buffers.push_back({.bytes = 100});
    p.tasks.push_back({.reads = std::move(reads), .writes = {b}, .seconds = seconds});
    return b;
  };
  std::vector<BufferId> chain{0}, heads;
  for (int i = 0; i < n; ++i) chain.push_back(make({chain.back()}, 1 - 0.5 * i / n));
  for (int i = 0; i < n; ++i) heads.push_back(make({chain.back()}, 5e4));
  BufferId gradient = 0;
  for (int i = n; i-- > 0;) gradient = make({gradient, heads[static_cast<std::size_t>(i)]}, 2);
  for (int i = n; i-- > 0;) gradient = make({gradient, chain[static_cast<std::size_t>(i)]}, 2);
  p.outputs = {gradient};
  const Options options{.budget = budget_at(p, 0.6), .time_limit = 0.6, .offsets = false, .bounds = false};
  const double begin = process_seconds();
  run_planner(*find_planner("greedy"), p, options);
  EXPECT_LT(process_seconds() - begin, 1.5);  // it takes half a second; without a look at the clock, many
}

// A task may read or write as many buffers as there are; nothing looks through all of them for each.
TEST(Solve, TasksMayHaveVeryManyBuffers) {
  constexpr int n = 200'000;
  Problem p;
  p.tasks = {{.name = "makes", .seconds = 1},
             {.name = "turns", .seconds = 1},
             {.name = "uses", .writes = {2 * n}, .seconds = 1}};
  for (int b = 0; b < n; ++b) {
    p.tasks[0].writes.push_back(b);
    p.tasks[1].reads.push_back(b);
    p.tasks[1].writes.push_back(n + b);
    p.tasks[2].reads.push_back(n + b);
  }
  p.buffers.resize(2 * n + 1, {.bytes = 1});
  p.outputs = {2 * n};
  for (const double part : {0.5, 1.0}) {
    const double begin = process_seconds();
    const Plan plan = solve(p, {.budget = budget_at(p, part), .time_limit = 0.1, .offsets = false});
    EXPECT_LT(process_seconds() - begin, 10) << part;  // it takes one; with the square of n, minutes
    EXPECT_EQ(plan.status, part < 1 ? Plan::Status::infeasible : Plan::Status::optimal);
    EXPECT_EQ(verify_proof(p, plan), "");
  }
}

}  // namespace
}  // namespace tidemark::plan
