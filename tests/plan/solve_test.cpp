// solve on problems small enough to know the answer, its options one by one, and what it owes its caller.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <queue>
#include <set>

#include "random_problem.h"
#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/smallest.h"

namespace tidemark::plan {
namespace {

Options rounds(Bytes budget, std::int64_t effort) {
  Options o;
  o.budget = budget;
  o.effort = effort;
  o.time_limit = 1e9;
  o.offsets = false;
  return o;
}

RandomProblem plain(int tasks) {
  RandomProblem shape;
  shape.tasks = tasks;
  shape.align = shape.once = shape.in_place = shape.versions = shape.makers = shape.tiers = false;
  return shape;
}

// Least seconds over all plans of runs and drops, by Dijkstra over (what is live, what has run). -1: none.
double exhaustive(const Problem& p, Bytes budget) {
  using State = std::pair<std::uint32_t, std::uint32_t>;
  std::map<State, double> best;
  std::priority_queue<std::pair<double, State>, std::vector<std::pair<double, State>>, std::greater<>> open;
  std::uint32_t always = 0, wanted = 0;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) always |= p.buffers[b].resident ? 1U << b : 0;
  for (const BufferId b : p.outputs) wanted |= 1U << b;
  const auto bytes = [&](std::uint32_t live) {
    Bytes sum = 0;
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      sum += (live >> b & 1) != 0 ? p.size(static_cast<BufferId>(b)) : 0;
    return sum;
  };
  const auto reach = [&](double seconds, const State& state) {
    const auto [it, fresh] = best.try_emplace(state, seconds);
    if (!fresh && it->second <= seconds) return;
    it->second = seconds;
    open.emplace(seconds, state);
  };
  reach(0, {always, 0});
  const auto all = static_cast<std::uint32_t>((1ULL << p.tasks.size()) - 1);
  while (!open.empty()) {
    const auto [seconds, state] = open.top();
    open.pop();
    if (best[state] < seconds) continue;
    if (state.second == all && (state.first & wanted) == wanted) return seconds;
    for (std::size_t b = 0; b < p.buffers.size(); ++b) {
      if ((state.first >> b & 1) != 0 && !p.buffers[b].resident)
        reach(seconds, {state.first & ~(1U << b), state.second});
    }
    for (std::size_t t = 0; t < p.tasks.size(); ++t) {
      std::uint32_t reads = 0, writes = 0;
      for (const BufferId b : p.tasks[t].reads) reads |= 1U << b;
      for (const BufferId b : p.tasks[t].writes) writes |= 1U << b;
      if ((state.first & reads) != reads) continue;
      const std::uint32_t live = state.first | writes;
      if (bytes(live) + p.tasks[t].workspace > budget) continue;
      reach(seconds + p.tasks[t].seconds, {live, state.second | 1U << t});
    }
  }
  return -1;
}

TEST(Solve, AgreesWithExhaustiveSearchOnSmallProblems) {
  int possible = 0, reached = 0, best = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Problem p = random_problem(seed, plain(7));
    if (p.buffers.size() > 12) continue;
    const Bytes resident = resident_bytes(p), most = store_all_live_peak(p);
    for (const double f : {0.55, 0.75, 0.9}) {
      const Bytes budget = resident + static_cast<Bytes>(f * static_cast<double>(most - resident));
      const double optimum = exhaustive(p, budget);
      const Plan plan = solve(p, rounds(budget, 200));
      if (optimum < 0) {
        EXPECT_FALSE(has_plan(plan)) << seed << ' ' << f;
        continue;
      }
      ++possible;
      if (!has_plan(plan)) continue;
      ++reached;
      EXPECT_GE(plan.seconds, optimum - 1e-9) << seed << ' ' << f;
      if (plan.seconds_bound) {
        EXPECT_LE(*plan.seconds_bound, optimum + 1e-9) << seed << ' ' << f;
      }
      best += plan.seconds <= optimum + 1e-9;
    }
  }
  EXPECT_GT(possible, 50);
  EXPECT_GE(reached, possible * 95 / 100) << reached << " of " << possible;
  EXPECT_GE(best, reached * 95 / 100) << best << " of " << reached;
}

