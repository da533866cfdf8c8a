// solve, smallest_peak and frontier on random problems with every feature, under random options: techniques off, warm starts that a
// person could have written, short times, threads. Every answer checks and uses nothing that is switched off; nothing throws.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "parts.h"
#include "random_problem.h"
#include "tidemark/plan/copies.h"
#include "tidemark/plan/frontier.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

Options random_options(const Problem& p, Rng& rng) {
  Options o;
  const Bytes resident = resident_bytes(p);
  const auto beyond = static_cast<double>(store_all_live_peak(p) - resident);
  if (rng.below(12) != 0) o.budget = resident + static_cast<Bytes>((0.2 + 0.9 * rng.uniform()) * beyond);
  o.offsets = rng.below(2) == 0;
  o.seed = static_cast<std::uint64_t>(rng.below(1000));
  o.threads = rng.below(6) == 0 ? 2 : 1;
  if (rng.below(3) == 0) {
    static constexpr double kShort[] = {0, 1e-5, 1e-4, 1e-3, 5e-3};
    o.time_limit = kShort[rng.below(5)];
  } else {
    o.effort = rng.below(10);
    o.time_limit = 1e9;
  }
  for (bool Options::*technique : {&Options::reorder, &Options::recompute, &Options::makers,
                                   &Options::in_place, &Options::tiers, &Options::blocks, &Options::bounds})
    o.*technique = rng.below(5) != 0;
  if (rng.below(5) == 0) o.target_gap = 0.05;
  return o;
}

void expect_only_what_is_on(const Problem& p, const Plan& plan, const Options& o) {
  std::vector<char> ran(p.tasks.size(), 0), done(p.tasks.size(), 0);
  TaskId last = -1;
  for (const Step& step : plan.steps) {
    if (step.kind == Step::Kind::evict || step.kind == Step::Kind::fetch) {
      const Buffer& b = p.buffers[at(step.id)];
      EXPECT_TRUE(o.tiers || b.start >= 0 || b.end >= 0) << "tiers";
    }
    if (step.kind != Step::Kind::run) continue;
    const Task& task = p.tasks[at(step.id)];
    EXPECT_TRUE(o.in_place || step.in_place.empty()) << "in_place";
    EXPECT_TRUE(o.makers || !task.optional) << "makers";
    EXPECT_TRUE(o.recompute || !ran[at(step.id)]) << "recompute: " << step.id;
    ran[at(step.id)] = 1;
    const TaskId group = task.optional ? task.instead_of : step.id;
    if (group < 0 || done[at(group)]) continue;
    done[at(group)] = 1;
    EXPECT_TRUE(o.reorder || group > last) << "reorder: " << group << " behind " << last;
    last = group;
  }
}

void expect_answer(const Problem& p, const Plan& plan, Bytes budget, const Options& o) {
  EXPECT_EQ(check(p, plan), "");
  EXPECT_EQ(verify_proof(p, plan), "");
  if (plan.steps.empty()) return;
  EXPECT_TRUE(budget < 0 || plan.peak <= budget) << plan.peak << " of " << budget;
  expect_only_what_is_on(p, plan, o);
}

// A plan of the same problem that no planner of ours gives: copies that nothing asks for, waits moved, runs that are not needed.
Plan with_whims(const Problem& p, const Plan& plan, Rng& rng) {
  const auto any_of = [&](std::size_t count) {
    return static_cast<std::int32_t>(rng.below(static_cast<std::int64_t>(count)));
  };
  Plan out;
  out.steps = plan.steps;
  for (int k = 0; k < 40 && !p.tiers.empty(); ++k) {
    Plan trial;
    trial.steps = out.steps;
    const BufferId b = any_of(p.buffers.size());
    const TierId tier = any_of(p.tiers.size());
    const std::int64_t first = any_of(trial.steps.size() + 1);
    const std::int64_t second = first + rng.below(4), third = second + rng.below(6),
                       fourth = third + rng.below(4);
    const auto insert = [&](std::int64_t place, Step step) {
      const auto end = static_cast<std::int64_t>(trial.steps.size());
      trial.steps.insert(trial.steps.begin() + std::min(place, end), std::move(step));
    };
    switch (rng.below(5)) {
      case 0:
        insert(fourth, {Step::Kind::wait, b, -1, {}});
        insert(third, {Step::Kind::fetch, b, tier, {}});
        [[fallthrough]];
      case 1:
        insert(second, {Step::Kind::wait, b, -1, {}});
        insert(first, {Step::Kind::evict, b, tier, {}});
        break;
      case 2:
        insert(third, {Step::Kind::drop, b, -1, {}});
        insert(second, {Step::Kind::wait, b, -1, {}});
        insert(first, {Step::Kind::fetch, b, tier, {}});
        break;
      case 3:
        insert(first, {Step::Kind::run, any_of(p.tasks.size()), -1, {}});
        break;
      default:
        if (first < static_cast<std::int64_t>(trial.steps.size())) {
          const Step moved = trial.steps[static_cast<std::size_t>(first)];
          trial.steps.erase(trial.steps.begin() + first);
          if (moved.kind == Step::Kind::wait) insert(third, moved);
        }
    }
    if (replay(p, trial).broken.empty()) out.steps = std::move(trial.steps);
  }
  return out;
}

