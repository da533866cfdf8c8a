// The bound over gaps: what it proves where that is known, and how good its prices are. That it is never above an optimum: bound_exhaustive_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/gap_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tidemark/base/random.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/gap_prices.h"
#include "tidemark/plan/proof.h"

namespace tidemark::plan {
namespace {

// Twice four values, which cost 1 to 4, are made one by one; after some steps each is read once more, the dearest first. With a mask of 10 bytes
// beside them, from the beginning to the end: it cannot be made again.
struct TwiceFour {
  explicit TwiceFour(bool masked = false) {
    p.buffers.push_back({.name = "in", .resident = true});
    const BufferId mask = masked ? add(10, {0}, 1) : 0;
    if (masked) p.tasks.back().once = true;
    BufferId x = masked ? add(1, {mask}, 1) : 0;
    for (int group = 0; group < 2; ++group) {
      std::vector<BufferId> four;
      for (int cost = 1; cost <= 4; ++cost) {
        four.push_back(add(100, {0}, cost));
        x = add(1, {x, four.back()}, 1);
      }
      for (int k = 0; k < 12; ++k) {
        x = add(1, {x}, 1);
        live.back() = 2;
      }
      for (; !four.empty(); four.pop_back()) x = add(1, {x, four.back()}, 1);
    }
    if (masked) x = add(1, {x, mask}, 1);
    p.outputs = {x};
  }
  BufferId add(Bytes bytes, std::vector<BufferId> reads, double seconds) {
    p.buffers.push_back({.name = "b", .bytes = bytes});
    const auto made = static_cast<BufferId>(p.buffers.size() - 1);
    p.tasks.push_back({.name = "t", .reads = std::move(reads), .writes = {made}, .seconds = seconds});
    live.push_back(1);
    return made;
  }
  // Beyond the floor, and proven.
  double extra(Bytes budget, int moments) const {
    const Values values(p);
    std::vector<TaskId> all(live.size());
    std::iota(all.begin(), all.end(), 0);
    const StageBound b = gap_bound(values, all, live, {.budget = budget, .moments = moments});
    if (b.seconds == 0) return 0;  // nothing is proven
    Plan claim;
    claim.budget = budget;
    claim.seconds_bound = b.seconds;
    claim.proof.json = proof_json(std::span(&b.certificate, 1), nullptr);
    EXPECT_EQ(verify_proof(p, claim), "");
    return b.seconds - floor_seconds(p);
  }
  Problem p;
  std::vector<Bytes> live;  // by task: more at the steps between
};

TEST(GapBound, WhatHasNoRoomIsChargedOverEveryGap) {
  const TwiceFour steps;
  ASSERT_EQ(verify(steps.p), "");
  // Of 250 bytes a step takes 2: there is room for 2.48 of four values, the two cheapest are given up, one of them in part.
  EXPECT_NEAR(steps.extra(250, 1), 1 + 2 * 0.52, 1e-6) << "one moment sees one group";
  EXPECT_NEAR(steps.extra(250, 8), 2 * (1 + 2 * 0.52), 1e-6);
  // None has room between; and each is as sure to be missing as it is large.
  EXPECT_NEAR(steps.extra(101, 8), 2 * (1 + 2 + 3 + 4), 1e-6);
  EXPECT_NEAR(steps.extra(403, 8), 0, 1e-9) << "all have room";
}

TEST(GapBound, WhatCannotBeMadeAgainIsStored) {
  const TwiceFour steps(true);
  ASSERT_EQ(verify(steps.p), "");
  EXPECT_NEAR(steps.extra(260, 1), 1 + 2 * 0.52, 1e-6);
  EXPECT_NEAR(steps.extra(260, 8), 2 * (1 + 2 * 0.52), 1e-6);
}

// In units of the floor that is more than a row of a proof may hold.
TEST(GapBound, WhatHasNoRoomMayHaveAMakerOfAnyCost) {
  TwiceFour steps(true);
  for (const double seconds : {1e3, 1e6, 1e12}) {
    Problem& p = steps.p;
    if (p.tasks.back().name != "dear")
      p.tasks.push_back({.name = "dear", .reads = {2}, .writes = {1}, .optional = true});  // an inverse
    p.tasks.back().seconds = seconds;
    ASSERT_EQ(verify(p), "");
    EXPECT_GT(steps.extra(11, 8), 900) << "9 bytes are left for the mask of 10";
  }
}

// No room for `kept` at the first and the third step, which need much memory, and the second one reads it: it is made again twice.
TEST(GapBound, AMomentAtWhichTheValueIsThereEndsTheGap) {
  Problem p;
  const auto add = [&](Bytes bytes, std::vector<BufferId> reads, double seconds, Bytes workspace) {
    p.buffers.push_back({.name = "b", .bytes = bytes});
    const auto made = static_cast<BufferId>(p.buffers.size() - 1);
    p.tasks.push_back({.name = "t",
                       .reads = std::move(reads),
                       .writes = {made},
                       .seconds = seconds,
                       .workspace = workspace});
    return made;
  };
  const BufferId kept = add(100, {}, 10, 0);
  BufferId x = add(1, {kept}, 1, 0);
  x = add(1, {x}, 1, 150);
  x = add(1, {x, kept}, 1, 0);
  x = add(1, {x}, 1, 150);
  p.outputs = {add(1, {x, kept}, 1, 0)};
  ASSERT_EQ(verify(p), "");
  const Values values(p);
  const std::vector<Bytes> live(p.tasks.size(), 1);
  for (const std::vector<TaskId>& moments : {std::vector<TaskId>{2, 4}, {2, 3, 4}, {2, 3, 4, 5}})
    EXPECT_NEAR(gap_bound(values, moments, live, {.budget = 200, .moments = 8}).seconds, 15 + 2 * 10, 1e-9);
}

TEST(GapBound, PricesAtTwoMomentsAreTheBest) {
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<GapPrices::Gap> gaps;
    std::vector<double> corners_of[3];  // where p1, p2 or their sum is at a corner
    for (auto& corners : corners_of) corners = {0};
    for (std::int64_t n = 1 + rng.below(12); n > 0; --n) {
      const auto which = rng.below(3);
      const auto seconds = static_cast<double>(1 + rng.below(50)),
                 bytes = static_cast<double>(1 + rng.below(20));
      gaps.push_back({which == 1 ? 2 : 1, which == 0 ? 1 : 2, seconds, bytes});
      corners_of[which].push_back(seconds / bytes);
    }
    const std::vector<double> room{static_cast<double>(rng.below(60)),
                                   static_cast<double>(1 + rng.below(60))};
    const GapPrices prices(gaps, room);
    double best = 0;
    const auto look = [&](double p1, double p2) {
      if (p1 >= 0 && p2 >= 0) best = std::max(best, prices.value({p1, p2}));
    };
    for (const double a : corners_of[0]) {
      for (const double b : corners_of[1]) look(a, b);
      for (const double both : corners_of[2]) look(a, both - a);
    }
    for (const double b : corners_of[1]) {
      for (const double both : corners_of[2]) look(both - b, b);
    }
    EXPECT_GE(prices.value(prices.best()), best * (1 - 2e-4) - 1e-9) << round;
    EXPECT_LE(prices.value(prices.best()), best * (1 + 1e-9) + 1e-9) << round;
  }
}

// The rooms are what is stored at prices chosen beforehand: there nothing goes up any more, so that no prices prove more.
TEST(GapBound, PricesForManyGapsAreNearlyTheBest) {
  constexpr std::int64_t kMoments = 8;
  Rng rng(7);
  for (int round = 0; round < 30; ++round) {
    std::vector<double> best, room(kMoments, 0.0);
    for (int i = 0; i < kMoments; ++i)
      best.push_back(rng.below(3) == 0 ? 0 : std::pow(10.0, -4 * rng.uniform()));
    std::vector<GapPrices::Gap> gaps;
    for (int g = 0; g < 400; ++g) {
      const auto from = static_cast<std::int32_t>(1 + rng.below(kMoments)),
                 last = static_cast<std::int32_t>(from + rng.below(kMoments + 1 - from));
      // Ratios of all sizes.
      const double bytes = std::pow(10.0, 6 * rng.uniform()), ratio = std::pow(10.0, -4 * rng.uniform());
      gaps.push_back({from, last, ratio * bytes, bytes});
      if (ratio <= std::accumulate(best.begin() + from - 1, best.begin() + last, 0.0)) continue;
      for (std::int32_t i = from; i <= last; ++i) room[static_cast<std::size_t>(i - 1)] += bytes;
    }
    const GapPrices prices(gaps, room);
    EXPECT_GE(prices.value(prices.best()), 0.99 * prices.value(best)) << round;
    EXPECT_LE(prices.value(prices.best()), (1 + 1e-9) * prices.value(best)) << round;
  }
}

// Values that nobody reads for long, in layers of a few: cuts of such graphs take long.
Problem layered(int tasks) {
  Rng rng(1);
  Problem p;
  for (int t = 0; t < tasks; ++t) {
    std::vector<BufferId> reads;
    for (int back = 1; back <= 8 && back <= t; ++back) {
      if (back == 1 || rng.below(3) == 0) reads.push_back(t - back);
    }
    if (t > 20 && rng.below(4) == 0) reads.push_back(static_cast<BufferId>(rng.below(t - 10)));
    p.buffers.push_back({.name = "b", .bytes = 1 + rng.below(1000)});
    p.tasks.push_back({.name = "t",
                       .reads = reads,
                       .writes = {t},
                       .seconds = 1e-3 * static_cast<double>(1 + rng.below(100))});
  }
  p.outputs = {tasks - 1};
  return p;
}

TEST(GapBound, IsThereWhereThereIsNoTimeForACut) {
  const Problem p = layered(20'000);
  ASSERT_EQ(verify(p), "");
  const Bytes budget = budget_at(p, 0.5);
  const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e-3, .effort = 0});
  EXPECT_GT(r.seconds, 1.002 * r.floor_seconds);
  Plan claim;
  claim.budget = budget;
  claim.seconds_bound = r.seconds;
  claim.proof = r.proof;
  EXPECT_EQ(verify_proof(p, claim), "");
}

}  // namespace
}  // namespace tidemark::plan