TEST(Solve, EveryKindOfProblemChecks) {
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    const Problem p = random_problem_of_any_kind(seed, seed % 5 == 0 ? 40 : 12);
    Rng rng(seed);
    const Bytes resident = resident_bytes(p), most = store_all_live_peak(p);
    Options o = rounds(
        resident + static_cast<Bytes>((0.3 + 0.8 * rng.uniform()) * static_cast<double>(most - resident)),
        10);
    o.offsets = seed % 2 == 0;
    o.seed = seed;
    const Plan plan = solve(p, o);
    EXPECT_EQ(check(p, plan), "") << seed;
    if (has_plan(plan))
      EXPECT_LE(plan.peak, o.budget) << seed;
    else
      EXPECT_TRUE(plan.smallest_peak || plan.peak_bound ||
                  plan.reason.find("does not fit its tier") != std::string::npos)
          << seed << plan.reason;
  }
}

TEST(Solve, IsDeterministicForSeedAndEffort) {
  const Problem p = random_problem(5, plain(60));
  const Bytes budget = budget_at(p, 0.7);
  for (const std::uint64_t seed : {0, 1}) {
    Options o = rounds(budget, 300);
    o.seed = seed;
    const Plan first = solve(p, o), second = solve(p, o);
    ASSERT_EQ(first.steps.size(), second.steps.size());
    for (std::size_t i = 0; i < first.steps.size(); ++i) {
      ASSERT_EQ(first.steps[i].kind, second.steps[i].kind);
      ASSERT_EQ(first.steps[i].id, second.steps[i].id);
    }
  }
}

// For each switch: what the plan must not do when it is off.
TEST(Solve, TechniquesThatAreOffAreNotUsed) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem_of_any_kind(seed + 1000, 14);
    const Options base = rounds(budget_at(p, 0.8), 10);
    const auto runs = [](const Plan& plan) {
      std::vector<TaskId> out;
      for (const Step& s : plan.steps) {
        if (s.kind == Step::Kind::run) out.push_back(s.id);
      }
      return out;
    };
    Options o = base;
    o.recompute = false;
    std::vector<TaskId> list = runs(solve(p, o));
    std::sort(list.begin(), list.end());
    EXPECT_EQ(std::adjacent_find(list.begin(), list.end()), list.end()) << seed;

    o = base;
    o.reorder = false;
    TaskId last = -1;
    std::vector<char> seen(p.tasks.size(), 0);
    for (const TaskId t : runs(solve(p, o))) {
      if (seen[static_cast<std::size_t>(t)] || p.tasks[static_cast<std::size_t>(t)].optional) continue;
      seen[static_cast<std::size_t>(t)] = 1;
      EXPECT_GT(t, last) << seed;
      last = t;
    }

    o = base;
    o.makers = false;
    for (const TaskId t : runs(solve(p, o)))
      EXPECT_FALSE(p.tasks[static_cast<std::size_t>(t)].optional) << seed;

    o = base;
    o.in_place = false;
    for (const Step& s : solve(p, o).steps) EXPECT_TRUE(s.in_place.empty()) << seed;

    o = base;
    o.tiers = false;
    for (const Step& s : solve(p, o).steps) {
      if (s.kind != Step::Kind::evict && s.kind != Step::Kind::fetch) continue;
      const Buffer& b = p.buffers[static_cast<std::size_t>(s.id)];
      EXPECT_TRUE(b.start >= 0 || b.end >= 0) << seed;
    }
  }
}

TEST(Solve, IsNeverWorseThanItsWarmStart) {
  const Problem p = random_problem(9, plain(50));
  const Bytes budget = budget_at(p, 0.75);
  const Plan good = solve(p, rounds(budget, 2000));
  ASSERT_TRUE(has_plan(good));
  Options o = rounds(budget, 0);
  o.warm_start = &good;
  EXPECT_LE(solve(p, o).seconds, good.seconds * (1 + 1e-12));
}

