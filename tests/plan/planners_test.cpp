// The published planners: every plan passes the checker on every kind of problem, the exact ones meet exhaustive searches
// that share nothing with them, and what a planner does not apply to it says.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "random_problem.h"
#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/proof.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

const std::set<std::string_view> kSpecial{"revolve", "chain_dp", "tree_dp", "checkmate_milp", "checkmate_lp"};
bool with_highs() {
  try {
    Problem p;
    p.buffers = {{"a", 1}};
    p.tasks = {{.name = "a", .writes = {0}}};
    run_planner(*find_planner("checkmate_lp"), p, {});
  } catch (const Error&) {
    return false;
  }
  return true;
}

// A chain of n steps: f_i makes a_i from a_(i-1); the backward task i reads the gradient and one or both of its values.
Problem chain_problem(Rng& rng, int n, bool workspace = false) {
  Problem p;
  p.name = "chain";
  p.buffers.push_back({"x", 3, true});
  const auto bytes = [&] { return 1 + rng.below(9); };
  for (int i = 1; i <= n; ++i) p.buffers.push_back({"a" + std::to_string(i), bytes()});
  const auto seconds = [&] { return static_cast<double>(1 + rng.below(9)); };
  for (int i = 0; i < n; ++i)
    p.tasks.push_back({.name = "f" + std::to_string(i),
                       .reads = {i},
                       .writes = {i + 1},
                       .seconds = seconds(),
                       .workspace = workspace ? rng.below(4) : 0});
  BufferId gradient = -1;
  for (int i = n; i-- > 0;) {
    const auto made = static_cast<BufferId>(p.buffers.size());
    p.buffers.push_back({"g" + std::to_string(i), bytes()});
    Task t{.name = "b" + std::to_string(i),
           .writes = {made},
           .seconds = seconds(),
           .workspace = workspace ? rng.below(4) : 0};
    if (gradient >= 0) t.reads.push_back(gradient);
    const int kind = i == n - 1 ? 2 : static_cast<int>(rng.below(3));
    if (kind != 0) t.reads.push_back(i + 1);
    if (kind != 1) t.reads.push_back(i);
    p.tasks.push_back(t);
    gradient = made;
  }
  p.outputs = {gradient};
  return p;
}

// The least seconds with first runs in the order of the list: shortest path over (live buffers, tasks first run so far).
double exhaustive(const Problem& p, Bytes budget) {
  const int n = static_cast<int>(p.tasks.size());
  using Key = std::pair<std::uint32_t, int>;
  std::map<Key, double> known;
  std::multimap<double, Key> open;
  const auto bytes = [&](std::uint32_t live) {
    Bytes sum = 0;
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      sum += (live >> b & 1) * p.size(static_cast<BufferId>(b));
    return sum;
  };
  std::uint32_t resident = 0, outputs = 0;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) resident |= std::uint32_t{p.buffers[b].resident} << b;
  for (const BufferId b : p.outputs) outputs |= 1u << b;
  const auto reach = [&](double t, std::uint32_t live, int next) {
    const auto [it, fresh] = known.insert({{live, next}, t});
    if (!fresh && it->second <= t) return;
    it->second = t;
    open.insert({t, {live, next}});
  };
  reach(0, resident, 0);
  while (!open.empty()) {
    const auto [t, key] = *open.begin();
    open.erase(open.begin());
    if (known[key] < t) continue;
    const auto [live, next] = key;
    if (next == n && (live & outputs) == outputs) return t;
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      if ((live & ~resident) >> b & 1) reach(t, live & ~(1u << b), next);
    for (int i = 0; i <= std::min(next, n - 1); ++i) {
      std::uint32_t reads = 0, writes = 0;
      for (const BufferId b : p.tasks[at(i)].reads) reads |= 1u << b;
      for (const BufferId b : p.tasks[at(i)].writes) writes |= 1u << b;
      if ((live & reads) != reads || bytes(live | writes) + p.tasks[at(i)].workspace > budget) continue;
      reach(t + p.tasks[at(i)].seconds, live | writes, std::max(next, i + 1));
    }
  }
  return -1;
}

