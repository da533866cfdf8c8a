// solve on very many random problems with every feature, at budgets from hopeless to roomy: every answer checks, every
// bound is proven, and no plan is faster or smaller than a bound says.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "parts.h"
#include "random_problem.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

std::pair<Problem, Plan> solved(std::uint64_t seed) {
  const Problem p = random_problem_of_any_kind(seed, seed % 50 == 0 ? 60 : 12);
  Rng rng(seed);
  const Bytes resident = resident_bytes(p);
  const auto beyond = static_cast<double>(store_all_live_peak(p) - resident);
  Options o;
  o.budget = resident + static_cast<Bytes>((0.3 + 0.8 * rng.uniform()) * beyond);
  o.effort = 5;
  o.time_limit = 1e9;
  o.offsets = seed % 2 == 0;
  o.seed = seed;
  return {p, solve(p, o)};
}

void solve_and_check(std::uint64_t first, std::uint64_t last) {
  int planned = 0, impossible = 0, above_floor = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(seed);
    const auto [p, plan] = solved(seed);
    ASSERT_EQ(check(p, plan), "");
    ASSERT_EQ(verify_proof(p, plan), "");
    if (plan.status == Plan::Status::infeasible && plan.peak_bound) ++impossible;
    if (plan.steps.empty()) continue;
    ++planned;
    ASSERT_LE(plan.peak, plan.budget);
    ASSERT_TRUE(plan.seconds_bound.has_value());
    ASSERT_LE(*plan.seconds_bound, plan.seconds * (1 + 1e-9));
    if (*plan.seconds_bound > floor_seconds(p) * (1 + 1e-9)) ++above_floor;
  }
  const auto count = static_cast<int>(last - first);
  EXPECT_GT(planned, count / 4);
  EXPECT_GT(impossible, count / 100);
  EXPECT_GT(above_floor, count / 500 - 1);
}

TEST(SolveRandom, EveryAnswerChecksAndEveryBoundIsProven) { solve_and_check(1'000'000, 1'000'150); }

// Leaves of a branching that no plan has.
TEST(SolveRandom, LeavesWithoutPlansAreProven) {
  for (const std::uint64_t seed : {85'433u, 90'377u}) {
    const auto [problem, plan] = solved(seed);
    EXPECT_LT(plan.proof.json.find("impossible"), plan.proof.json.find("\"peak\""));
    EXPECT_EQ(verify_proof(problem, plan), "");
  }
}

// Values that have no room beside what is decided to be stored, with tiers from which they may be fetched.
TEST(SolveRandom, WhatHasNoRoomIsMovedOrMadeAgain) {
  for (const std::uint64_t seed : {86'942u, 98'249u}) {
    const auto [problem, plan] = solved(seed);
    EXPECT_FALSE(problem.tiers.empty());
    EXPECT_GT(*plan.seconds_bound, floor_seconds(problem) * (1 + 1e-3));
    EXPECT_EQ(verify_proof(problem, plan), "");
  }
}

const bool registered = register_parts("SlowSolve", "AHundredThousandProblems", 100'000, 64, solve_and_check);

}  // namespace
}  // namespace tidemark::plan