TEST(Solve, RefusesAWarmStartThatIsNoPlan) {
  const Problem p = random_problem(9, plain(20));
  Plan wrong = solve(p, rounds(-1, 0));
  ASSERT_TRUE(has_plan(wrong));
  const auto expect_refused = [&](const Plan& plan) {
    Options o = rounds(budget_at(p, 0.9), 0);
    o.warm_start = &plan;
    try {
      solve(p, o);
      ADD_FAILURE() << "taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::usage);
      EXPECT_NE(std::string(e.what()).find("[solve] the warm start is no plan"), std::string::npos)
          << e.what();
    }
  };
  Plan strange = wrong;
  strange.steps.front().id = 1000000;
  expect_refused(strange);
  wrong.steps.erase(wrong.steps.begin());  // what the first run makes is read later
  expect_refused(wrong);
}

// A warm start may use what the options forbid: it is left aside.
TEST(Solve, DoesNotTakeFromAWarmStartWhatIsSwitchedOff) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem p = random_problem_of_any_kind(seed + 500, 14);
    const Bytes budget = budget_at(p, 0.8);
    const Plan with = solve(p, rounds(budget, 20));
    if (!has_plan(with)) continue;
    Options o = rounds(store_all_live_peak(p), 5);
    o.warm_start = &with;
    o.makers = o.tiers = o.recompute = false;
    const Plan without = solve(p, o);
    if (!has_plan(without)) continue;
    std::vector<char> seen(p.tasks.size(), 0);
    for (const Step& s : without.steps) {
      if (s.kind != Step::Kind::run) continue;
      EXPECT_FALSE(p.tasks[static_cast<std::size_t>(s.id)].optional) << seed;
      EXPECT_FALSE(seen[static_cast<std::size_t>(s.id)]) << seed;
      seen[static_cast<std::size_t>(s.id)] = 1;
    }
  }
}

TEST(Solve, ThreadsShareTheRoundsAndGiveTheSameEveryTime) {
  const Problem p = random_problem(5, plain(60));
  Options o = rounds(budget_at(p, 0.7), 400);
  o.threads = 3;
  const Plan first = solve(p, o), second = solve(p, o);
  ASSERT_TRUE(has_plan(first));
  EXPECT_EQ(check(p, first), "");
  ASSERT_EQ(first.steps.size(), second.steps.size());
  for (std::size_t i = 0; i < first.steps.size(); ++i) {
    ASSERT_EQ(first.steps[i].kind, second.steps[i].kind);
    ASSERT_EQ(first.steps[i].id, second.steps[i].id);
  }
  o.threads = 1;
  o.effort = 0;
  EXPECT_LE(first.seconds, solve(p, o).seconds);  // no worse than what all threads start from
}

// Without time nothing was tried, which proves nothing.
TEST(Solve, OutOfTimeIsNotCalledInfeasible) {
  const Problem p = random_problem(5, plain(60));
  Options o = rounds(budget_at(p, 0.3), -1);
  o.time_limit = 0;
  o.bounds = false;
  const Plan plan = solve(p, o);
  EXPECT_EQ(plan.status, Plan::Status::timed_out);
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_FALSE(plan.reason.empty());
}

// By rounds and not by time: solve's few beside the whole of the planners that need no time limit.
TEST(Solve, IsNoWorseThanTheNamedPlanners) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem p = seed % 2 == 0 ? random_problem(seed, plain(30)) : random_problem_of_any_kind(seed, 16);
    for (const double f : {0.6, 0.8}) {
      const Options o = rounds(budget_at(p, f), 300);
      const Plan ours = solve(p, o);
      for (const char* name : {"store_all", "recompute_all", "every_k", "sqrt_n", "chen_greedy",
                               "linearised_greedy", "ap_greedy", "critical_path", "dtr", "greedy"}) {
        const Plan other = run_planner(*find_planner(name), p, o);
        if (!has_plan(other)) continue;
        ++compared;
        ASSERT_TRUE(has_plan(ours)) << seed << ' ' << f << ' ' << name;
        EXPECT_LE(ours.seconds, other.seconds * (1 + 1e-9)) << seed << ' ' << f << ' ' << name;
      }
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Solve, StopsWhenProgressSaysSo) {
  const Problem p = random_problem(5, plain(60));
  Options o = rounds(budget_at(p, 0.7), -1);
  int calls = 0;
  o.progress = [&](const Progress&) { return ++calls < 3; };
  solve(p, o);  // without a limit on time or rounds, only the callback ends it
  EXPECT_GE(calls, 1);
}

