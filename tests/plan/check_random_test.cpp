// The checker on many problems of every kind: what finish makes is valid, what is then broken is found.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/plan/random_problem.h"
#include "tidemark/base/random.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/planners.h"

namespace tidemark::plan {
namespace {

Plan keeps_all(const Problem& p, bool offsets) {
  return run_planner(*find_planner("store_all"), p, {.time_limit = 0.01, .offsets = offsets});
}

// Figures as a reader finds them who was told none.
Plan untold(Plan plan) {
  plan.budget = plan.peak = plan.live_peak = -1;
  plan.seconds = -1;
  plan.status = Plan::Status::feasible;
  plan.seconds_bound.reset();
  plan.problem_hash.clear();
  return plan;
}

TEST(CheckRandom, StoreAllIsValidAndWithoutARequiredRunItIsNot) {
  int required = 0, drops = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Problem p = random_problem_of_any_kind(seed, 14);
    const Plan plan = keeps_all(p, false);
    ASSERT_EQ(check(p, plan), "");
    // A tier may be too small for what must end there.
    if (plan.status == Plan::Status::timed_out) continue;
    const Problem q = read_problem(write_problem(p));
    ASSERT_EQ(hash(q), hash(p));
    ASSERT_EQ(check(q, read_plan(q, write_plan(p, plan))), "");
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      Plan without = untold(plan);
      const Step removed = without.steps[i];
      without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (removed.kind == Step::Kind::run) {
        // Every task of the list runs once here.
        EXPECT_NE(check(p, without), "");
        ++required;
      } else if (removed.kind == Step::Kind::wait) {
        EXPECT_NE(check(p, without), "");
      } else if (removed.kind == Step::Kind::drop && p.tiers.empty()) {
        // It stays live: never less memory, and still a plan.
        EXPECT_EQ(check(p, without), "");
        EXPECT_GE(replay(p, without).live_peak, plan.live_peak);
        ++drops;
      }
    }
  }
  EXPECT_GT(required, 1000);
  EXPECT_GT(drops, 300);
}

TEST(CheckRandom, OffsetsThatMoveOntoAnotherAreFound) {
  int moved = 0, found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Problem p = random_problem_of_any_kind(seed, 14);
    const Plan plan = keeps_all(p, true);
    ASSERT_EQ(check(p, plan), "");
    Rng rng(seed);
    if (plan.placements.size() < 2) continue;
    Plan shifted = untold(plan);
    Placement& victim = shifted.placements[static_cast<std::size_t>(
        rng.below(static_cast<std::int64_t>(plan.placements.size())))];
    const Placement& onto = plan.placements[static_cast<std::size_t>(
        rng.below(static_cast<std::int64_t>(plan.placements.size())))];
    if (victim.offset == onto.offset) continue;
    victim.offset = onto.offset;
    ++moved;
    if (!check(p, shifted).empty()) ++found;
  }
  // Some of those moved were never live together, and the arena's end may stay where it was.
  EXPECT_GT(moved, 60);
  EXPECT_GT(found, moved / 3);
}

// Any sequence of steps gets a verdict, and one that has one keeps it when it is written and read.
TEST(CheckRandom, AnyStepsGetAVerdict) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem p = random_problem_of_any_kind(seed, 10);
    Plan plan = untold(keeps_all(p, false));
    Rng rng(seed);
    for (int change = 0; change < 4; ++change) {
      Step step{static_cast<Step::Kind>(rng.below(6)), 0, -1, {}};
      const std::size_t count = step.kind == Step::Kind::run ? p.tasks.size() : p.buffers.size();
      step.id = static_cast<std::int32_t>(rng.below(static_cast<std::int64_t>(count)));
      const bool tiered = step.kind == Step::Kind::evict || step.kind == Step::Kind::fetch ||
                          step.kind == Step::Kind::discard;
      if (tiered && p.tiers.empty()) continue;
      if (tiered) step.tier = static_cast<TierId>(rng.below(static_cast<std::int64_t>(p.tiers.size())));
      if (step.kind == Step::Kind::run) step.in_place = p.tasks[static_cast<std::size_t>(step.id)].in_place;
      const auto where = rng.below(static_cast<std::int64_t>(plan.steps.size()) + 1);
      plan.steps.insert(plan.steps.begin() + static_cast<std::ptrdiff_t>(where), step);
    }
    const std::string verdict = check(p, plan);
    EXPECT_EQ(check(p, read_plan(p, write_plan(p, plan))), verdict) << seed;
  }
}

TEST(SlowCheck, MillionTasks_Slow) {
  constexpr int kTasks = 1'000'000;
  Problem p;
  p.buffers = {{"x", 64, true}};
  for (int i = 0; i < kTasks; ++i) {
    p.buffers.push_back({"b", 64 + i % 7});
    p.tasks.push_back({.name = "t", .reads = {i, std::max(0, i - 50)}, .writes = {i + 1}, .seconds = 1});
  }
  p.outputs = {kTasks};
  const Problem q = read_problem(write_problem(p));
  const Plan plan = keeps_all(q, false);
  EXPECT_EQ(check(q, read_plan(q, write_plan(q, plan))), "");
}

}  // namespace
}  // namespace tidemark::plan
