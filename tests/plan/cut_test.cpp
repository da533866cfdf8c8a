// A flow that is cut off proves what it carries: never more than the whole one, and by the same certificate.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/cut.h"

#include <gtest/gtest.h>

#include "mirror.h"
#include "random_problem.h"
#include "tidemark/plan/branch.h"
#include "tidemark/plan/proof.h"

namespace tidemark::plan {
namespace {

TEST(Cut, AFlowThatEndsEarlyIsAProofOfLess) {
  int less = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomProblem shape;
    shape.tasks = 40;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    const Values values(p);
    const Bytes budget = budget_at(p, 0.6);
    const BoundResult whole = bound(values, {.budget = budget, .branch = false, .stages = false});
    if (whole.infeasible || whole.moment < 0) continue;
    const Evaluation facts(values, std::vector{whole.moment}, unit_exponent_for(values.floor_seconds),
                           budget);
    for (const std::int64_t arcs : {1, 40, 160, 1 << 20}) {
      CutModel model(values, whole.moment);
      model.limit_work(arcs);
      const Cut cut = model.cut(whole.price, budget);
      EXPECT_LE(cut.seconds, whole.seconds * (1 + 1e-9)) << seed;
      EXPECT_GE(facts.seconds(model.leaf(whole.price)), cut.seconds * (1 - 1e-9)) << seed;
      less += model.complete() ? 0 : 1;
    }
  }
  EXPECT_GT(less, 20);
}

// At `step` 14 bytes are taken: no part of `kept` has room in the 2 of 16 that are left, however little a byte costs; and of 8 beside `other` neither.
TEST(Cut, WhatHasNoRoomIsNotStoredInPart) {
  Problem p;
  p.buffers = {{.name = "in", .resident = true}, {.name = "kept", .bytes = 8}, {.name = "other", .bytes = 3},
               {.name = "small", .bytes = 1},    {.name = "x", .bytes = 10},   {.name = "y", .bytes = 4},
               {.name = "out", .bytes = 1}};
  p.tasks = {{.name = "make", .reads = {0}, .writes = {1}, .seconds = 10},
             {.name = "other", .reads = {1}, .writes = {2}, .seconds = 4},
             {.name = "shrink", .reads = {1, 2}, .writes = {3}, .seconds = 1},
             {.name = "grow", .reads = {3}, .writes = {4}, .seconds = 1},
             {.name = "step", .reads = {4}, .writes = {5}, .seconds = 1},
             {.name = "last", .reads = {1, 2, 5}, .writes = {6}, .seconds = 1}};
  p.outputs = {6};
  ASSERT_EQ(verify(p), "");
  const auto extra = [&](Bytes budget, bool branch) {
    const BoundResult r = bound(p, {.budget = budget, .branch = branch, .stages = false, .orders = false});
    Plan claim;
    claim.budget = budget;
    claim.seconds_bound = r.seconds;
    claim.proof = r.proof;
    EXPECT_EQ(verify_proof(p, claim), "");
    return r.seconds - r.floor_seconds;
  };
  EXPECT_NEAR(extra(16, false), 14, 1e-9) << "neither has room";
  EXPECT_NEAR(extra(17, false), 10, 1e-9) << "the smaller one has";
  EXPECT_NEAR(extra(22, false), 3.75, 1e-9) << "either has, and both in part";
  EXPECT_NEAR(extra(22, true), 4, 1e-9) << "beside one the other has none";
  EXPECT_NEAR(extra(25, false), 0, 1e-9) << "both have";
}

// In units of the floor such a task takes more than a number of a proof may hold: it counts as one that takes very long.
TEST(Cut, AMakerMayTakeAnyNumberOfFloors) {
  Problem p = mirror(8);
  const Bytes budget = budget_at(p, 0.5);
  for (const double seconds : {1e3, 1e6, 1e12}) {
    Problem dear = p;
    dear.tasks.push_back({.name = "dear", .reads = {0}, .writes = {3}, .seconds = seconds, .optional = true});
    ASSERT_EQ(verify(dear), "");
    const BoundResult r = bound(dear, {.budget = budget});
    EXPECT_GT(r.seconds, r.floor_seconds + 1) << seconds;
    EXPECT_EQ(verify_proof(dear, claim(r, budget)), "") << seconds;
  }
}

// Where there is no time for another split, what was found before it is proven all the same.
TEST(Branch, ProvesWhatItFoundThoughTheTimeIsUp) {
  int interrupted = 0, better = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomProblem shape;
    shape.tasks = 40;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    const Values values(p);
    const Bytes budget = budget_at(p, 0.6);
    const BoundResult whole = bound(values, {.budget = budget, .branch = false, .stages = false});
    if (whole.infeasible || whole.moment < 0) continue;
    const Evaluation facts(values, std::vector{whole.moment}, unit_exponent_for(values.floor_seconds),
                           budget);
    for (const int splits : {0, 2}) {
      CutModel model(values, whole.moment);
      int asked = 0;
      const Certificate found = branch(values, model, {.budget = budget, .price = whole.price, .go_on = [&] {
                                                         if (asked++ == splits) model.limit_work(0);
                                                         return true;
                                                       }});
      if (asked <= splits) continue;  // tight before
      ++interrupted;
      EXPECT_LE(std::ssize(found.leaves), splits + 1) << seed;
      double least = std::numeric_limits<double>::infinity();
      for (const auto& leaf : found.leaves) least = std::min(least, facts.seconds(leaf));
      EXPECT_GE(least, whole.seconds * (1 - 1e-9)) << seed;
      better += least > whole.seconds * (1 + 1e-6) ? 1 : 0;
    }
  }
  EXPECT_GT(interrupted, 20);
  EXPECT_GT(better, 0);
}

// Two chains that meet in the loss alone: at any other moment the activations of one of them need not be there.
TEST(Bound, FindsTheFewMomentsAtWhichTowersMeet) {
  constexpr int kLength = 150;
  Problem p;
  p.buffers.push_back({.name = "x", .bytes = 10, .resident = true});
  const auto make = [&](std::vector<BufferId> reads, Bytes bytes, double seconds) {
    p.buffers.push_back({.bytes = bytes});
    p.tasks.push_back({.reads = std::move(reads),
                       .writes = {static_cast<BufferId>(p.buffers.size()) - 1},
                       .seconds = seconds});
    return p.tasks.back().writes[0];
  };
  std::vector<BufferId> made[2];
  for (auto& tower : made)
    for (int i = 0; i < kLength; ++i) tower.push_back(make({i == 0 ? 0 : tower.back()}, 100, 1));
  BufferId gradient[2];
  const BufferId loss = make({made[0].back(), made[1].back()}, 1, 1);
  for (int which : {0, 1}) gradient[which] = make({loss, made[1 - which].back()}, 100, 1);
  for (int which : {0, 1}) {
    for (int i = kLength - 1; i >= 0; --i)
      gradient[which] = make({gradient[which], made[which][static_cast<std::size_t>(i)]}, 100, 2);
    p.outputs.push_back(gradient[which]);
  }
  ASSERT_EQ(verify(p), "");
  const Bytes budget = budget_at(p, 0.6);
  const BoundResult r =
      bound(p, {.budget = budget, .time_limit = 60, .effort = 60, .branch = false, .stages = false});
  // Some 40 % of 300 activations are made again.
  EXPECT_GT(r.seconds, r.floor_seconds + 100);
  EXPECT_EQ(verify_proof(p, claim(r, budget)), "");
}

}  // namespace
}  // namespace tidemark::plan