TEST(Planners, AllAreThereAndNamedOnce) {
  std::set<std::string_view> names;
  for (const Planner& planner : planners()) EXPECT_TRUE(names.insert(planner.name).second) << planner.name;
  for (const char* name :
       {"store_all", "recompute_all", "every_k", "sqrt_n", "chen_greedy", "linearised_sqrt_n",
        "linearised_greedy", "ap_sqrt_n", "ap_greedy", "critical_path", "revolve", "chain_dp", "tree_dp",
        "checkmate_milp", "checkmate_lp", "dtr", "greedy", "annealing", "evolutionary"})
    EXPECT_TRUE(names.count(name)) << name;
}

// run_planner checks each plan; here, too, that answers are of a kind that fits.
void try_all(const Problem& p, double fraction, bool offsets, std::map<std::string_view, int>& feasible) {
  const Bytes budget = budget_at(p, fraction);
  for (const Planner& planner : planners()) {
    if (planner.name == "solve") continue;  // has tests of its own
    try {
      const Plan plan =
          run_planner(planner, p, {.budget = budget, .time_limit = 0.2, .effort = 60, .offsets = offsets});
      ASSERT_EQ(check(p, plan), "") << planner.name;
      const bool found = has_plan(plan);
      feasible[planner.name] += found;
      if (found) {
        ASSERT_LE(plan.peak, budget) << planner.name;
      } else {
        ASSERT_NE(plan.reason, "") << planner.name;
      }
    } catch (const Error& e) {
      ASSERT_EQ(e.kind(), Error::Kind::unsupported) << planner.name << ": " << e.what();
      ASSERT_TRUE(kSpecial.count(planner.name)) << e.what();
      ASSERT_EQ(std::string(e.what()).find("[" + std::string(planner.name) + "]"), 0u) << e.what();
    }
  }
}

TEST(Planners, EveryKindOfProblem) {
  std::map<std::string_view, int> feasible;
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    try_all(random_problem_of_any_kind(seed, 14),
            seed % 3 == 0   ? 1.0
            : seed % 3 == 1 ? 0.75
                            : 0.5,
            seed % 2 == 0, feasible);
  for (const Planner& planner : planners())
    if (planner.name != "solve" && !kSpecial.count(planner.name) && planner.name != "recompute_all") {
      EXPECT_GT(feasible[planner.name], 10) << planner.name;
    }
}

// Every task is optional and what has to be there in the end is there all along: nothing is to be done, and no plan is faster.
TEST(Planners, WhereNothingHasToRunNothingDoes) {
  const Problem idle = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "idle",
    "buffers": [{"bytes": 5, "resident": true}, {"bytes": 7}, {"bytes": 9, "start": "host", "end": "host"}, {"bytes": 3, "start": "host"}],
    "tasks": [{"reads": [0], "writes": [1], "seconds": 1, "optional": true}, {"reads": [1], "writes": [2], "seconds": 1, "optional": true}],
    "outputs": [0],
    "tiers": {"host": {"write_bytes_per_second": 1, "read_bytes_per_second": 1, "latency_seconds": 0, "bytes": 100}}})");
  const Problem optional = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "optional",
    "buffers": [{"bytes": 8}], "tasks": [{"reads": [], "writes": [0], "seconds": 1, "optional": true}], "outputs": []})");
  const Problem empty = read_problem(
      R"({"format": "tidemark-problem", "version": 1, "name": "empty", "buffers": [], "tasks": [], "outputs": []})");
  for (const Problem* p : {&idle, &optional, &empty}) {
    const Bytes least = resident_bytes(*p);
    for (const Planner& planner : planners()) {
      for (const Bytes budget : {Bytes{-1}, least, Bytes{2000}}) {
        const Plan plan = run_planner(planner, *p, {.budget = budget, .time_limit = 0.2});
        EXPECT_EQ(plan.status, Plan::Status::optimal) << planner.name << " " << p->name << " " << budget;
        EXPECT_EQ(plan.seconds, 0) << planner.name;
        EXPECT_EQ(plan.peak, least) << planner.name;
        EXPECT_EQ(verify_proof(*p, plan), "") << planner.name << " " << p->name << " " << budget;
      }
      if (least == 0) continue;
      const Plan none = run_planner(planner, *p, {.budget = least - 1, .time_limit = 0.2});
      EXPECT_EQ(none.status, Plan::Status::infeasible) << planner.name;
      EXPECT_EQ(none.smallest_peak, least) << planner.name;
    }
  }
}