TEST(Solve, WithoutABudgetRunsEverythingOnce) {
  const Problem p = random_problem(3, plain(20));
  const Plan plan = solve(p, rounds(-1, 0));
  EXPECT_EQ(plan.status, Plan::Status::optimal);
  EXPECT_NEAR(plan.seconds, floor_seconds(p), 1e-9);
}

Problem chain_with_host() {
  return read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "tiers",
    "buffers": [{"name": "x", "bytes": 100, "resident": true}, {"name": "a", "bytes": 1000}, {"name": "b", "bytes": 500},
                {"name": "c", "bytes": 500}, {"name": "d", "bytes": 500}, {"name": "e", "bytes": 100}],
    "tasks": [{"name": "a", "reads": [0], "writes": [1], "seconds": 5}, {"name": "b", "reads": [1], "writes": [2], "seconds": 4},
              {"name": "c", "reads": [2], "writes": [3], "seconds": 4}, {"name": "d", "reads": [3], "writes": [4], "seconds": 4},
              {"name": "e", "reads": [1, 4], "writes": [5], "seconds": 1}],
    "outputs": [5],
    "tiers": {"host": {"write_bytes_per_second": 500, "read_bytes_per_second": 500, "bytes": 5000}}})");
}

TEST(Solve, WithNothingToRunWhatIsResidentIsAllThereIs) {
  Problem p;
  p.buffers = {{.name = "w", .bytes = 1000, .resident = true}};
  EXPECT_EQ(solve(p, {.budget = 1000}).status, Plan::Status::optimal);
  const Plan none = solve(p, {.budget = 999});
  EXPECT_EQ(none.status, Plan::Status::infeasible);
  EXPECT_EQ(none.peak_bound, 1000);
  EXPECT_NE(none.proof.json, "");
  EXPECT_EQ(verify_proof(p, none), "");
}

TEST(Solve, CopiesBesideTheComputation) {
  const Problem p = chain_with_host();
  Options o = rounds(1700, 50);
  const Plan plan = solve(p, o);
  ASSERT_TRUE(has_plan(plan));
  // Out while b runs; in only when c and d are done with their memory: 18 of runs, 2 of waiting. A second run of a: 23.
  EXPECT_NEAR(plan.seconds, 20.0, 1e-9);
  o.tiers = false;
  const Plan without = solve(p, o);
  ASSERT_TRUE(has_plan(without));
  EXPECT_NEAR(without.seconds, 23.0, 1e-9);
}

// A second run of a takes 5 s, a copy out and back 40: where nothing may run again, it is the copy.
TEST(Solve, CopiesDoNotBringSecondRunsWhereTheseAreOff) {
  Problem p = chain_with_host();
  p.tiers[0].write_bytes_per_second = p.tiers[0].read_bytes_per_second = 50;
  Options o = rounds(1700, 50);
  EXPECT_NEAR(solve(p, o).seconds, 23, 1e-9);
  o.recompute = false;
  const Plan plan = solve(p, o);
  ASSERT_TRUE(has_plan(plan)) << plan.reason;
  EXPECT_NEAR(plan.seconds, 54, 1e-9);  // out beside b, c has to wait; back behind d, e has to wait
  for (const Plan& each : {plan, smallest_peak(p, o).plan}) {
    std::set<TaskId> run;
    for (const Step& s : each.steps) {
      if (s.kind == Step::Kind::run) {
        EXPECT_TRUE(run.insert(s.id).second) << s.id;
      }
    }
  }
}

