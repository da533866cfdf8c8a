// Bounds and their proofs against the true optimum of tiny problems with every feature.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "exhaustive.h"
#include "random_problem.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/proof.h"

namespace tidemark::plan {
namespace {

// Random problems with each feature on or off by the seed, but without tiers.
Problem tiny(std::uint64_t seed, int most) {
  Rng rng(seed * 77 + 5);
  const auto flip = [&] { return rng.below(2) != 0; };
  RandomProblem shape;
  shape.tasks = static_cast<int>(3 + rng.below(most - 2));
  shape.residents = static_cast<int>(rng.below(3));
  shape.workspace = flip();
  shape.align = flip();
  shape.once = flip();
  shape.in_place = flip();
  shape.versions = flip();
  shape.makers = flip();
  shape.lossy = false;
  shape.tiers = false;
  return random_problem(seed, shape);
}

struct Tally {
  int problems = 0, planned = 0, infeasible = 0, above_floor = 0, tight = 0, too_large = 0, peak_tight = 0;
};

void compare(std::uint64_t first, std::uint64_t last, int most, Tally& tally) {
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const Problem p = tiny(seed, most);
    if (p.buffers.size() > 20 || p.tasks.size() > 24) continue;
    ++tally.problems;
    const Bytes all = store_all_peak(p);
    const std::optional<Bytes> least = least_peak(p, 60'000);
    if (!least) {
      ++tally.too_large;
      continue;
    }
    for (const double f : {-0.1, 0.0, 0.3, 0.6, 0.9}) {
      const Bytes budget = *least + static_cast<Bytes>(f * static_cast<double>(all - *least));
      const Exhaustive best = fastest(p, budget, 60'000);
      if (!best.complete) {
        ++tally.too_large;
        continue;
      }
      const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e9, .effort = 3000});
      Plan plan;
      plan.budget = budget;
      plan.seconds_bound = r.seconds;
      plan.peak_bound = r.peak.bytes;
      plan.proof = r.proof;
      ASSERT_LE(r.peak.bytes, *least) << "seed " << seed;
      tally.peak_tight += r.peak.bytes == *least ? 1 : 0;
      ASSERT_EQ(verify_proof(p, plan), "") << "seed " << seed << " f " << f << "\n" << r.proof.json;
      ASSERT_FALSE(r.infeasible && best.seconds) << "seed " << seed << " f " << f;
      if (!best.seconds) {
        ++tally.infeasible;
        continue;
      }
      ++tally.planned;
      ASSERT_LE(r.seconds, *best.seconds + 1e-9 * (1 + *best.seconds)) << "seed " << seed << " f " << f;
      tally.above_floor += r.seconds > r.floor_seconds + 1e-9 ? 1 : 0;
      tally.tight += r.seconds > r.floor_seconds + 1e-9 && r.seconds > *best.seconds - 1e-6 ? 1 : 0;
      plan.steps = best.steps;
      ASSERT_EQ(replay(p, plan).broken, "") << "seed " << seed << " f " << f;
      ASSERT_LE(replay(p, plan).live_peak, budget) << "seed " << seed << " f " << f;
    }
  }
}

TEST(BoundExhaustive, never_above_the_optimum_and_always_proven) {
  Tally t;
  compare(0, 1500, 7, t);
  RecordProperty("above_floor", t.above_floor);
  std::printf(
      "%d problems: %d planned, %d infeasible, %d bounds above the floor, %d of them tight, %d too large, %d "
      "peaks tight\n",
      t.problems, t.planned, t.infeasible, t.above_floor, t.tight, t.too_large, t.peak_tight);
  EXPECT_GT(t.planned, 1000);
  EXPECT_GT(t.above_floor, 100);
  EXPECT_GT(t.tight, 20);
}

TEST(SlowBoundExhaustive, never_above_the_optimum_and_always_proven_Slow) {
  Tally t;
  compare(10'000, 40'000, 9, t);
  EXPECT_GT(t.above_floor, 1000);
}

}  // namespace
}  // namespace tidemark::plan