// The same with an output to bring: by a copy of 9 s, or by a task that need not run and takes 1 s.
TEST(Planners, WhatNeedNotRunIsFasterThanACopy) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1,
    "buffers": [{"bytes": 5, "resident": true}, {"bytes": 9, "start": "host"}],
    "tasks": [{"reads": [0], "writes": [1], "seconds": 1, "optional": true}], "outputs": [1],
    "tiers": {"host": {"write_bytes_per_second": 1, "read_bytes_per_second": 1, "latency_seconds": 0, "bytes": 100}}})");
  std::map<std::string_view, int> feasible;
  try_all(p, 1, true, feasible);
  EXPECT_EQ(feasible["store_all"], 1);
  const Plan plan = solve(p, {.budget = 14, .time_limit = 0.2, .effort = 60});
  EXPECT_EQ(check(p, plan), "");
  EXPECT_DOUBLE_EQ(plan.seconds, 1);
}

// Weights that live on the host: the backward part makes what the forward part reads.
TEST(Planners, WeightsThatBeginInATier) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, 
    "buffers": [{"name": "w", "bytes": 8, "start": "host", "end": "host"}, {"name": "x", "bytes": 4, "resident": true}, {"name": "a", "bytes": 8}, {"name": "b", "bytes": 8}, {"name": "gb", "bytes": 8}, {"name": "gw", "bytes": 8}], 
    "tasks": [{"name": "f1", "reads": [1], "writes": [2], "seconds": 1}, {"name": "f2", "reads": [2, 0], "writes": [3], "seconds": 1}, {"name": "f3", "reads": [3], "writes": [4], "seconds": 1}, {"name": "bw", "reads": [4, 2, 3], "writes": [5], "seconds": 1}, {"name": "upd", "reads": [0, 5], "writes": [0], "seconds": 1, "once": true}], 
    "outputs": [], "tiers": {"host": {"write_bytes_per_second": 8, "read_bytes_per_second": 8, "bytes": 1000}}})");
  std::map<std::string_view, int> feasible;
  for (const bool offsets : {false, true}) try_all(p, 1.0, offsets, feasible);
  EXPECT_EQ(feasible["ap_sqrt_n"], 2);
}