TEST(Solve, TakesTheFasterWayThatFits) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "instead_of",
    "buffers": [{"name": "x", "bytes": 10, "resident": true}, {"name": "y", "bytes": 20}, {"name": "z", "bytes": 20}],
    "tasks": [{"name": "conv", "reads": [0], "writes": [1], "seconds": 2},
              {"name": "fast", "reads": [0], "writes": [1], "seconds": 1, "optional": true, "instead_of": 0, "workspace": 100},
              {"name": "out", "reads": [1], "writes": [2], "seconds": 1}], "outputs": [2]})");
  EXPECT_NEAR(solve(p, rounds(200, 10)).seconds, 2.0, 1e-9);
  EXPECT_NEAR(solve(p, rounds(60, 10)).seconds, 3.0, 1e-9);
}

TEST(Solve, MakesAgainByTheInverse) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "makers",
    "buffers": [{"name": "x", "bytes": 80, "resident": true}, {"name": "f", "bytes": 80}, {"name": "y", "bytes": 80},
                {"name": "z", "bytes": 160}, {"name": "gz", "bytes": 80}, {"name": "g", "bytes": 80}],
    "tasks": [{"name": "f", "reads": [0], "writes": [1], "seconds": 5}, {"name": "y", "reads": [0, 1], "writes": [2], "seconds": 1},
              {"name": "z", "reads": [2], "writes": [3], "seconds": 1}, {"name": "gz", "reads": [3], "writes": [4], "seconds": 1},
              {"name": "g", "reads": [1, 2, 4], "writes": [5], "seconds": 2},
              {"name": "invert", "reads": [2, 0], "writes": [1], "seconds": 0.5, "optional": true}],
    "outputs": [5]})");
  EXPECT_NEAR(solve(p, rounds(400, 20)).seconds, 10.5, 1e-9);
}

TEST(SmallestPeak, IsReachedAndNoBoundIsAboveIt) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Problem p = random_problem(seed, plain(12));
    Options o = rounds(-1, 20);
    const SmallestPeak least = smallest_peak(p, o);
    EXPECT_LE(least.bound, least.budget) << seed;
    EXPECT_LE(least.budget, store_all_live_peak(p)) << seed;
    EXPECT_EQ(check(p, least.plan), "") << seed;
    EXPECT_EQ(least.plan.peak, least.budget) << seed;
    EXPECT_FALSE(least.why.empty()) << seed;
  }
}

TEST(Solve, RealModelsStayNearWhatIsKnown) {
  const std::string folder = TIDEMARK_SOURCE_DIR "/../shared/problems/h200/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << ": real models are not planned";
  struct Row {
    const char* name;
    double fraction, percent;
  };
  for (const Row& row : {Row{"resnet50", 0.5, 10.5}, Row{"gpt2_small", 0.5, 10.6}, Row{"unet", 0.6, 8.5},
                         Row{"vgg16", 0.8, 1.26}}) {
    const Problem p = read_problem(read_file(folder + row.name + ".json"));
    Options o = rounds(budget_at(p, row.fraction), 100);
    o.bounds = false;
    const Plan plan = solve(p, o);
    ASSERT_TRUE(has_plan(plan)) << row.name;
    EXPECT_LE(100 * (plan.seconds / floor_seconds(p) - 1), row.percent) << row.name;
  }
}