void solve_under_any_options(std::uint64_t first, std::uint64_t last) {
  int planned = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(seed);
    const Problem p = random_problem_of_any_kind(seed, seed % 16 == 0 ? 24 : 9);
    Rng rng(seed * 7919 + 13);
    std::vector<Plan> warm;
    for (int k = 0; k < 3; ++k) {
      Options o = random_options(p, rng);
      if (!warm.empty() && rng.below(3) != 0) o.warm_start = &warm[k % 2 == 0 ? warm.size() - 1 : 0];
      const std::int64_t verb = rng.below(10);
      if (verb == 0) {
        const SmallestPeak least = smallest_peak(p, o);
        if (least.budget >= 0) expect_answer(p, least.plan, least.budget, o);
        continue;
      }
      if (verb == 1) {
        for (const FrontierPoint& point : frontier(p, {.points = 3, .solve = o}))
          expect_answer(p, point.plan, point.budget, o);
        continue;
      }
      const Plan plan = solve(p, o);
      expect_answer(p, plan, o.budget, o);
      if (plan.steps.empty()) continue;
      ++planned;
      warm.reserve(6);
      warm.push_back(plan);
      warm.push_back(with_whims(p, plan, rng));
    }
  }
  EXPECT_GT(planned, static_cast<int>(last - first) / 2);
}

TEST(SolveOptions, WhateverIsOnOrOffTheAnswerChecksAndKeepsToIt) { solve_under_any_options(0, 40); }

// The search takes a first run out there and leaves the second.
TEST(SolveOptions, AFirstRunThatGoesLeavesTheOrder) { solve_under_any_options(1072, 1073); }

const bool registered = register_parts("SlowSolve", "AnyOptions", 20'000, 32, solve_under_any_options);

// A plan that the search has no way to is kept where it is given, and nothing is said of all plans: `other` reads what an optional
// task alone makes, behind `update`'s place, and `use` reads the new version before `other`'s.
TEST(SolveOptions, AWarmStartIsNeverLost) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "stand-in",
    "buffers": [{"name": "w", "bytes": 4, "resident": true}, {"name": "y", "bytes": 1}, {"name": "z", "bytes": 1}],
    "tasks": [{"name": "update", "reads": [0], "writes": [0], "seconds": 5, "workspace": 8, "once": true},
              {"name": "use", "reads": [0], "writes": [1], "seconds": 1},
              {"name": "make", "reads": [], "writes": [2], "seconds": 1, "optional": true},
              {"name": "other", "reads": [0, 2], "writes": [0], "seconds": 1, "optional": true, "instead_of": 0, "once": true}],
    "outputs": [1]})");
  Plan given;
  given.steps = {{.kind = Step::Kind::run, .id = 2},
                 {.kind = Step::Kind::run, .id = 3},
                 {.kind = Step::Kind::drop, .id = 2},
                 {.kind = Step::Kind::run, .id = 1}};
  for (const bool offsets : {false, true}) {
    Options o{.budget = 5, .time_limit = 1e9, .effort = 20, .offsets = offsets};
    const Plan none = solve(p, o);
    EXPECT_TRUE(none.steps.empty());
    EXPECT_EQ(none.reason.find("every plan was looked at"), std::string::npos) << none.reason;
    o.warm_start = &given;
    for (const Bytes budget : {5, 100}) {
      o.budget = budget;
      const Plan plan = solve(p, o);
      EXPECT_EQ(check(p, plan), "");
      EXPECT_EQ(plan.seconds, 3);
      EXPECT_EQ(plan.peak, 5);
    }
  }
}