// Where copies have to be made anyway, running a task again beside them may be faster than another copy.
TEST(Planners, NoneIsFasterThanSolveBesideCopies) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "fz", "align": 2, 
    "buffers": [ {"name": "r0", "bytes": 2, "resident": true}, {"name": "r1", "bytes": 4, "resident": true}, {"name": "s0", "bytes": 2, "start": "host", "end": "host"}, {"name": "b3", "bytes": 7}, {"name": "b4", "bytes": 5}, {"name": "b5", "bytes": 7}, {"name": "b6", "bytes": 4},
     {"name": "b7", "bytes": 7}, {"name": "b8", "bytes": 7}, {"name": "b9", "bytes": 8}, {"name": "b10", "bytes": 2}, {"name": "b11", "bytes": 7}, {"name": "b12", "bytes": 2}, {"name": "b13", "bytes": 0}, {"name": "b14", "bytes": 0}, {"name": "b15", "bytes": 1, "end": "host"} ], 
    "tasks": [ {"name": "t0", "reads": [], "writes": [3], "seconds": 3, "workspace": 1},
     {"name": "t1", "reads": [2, 2], "writes": [4], "seconds": 2},
     {"name": "t2", "reads": [2], "writes": [], "seconds": 3},
     {"name": "t3", "reads": [4, 2, 3], "writes": [5], "seconds": 2, "workspace": 2},
     {"name": "t4", "reads": [3], "writes": [6], "seconds": 3.5, "workspace": 1},
     {"name": "t5", "reads": [0, 2], "writes": [7], "seconds": 1, "workspace": 3},
     {"name": "t6", "reads": [7, 6, 0], "writes": [8, 9], "in_place": [[7, 8]], "seconds": 3},
     {"name": "t7", "reads": [7, 8, 7], "writes": [10], "seconds": 1},
     {"name": "t8", "reads": [9, 8, 4], "writes": [11], "in_place": [[8, 11]], "seconds": 2},
     {"name": "t9", "reads": [11, 10], "writes": [12, 9], "seconds": 0.5},
     {"name": "t10", "reads": [11, 12], "writes": [11], "in_place": [[12, 11]], "seconds": 1, "once": true},
     {"name": "t11", "reads": [10, 10], "writes": [13], "in_place": [[10, 13]], "seconds": 0, "once": true},
     {"name": "t12", "reads": [10, 10], "writes": [13], "seconds": 1, "once": true, "optional": true, "instead_of": 11},
     {"name": "t13", "reads": [12, 10], "writes": [14], "in_place": [[10, 14]], "seconds": 3.5},
     {"name": "t14", "reads": [14], "writes": [15], "seconds": 0},
     {"name": "t15", "reads": [15, 10], "writes": [12, 9], "seconds": 3.5, "optional": true, "instead_of": 9} ], 
    "outputs": [15], "tiers": {"host": {"write_bytes_per_second": 4, "read_bytes_per_second": 1, "latency_seconds": 0, "bytes": 100}}})");
  const Plan solved = solve(p, {.budget = 38, .time_limit = 1e9, .effort = 100});
  for (const char* name : {"greedy", "linearised_greedy"}) {
    const Plan plan = run_planner(*find_planner(name), p, {.budget = 38});
    ASSERT_EQ(check(p, plan), "");
    EXPECT_LE(solved.seconds, plan.seconds) << name;
  }
}

TEST(Planners, Chains) {
  Rng rng(5);
  std::map<std::string_view, int> feasible;
  for (int round = 0; round < 12; ++round)
    try_all(chain_problem(rng, 6 + static_cast<int>(rng.below(10)), true), 0.45 + 0.15 * (round % 3),
            round % 2 == 0, feasible);
  for (const char* name : {"sqrt_n", "chen_greedy", "revolve", "chain_dp", "dtr", "greedy", "annealing",
                           "evolutionary", "ap_greedy", "linearised_greedy"})
    EXPECT_GT(feasible[name], 4) << name;
}

TEST(ChainDp, MeetsTheExhaustiveSearch) {
  Rng rng(7);
  int feasible = 0, met = 0;
  for (int round = 0; round < 60; ++round) {
    const Problem p = chain_problem(rng, 2 + static_cast<int>(rng.below(4)), true);
    const Bytes budget = budget_at(p, 0.6 + 0.4 * rng.uniform());
    const double best = exhaustive(p, budget);
    const Plan plan = run_planner(*find_planner("chain_dp"), p, {.budget = budget, .offsets = false});
    if (plan.status == Plan::Status::infeasible) {
      EXPECT_LT(best, 0) << "round " << round;
      continue;
    }
    ++feasible;
    EXPECT_GE(plan.seconds, best - 1e-9) << "round " << round;
    met += plan.seconds <= best + 1e-9;
  }
  EXPECT_GT(feasible, 15);
  // A plan that drops a stored value before its last use and makes it again can be better still (the authors say so).
  EXPECT_GE(10 * met, 9 * feasible);
}