// Sizes are all different there, so that the search for offsets begins with fewer live bytes than there can be.
TEST(Solve, NextToTheLeastPeakOffsetsThatAreNotFoundSaySo) {
  const std::string file = TIDEMARK_SOURCE_DIR "/../shared/problems/published/random_layered_250.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file << ": its least peak is not tried";
  const Problem p = read_problem(read_file(file));
  Options o{.budget = 87'600, .time_limit = 0.5};
  const Plan plan = solve(p, o);
  if (!has_plan(plan)) {
    EXPECT_NE(plan.status, Plan::Status::infeasible) << "with live bytes alone there is a plan";
    EXPECT_GT(plan.smallest_peak, o.budget);
    EXPECT_EQ(plan.reason.find("tier"), std::string::npos) << plan.reason;
  }
  o.offsets = false;
  EXPECT_TRUE(has_plan(solve(p, o)));
}

// The list of a problem made in memory is as trusted as that of a file: not before it was looked at.
TEST(Solve, AListThatIsNoOrderIsRefused) {
  Problem p{.name = "backwards"};
  for (int i = 0; i < 3; ++i) p.buffers.push_back({.name = "b", .bytes = 8});
  p.tasks = {{.name = "uses", .reads = {0}, .writes = {1}, .seconds = 1},
             {.name = "makes", .writes = {0}, .seconds = 1},
             {.name = "out", .reads = {0, 1}, .writes = {2}, .seconds = 1}};
  p.outputs = {2};
  const auto kind = [](const auto& plan) {
    try {
      plan();
    } catch (const Error& e) {
      return e.kind();
    }
    return Error::Kind::internal;
  };
  EXPECT_EQ(kind([&] { solve(p, rounds(24, 100)); }), Error::Kind::usage);
  EXPECT_EQ(kind([&] { smallest_peak(p, rounds(-1, 100)); }), Error::Kind::usage);
  EXPECT_EQ(kind([&] { run_planner(*find_planner("sqrt_n"), p, rounds(24, 100)); }), Error::Kind::usage);
}

// Layers as traces have them whose activations run in place: what the backward pass reads is a copy, made in the forward pass, where nothing needs
// it. A plan that makes the copies again instead of making them late takes 1 % longer than the best.
TEST(Solve, WhatTheForwardPassDoesNotNeedCanWait) {
  constexpr int kLayers = 24;
  Problem p;
  const auto buffer = [&](const char* name, Bytes bytes) {
    p.buffers.push_back({.name = name + std::to_string(p.buffers.size()), .bytes = bytes});
    return static_cast<BufferId>(p.buffers.size()) - 1;
  };
  std::vector<BufferId> products, copies, values{buffer("x", 100)};
  p.tasks.push_back({.name = "input", .writes = {values[0]}, .seconds = 1});
  for (int i = 0; i < kLayers; ++i) {
    products.push_back(buffer("product", 100));
    const BufferId norm = buffer("norm", 100);
    copies.push_back(buffer("copy", 100));
    p.tasks.push_back(
        {.name = "product", .reads = {values.back()}, .writes = {products.back()}, .seconds = 4});
    p.tasks.push_back({.name = "norm", .reads = {products.back()}, .writes = {norm}, .seconds = 1});
    p.tasks.push_back({.name = "copy", .reads = {norm}, .writes = {copies.back()}, .seconds = 1});
    values.push_back(buffer("value", 100));
    p.tasks.push_back({.name = "act", .reads = {norm}, .writes = {values.back()}, .seconds = 1});
  }
  BufferId gradient = buffer("gradient", 100);
  p.tasks.push_back({.name = "loss", .reads = {values.back()}, .writes = {gradient}, .seconds = 1});
  for (std::size_t i = kLayers; i-- > 0;) {
    const BufferId inner = buffer("inner", 100), next = buffer("gradient", 100);
    p.tasks.push_back({.name = "act back", .reads = {gradient, copies[i]}, .writes = {inner}, .seconds = 1});
    p.tasks.push_back(
        {.name = "back", .reads = {inner, products[i], values[i]}, .writes = {next}, .seconds = 9});
    gradient = next;
  }
  p.outputs = {gradient};
  ASSERT_EQ(verify(p), "");
  Options o = rounds(store_all_live_peak(p) * 6 / 10, 20);
  o.offsets = false;
  const Plan plan = solve(p, o);
  ASSERT_TRUE(has_plan(plan));
  EXPECT_LT(plan.seconds, *plan.seconds_bound * 1.005);
}

}  // namespace
}  // namespace tidemark::plan