// Of pairs that share what they read the one that saves most counts, wherever it stands.
TEST(SolveOptions, InPlacePairsThatShareABufferAreNotTakenAsTheyCome) {
  for (const char* pairs : {"[[0, 1], [0, 2]]", "[[0, 2], [0, 1]]"}) {
    const Problem p =
        read_problem(std::string(R"({"format": "tidemark-problem", "version": 1, "name": "pairs",
    "buffers": [{"name": "a", "bytes": 7}, {"name": "b", "bytes": 1}, {"name": "c", "bytes": 5}],
    "tasks": [{"name": "a", "reads": [], "writes": [0], "seconds": 2},
              {"name": "bc", "reads": [0], "writes": [1, 2], "seconds": 2, "in_place": )") +
                     pairs + R"(}],
    "outputs": []})");
    const Plan plan = solve(p, {.budget = 8, .time_limit = 1e9, .effort = 20, .offsets = false});
    EXPECT_EQ(check(p, plan), "");
    EXPECT_EQ(plan.peak, 8) << plan.reason;
  }
}

// The given order stays, whatever the order of the warm start, and a warm start that keeps it is taken.
TEST(SolveOptions, AWarmStartDoesNotChangeAnOrderThatIsToBeKept) {
  int reordered = 0, taken = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const Problem p = random_problem_of_any_kind(seed + 300, 12);
    Options o{.time_limit = 1e9, .effort = 10, .offsets = false, .bounds = false};
    o.budget = resident_bytes(p) + (store_all_live_peak(p) - resident_bytes(p)) * 8 / 10;
    const Plan any = solve(p, o);
    o.reorder = false;
    const Plan kept = solve(p, o);
    for (const Plan* start : {&any, &kept}) {
      if (start->steps.empty()) continue;
      o.warm_start = start;
      o.effort = 0;
      const Plan plan = solve(p, o);
      expect_only_what_is_on(p, plan, o);
      if (start == &kept) {
        ASSERT_FALSE(plan.steps.empty());
        EXPECT_LE(plan.seconds, kept.seconds * (1 + 1e-9));
        ++taken;
      }
    }
    reordered += !any.steps.empty() && (kept.steps.empty() || any.seconds < kept.seconds * (1 - 1e-9));
  }
  EXPECT_GT(reordered, 3);
  EXPECT_GT(taken, 10);
}

// What a timeline of bytes cannot see: a sequence whose copies are half in place is no plan.
TEST(SolveOptions, TheClockKnowsWhichCopiesMakeAPlan) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "copies",
    "buffers": [{"name": "a", "bytes": 8}, {"name": "b", "bytes": 8}, {"name": "s", "bytes": 8, "start": "t", "end": "t"}],
    "tasks": [{"name": "a", "reads": [], "writes": [0], "seconds": 1}, {"name": "b", "reads": [0], "writes": [1], "seconds": 1},
              {"name": "update", "reads": [2, 1], "writes": [2], "seconds": 1, "once": true}],
    "outputs": [0],
    "tiers": {"t": {"write_bytes_per_second": 8, "read_bytes_per_second": 8, "latency_seconds": 0, "bytes": 100}}})");
  const Model m(p, {});
  const TaskId a_out = m.evict_of(0, 0), a_gone = a_out + 1, a_in = a_out + 2;
  const TaskId s_out = m.evict_of(2, 0), s_gone = s_out + 1, s_in = s_out + 2;
  const auto possible = [&](const std::vector<TaskId>& runs) { return clock_of(m, runs).possible; };
  EXPECT_TRUE(possible({0, a_out, 1, a_gone, s_in, 2, s_out, s_gone, a_in}));
  EXPECT_FALSE(possible({0, a_gone, 1, s_in, 2, s_out, s_gone})) << "waits for no copy";
  EXPECT_FALSE(possible({0, a_out, 1, s_in, 2, s_out, s_gone})) << "never waits for a copy";
  EXPECT_FALSE(possible({0, a_out, a_gone, 1, s_in, 2, s_out, s_gone, a_in})) << "reads what is gone";
  EXPECT_FALSE(possible({0, a_out, 1, a_gone, s_in, 2, s_out, s_gone})) << "an output is gone";
  EXPECT_FALSE(possible({0, 1, a_in, s_in, 2, s_out, s_gone})) << "fetches what was not copied out";
  EXPECT_FALSE(possible({0, 1, s_in, 2})) << "the tier has the old version at the end";
  EXPECT_FALSE(possible({0, 1, s_in, s_out, 2, s_gone})) << "updates what is being copied";
  EXPECT_FALSE(possible({0, a_out, 0, a_gone, a_in, 1, s_in, 2, s_out, s_gone}))
      << "makes what is being copied";
}

}  // namespace
}  // namespace tidemark::plan