TEST(ChainDp, NeverWorseThanTheOthersOnChains) {
  Rng rng(8);
  for (int round = 0; round < 6; ++round) {
    const Problem p = chain_problem(rng, 20);
    const Options options{
        .budget = budget_at(p, 0.4 + 0.1 * (round % 3)), .time_limit = 2, .effort = 200, .offsets = false};
    const Plan best = run_planner(*find_planner("chain_dp"), p, options);
    for (const char* name : {"revolve", "sqrt_n", "chen_greedy", "every_k", "dtr", "greedy", "annealing"}) {
      const Plan plan = run_planner(*find_planner(name), p, options);
      if (plan.status == Plan::Status::infeasible) continue;
      ASSERT_NE(best.status, Plan::Status::infeasible) << name;
      EXPECT_LE(best.seconds, plan.seconds + 1e-9) << name << ", round " << round;
    }
  }
}

// Checkmate's own space: in each stage a set of tasks in list order, values kept from stage to stage; every kept set is tried.
double best_by_stages(const Problem& p, Bytes budget) {
  const int n = static_cast<int>(p.tasks.size());
  std::vector<int> maker(p.buffers.size(), -1);
  Bytes base = 0;
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].resident) base += p.size(static_cast<BufferId>(b));
  for (int i = 0; i < n; ++i)
    for (const BufferId b : p.tasks[at(i)].writes) maker[at(b)] = i;
  std::map<std::uint32_t, double> states{{0, 0.0}};  // kept buffers -> seconds
  for (int t = 0; t < n; ++t) {
    std::map<std::uint32_t, double> next;
    for (const auto& [kept, seconds] : states)
      for (std::uint32_t again = 0; again < 1u << t; ++again) {
        const std::uint32_t runs = again | 1u << t;
        std::uint32_t there = kept;
        bool valid = true;
        double cost = seconds;
        for (int i = 0; i <= t && valid; ++i) {
          if (!(runs >> i & 1)) continue;
          for (const BufferId b : p.tasks[at(i)].reads) valid = valid && (maker[at(b)] < 0 || there >> b & 1);
          for (const BufferId b : p.tasks[at(i)].writes) there |= 1u << b;
          cost += p.tasks[at(i)].seconds;
        }
        if (!valid) continue;
        // Every subset of what there is may be kept for the next stage; what is not goes behind its last user.
        for (std::uint32_t keep = there;; keep = (keep - 1) & there) {
          const auto it = next.find(keep);
          if (it == next.end() || cost < it->second) {
            std::uint32_t live = kept;
            bool fits = true;
            for (int i = 0; i <= t && fits; ++i) {
              if (!(runs >> i & 1)) continue;
              for (const BufferId b : p.tasks[at(i)].writes) live |= 1u << b;
              Bytes now = base + round_up(p.tasks[at(i)].workspace, p.align);
              for (std::size_t b = 0; b < p.buffers.size(); ++b)
                now += (live >> b & 1) * p.size(static_cast<BufferId>(b));
              fits = now <= budget;
              const auto used_later = [&](BufferId b) {
                for (int j = i + 1; j <= t; ++j)
                  if (runs >> j & 1)
                    for (const BufferId r : p.tasks[at(j)].reads)
                      if (r == b) return true;
                return false;
              };
              for (std::size_t b = 0; b < p.buffers.size(); ++b)
                if (!(keep >> b & 1) && !used_later(static_cast<BufferId>(b))) live &= ~(1u << b);
            }
            if (fits) next[keep] = cost;
          }
          if (keep == 0) break;
        }
      }
    states = std::move(next);
  }
  double best = -1;
  for (const auto& [kept, seconds] : states) {
    bool outputs = true;
    for (const BufferId b : p.outputs) outputs = outputs && kept >> b & 1;
    if (outputs && (best < 0 || seconds < best)) best = seconds;
  }
  return best;
}

// A build without HiGHS says so.
void expect_no_highs(const char* planner) {
  Rng rng(3);
  const Problem p = chain_problem(rng, 3);
  try {
    run_planner(*find_planner(planner), p, {.budget = budget_at(p, 0.8), .time_limit = 1, .offsets = false});
    FAIL() << planner << " planned without a solver";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::unsupported);
    EXPECT_NE(std::string(e.what()).find("built without HiGHS"), std::string::npos) << e.what();
  }
}

TEST(CheckmateMilp, MeetsTheSearchOverStages) {
  if (!with_highs()) return expect_no_highs("checkmate_milp");
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const RandomProblem plain{.tasks = 6,
                              .residents = 1,
                              .once = false,
                              .in_place = false,
                              .versions = false,
                              .makers = false,
                              .lossy = false,
                              .tiers = false};
    Rng rng(seed);
    const Problem p = seed % 2 == 0 ? random_problem(seed, plain) : chain_problem(rng, 3);
    const Bytes budget = budget_at(p, 0.8 + 0.1 * static_cast<double>(seed % 3));
    const double best = best_by_stages(p, budget);
    const Plan plan = run_planner(*find_planner("checkmate_milp"), p,
                                  {.budget = budget, .time_limit = 20, .offsets = false});
    if (best < 0) {
      // A set of runs may need less when carried out than stages give it; never the other way round.
      continue;
    }
    ++feasible;
    ASSERT_NE(plan.status, Plan::Status::infeasible) << "seed " << seed;
    EXPECT_NEAR(plan.seconds, best, 1e-6 * best) << "seed " << seed;
    EXPECT_NE(plan.reason.find("bound"), std::string::npos);
  }
  EXPECT_GT(feasible, 12);
}

TEST(CheckmateLp, IsNoBetterThanTheMilp) {
  if (!with_highs()) return expect_no_highs("checkmate_lp");
  Rng rng(3);
  int both = 0;
  for (int round = 0; round < 6; ++round) {
    const Problem p = chain_problem(rng, 6);
    const Options options{.budget = budget_at(p, 0.7), .time_limit = 20, .offsets = false};
    const Plan exact = run_planner(*find_planner("checkmate_milp"), p, options),
               rounded = run_planner(*find_planner("checkmate_lp"), p, options);
    if (exact.status == Plan::Status::infeasible || rounded.status == Plan::Status::infeasible) continue;
    ++both;
    EXPECT_GE(rounded.seconds, exact.seconds - 1e-6);
  }
  EXPECT_GT(both, 1);
}

// All orders of a small tree.
Bytes least_peak_of_orders(const Problem& p) {
  const int n = static_cast<int>(p.tasks.size());
  std::map<std::uint32_t, Bytes> best{{0, 0}};  // tasks run -> least peak so far
  Bytes base = 0;
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].resident) base += p.size(static_cast<BufferId>(b));
  std::vector<int> maker(p.buffers.size(), -1), reader(p.buffers.size(), -1);
  for (int i = 0; i < n; ++i) {
    for (const BufferId b : p.tasks[at(i)].writes) maker[at(b)] = i;
    for (const BufferId b : p.tasks[at(i)].reads) reader[at(b)] = i;
  }
  for (std::uint32_t done = 0; done < 1u << n; ++done) {
    const auto it = best.find(done);
    if (it == best.end()) continue;
    for (int i = 0; i < n; ++i) {
      if (done >> i & 1) continue;
      bool ready = true;
      for (const BufferId b : p.tasks[at(i)].reads)
        ready = ready && (maker[at(b)] < 0 || done >> maker[at(b)] & 1);
      if (!ready) continue;
      Bytes now = base + round_up(p.tasks[at(i)].workspace, p.align);
      for (std::size_t b = 0; b < p.buffers.size(); ++b) {
        if (maker[b] < 0) continue;
        const bool made = maker[b] == i || done >> maker[b] & 1;
        const bool is_output =
            std::find(p.outputs.begin(), p.outputs.end(), static_cast<BufferId>(b)) != p.outputs.end();
        const bool gone = maker[b] != i && !is_output && (reader[b] < 0 || done >> reader[b] & 1);
        if (made && !gone) now += p.size(static_cast<BufferId>(b));
      }
      const Bytes peak = std::max(it->second, now);
      const auto [at_next, fresh] = best.insert({done | 1u << i, peak});
      if (!fresh) at_next->second = std::min(at_next->second, peak);
    }
  }
  return best.at((1u << n) - 1);
}

TEST(TreeDp, MeetsTheSearchOverOrders) {
  Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    const int n = 3 + static_cast<int>(rng.below(9));
    Problem p;
    p.buffers.push_back({"w", 2, true});
    for (int i = 0; i < n; ++i) {
      p.buffers.push_back({"v" + std::to_string(i), 1 + rng.below(20)});
      p.tasks.push_back({.name = "t" + std::to_string(i),
                         .reads = {0},
                         .writes = {i + 1},
                         .seconds = 1,
                         .workspace = rng.below(5)});
    }
    // Every task but the last is read by one behind it; some are outputs of their own.
    for (int i = 0; i + 1 < n; ++i) {
      if (rng.uniform() < 0.1)
        p.outputs.push_back(i + 1);
      else
        p.tasks[at(i + 1 + rng.below(n - i - 1))].reads.push_back(i + 1);
    }
    p.outputs.push_back(n);
    ASSERT_EQ(verify(p), "");
    const Plan plan = run_planner(*find_planner("tree_dp"), p, {.offsets = false});
    EXPECT_EQ(plan.live_peak, least_peak_of_orders(p)) << "round " << round;
  }
}

// Trees of n tasks, each read by one behind it.
Problem tree_problem(Rng& rng, int n) {
  Problem p;
  for (int i = 0; i < n; ++i) {
    p.buffers.push_back({"v" + std::to_string(i), rng.below(300)});
    p.tasks.push_back(
        {.name = "t" + std::to_string(i), .writes = {i}, .seconds = 1, .workspace = rng.below(200)});
    if (i > 0) p.tasks[at(i)].seconds = 0.1 * static_cast<double>(rng.below(20));
  }
  for (int i = 0; i + 1 < n; ++i)
    p.tasks[at(i + 1 + rng.below(std::min<std::int64_t>(12, n - i - 1)))].reads.push_back(i);
  p.outputs = {n - 1};
  return p;
}

// What an exact method gives at once on the problems that it is for is where the search begins.
TEST(Planners, SolveBeginsNoWorseThanWhatIsExactOnTreesAndChains) {
  Rng rng(29);
  int above = 0;
  for (int round = 0; round < 24; ++round) {
    const bool tree = round % 2 == 0;
    const Problem p =
        tree ? tree_problem(rng, 40 + static_cast<int>(rng.below(120))) : chain_problem(rng, 24);
    const char* name = tree ? "tree_dp" : "chain_dp";
    const Bytes least =
        tree ? run_planner(*find_planner(name), p, {.offsets = false}).live_peak : budget_at(p, 0.4);
    const Options o{.budget = least, .time_limit = 1e9, .effort = 0, .offsets = false, .bounds = false};
    const Plan exact = run_planner(*find_planner(name), p, o), ours = solve(p, o);
    if (!has_plan(exact)) continue;
    ASSERT_TRUE(has_plan(ours)) << name << ' ' << round;
    EXPECT_LE(ours.seconds, exact.seconds * (1 + 1e-9)) << name << ' ' << round;
    above += exact.seconds > floor_seconds(p);
  }
  EXPECT_GT(above, 8);  // chains for which something is made again
}

std::string refusal(const char* name, const Problem& p) {
  try {
    run_planner(*find_planner(name), p, {});
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::unsupported);
    return e.what();
  }
  return "";
}

TEST(Planners, SayWhatTheyDoNotApplyTo) {
  Problem p;
  p.buffers = {{"x", 1, true}, {"a", 1}, {"b", 1}, {"sum", 1}, {"g", 1}};
  p.tasks = {{.name = "a", .reads = {0}, .writes = {1}},
             {.name = "b", .reads = {1}, .writes = {2}},
             {.name = "add", .reads = {1, 2}, .writes = {3}},
             {.name = "g", .reads = {3, 1}, .writes = {4}}};
  p.outputs = {4};
  for (int i = 0; i < 9; ++i)
    p.tasks.push_back({.name = "more", .reads = {4, 1}, .writes = {4 + i + 1}}),
        p.buffers.push_back({"m", 1});
  ASSERT_EQ(verify(p), "");
  EXPECT_EQ(refusal("revolve", p), "[revolve] applies to chains; task 'add' reads 2 made buffers");
  EXPECT_EQ(refusal("chain_dp", p), "[chain_dp] applies to chains; task 'add' reads 2 made buffers");
  EXPECT_EQ(refusal("tree_dp", p), "[tree_dp] applies to trees; buffer 'a' is read by 'b' and 'add'");
  if (!with_highs()) {
    EXPECT_EQ(refusal("checkmate_milp", p), "[checkmate_milp] built without HiGHS");
  }
}

TEST(Planners, StopWhenToldTo) {
  Rng rng(5);
  const Problem p = chain_problem(rng, 60);
  for (const char* name : {"annealing", "evolutionary", "checkmate_milp"}) {
    if (std::string_view(name) == "checkmate_milp" && !with_highs()) continue;
    int asked = 0;
    Options options{.budget = budget_at(p, 0.6), .time_limit = 60, .offsets = false};
    options.progress = [&](const Progress&) {
      ++asked;
      return false;
    };
    run_planner(*find_planner(name), p, options);
    EXPECT_EQ(asked, 1) << name;
  }
}

TEST(Planners, NoBudgetIsNoLimit) {
  Rng rng(2);
  const Problem p = chain_problem(rng, 8);
  for (const Planner& planner : planners()) {
    if (planner.name == "solve" || planner.name == "tree_dp" ||
        (planner.name.find("checkmate") == 0 && !with_highs()))
      continue;
    const Plan plan = run_planner(planner, p, {.time_limit = 5, .effort = 20});
    EXPECT_TRUE(plan.status == Plan::Status::optimal || plan.status == Plan::Status::feasible)
        << planner.name;
  }
}

// HiGHS looks at no clock while it reads: a formulation of a million rows, with a quarter of a second for all of it.
TEST(Planners, CheckmateKeepsItsTimeLimitOnAFormulationThatIsTooLarge) {
  if (!with_highs()) return expect_no_highs("checkmate_milp");
  Rng rng(7);
  const Problem p = chain_problem(rng, 250);
  for (const char* name : {"checkmate_milp", "checkmate_lp"}) {
    const double before = cpu_seconds();
    const Plan plan = run_planner(*find_planner(name), p,
                                  {.budget = budget_at(p, 0.6), .time_limit = 0.25, .offsets = false});
    EXPECT_EQ(plan.status, Plan::Status::timed_out) << name;
    EXPECT_NE(plan.reason.find("the formulation"), std::string::npos) << name << ": " << plan.reason;
    EXPECT_LT(cpu_seconds() - before, 0.5) << name;
  }
}

}  // namespace
}  // namespace tidemark::plan
