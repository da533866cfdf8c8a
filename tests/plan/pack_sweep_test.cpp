// Sweeps against the check of packings, and on lives that follow each other as those of a training step do.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/plan/full_rectangle.h"

namespace tidemark::plan {
namespace {

using packing::Items;
using packing::Sweeps;
using packing::Units;

// Sweeps until all have a place, at most so many; how many it took, or -1.
int sweeps_until_packed(Sweeps& sweeps, int most) {
  const Limit limit(1e9, -1);
  for (int k = 1; k <= most; ++k)
    if (sweeps.next(limit)) return k;
  return -1;
}

std::string broken(const std::vector<Interval>& intervals, const Items& items, const Sweeps& sweeps) {
  const Units height = packing::height_of(items, sweeps.offsets());
  if (height > sweeps.height()) return "too high";
  return check_packing(intervals, packing_of(items, {sweeps.offsets(), height}, 1));
}

TEST(PackSweep, WhatItFindsPassesTheCheckAndIsTheSameTwice) {
  Rng rng(5);
  int found = 0;
  for (int k = 0; k < 40; ++k) {
    const std::vector<Interval> intervals = full_rectangle(rng, 20 + 25 * k);
    const Items items = packing::make_items(intervals, 1);
    Sweeps sweeps(items, items.lower_bound * 11 / 10), again(items, items.lower_bound * 11 / 10);
    const int took = sweeps_until_packed(sweeps, 100);
    EXPECT_EQ(sweeps_until_packed(again, 100), took);
    EXPECT_EQ(again.offsets(), sweeps.offsets());
    EXPECT_EQ(sweeps.out().empty(), took > 0);
    if (took < 0) continue;
    ++found;
    EXPECT_EQ(broken(intervals, items, sweeps), "");
  }
  EXPECT_GE(found, 20);
}

// A sweep that goes on from a state of the last one comes to what a whole one in its order comes to: so says the check after many of them, in sets of several states.
TEST(PackSweep, GoesOnFromWhereTheOrderIsAnother) {
  Rng rng(7);
  std::vector<Interval> intervals = full_rectangle(rng, 1500);
  std::erase_if(intervals, [&](const Interval&) { return rng.uniform() >= 0.8; });
  const Items items = packing::make_items(intervals, 1);
  Sweeps sweeps(items, items.lower_bound);
  const Limit limit(1e9, -1);
  for (int k = 0; k < 60; ++k) {
    sweeps.next(limit);
    std::vector<Interval> placed;
    Packing packing;
    std::size_t out = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      const Units offset = sweeps.offsets()[static_cast<std::size_t>(items.item_of[i])];
      out += offset < 0 ? 1 : 0;
      if (offset < 0) continue;
      placed.push_back(intervals[i]);
      packing.offsets.push_back(offset);
      packing.bytes = std::max(packing.bytes, offset + intervals[i].bytes);
    }
    EXPECT_EQ(out, sweeps.out().size());
    EXPECT_LE(packing.bytes, sweeps.height());
    packing.lower_bound = packing::make_items(placed, 1).lower_bound;
    EXPECT_EQ(check_packing(placed, packing), "") << k;
  }
}

// The end of a step whose last products were put off: pairs of operands give way, one after the other, to results that are larger than each of them, in an arena that is all but full then.
TEST(PackSweep, ResultsTakeThePlacesOfPairsOneByOne) {
  std::vector<Interval> intervals;
  constexpr int kPairs = 40;
  constexpr Bytes kLarge = 2500, kSmall = 625, kResult = 3906;
  for (int i = 0; i < kPairs; ++i) {
    intervals.push_back({i, 100 + i + 1, kLarge});
    intervals.push_back({i + 20, 100 + i + 1, kSmall});
    intervals.push_back({100 + i, 100 + kPairs, kResult});
  }
  intervals.push_back({90, 100, 12'000});  // must be there in one piece before
  intervals.push_back({92, 100, 12'000});
  const Items items = packing::make_items(intervals, 1);
  Sweeps sweeps(items, items.lower_bound + items.lower_bound / 200);
  EXPECT_GT(sweeps_until_packed(sweeps, 30), 0);
  EXPECT_EQ(broken(intervals, items, sweeps), "");
}

TEST(PackSweep, EndsAtTheLimitAndBelowTheLargest) {
  Rng rng(6);
  const std::vector<Interval> intervals = full_rectangle(rng, 300);
  const Items items = packing::make_items(intervals, 1);
  Sweeps late(items, items.lower_bound), low(items, 1);
  EXPECT_FALSE(late.next(Limit(0, -1)));
  EXPECT_EQ(sweeps_until_packed(low, 5), -1);
  EXPECT_FALSE(low.out().empty());
  // What was cut short is no answer, and the next one is whole.
  EXPECT_FALSE(late.next(Limit(0, -1)));
  late.next(Limit(1e9, -1));
  EXPECT_EQ(static_cast<std::size_t>(std::count(late.offsets().begin(), late.offsets().end(), -1)),
            late.out().size());
}

// Where nothing but the capacity is of use, pack answers by them; sets of the zoo's kind fill it to the last byte.
TEST(PackSweep, PackAimsByThem) {
  std::vector<Interval> intervals;
  Rng rng(3);
  for (int i = 0; i < 1500; ++i) {
    const Bytes bytes = 64 * (1 + rng.below(4));
    intervals.push_back({i, 3001 - i, bytes});                 // kept for the backward pass
    intervals.push_back({i, i + 2, 64 * (1 + rng.below(2))});  // short-lived
  }
  const Bytes most = pack(intervals, {.time_limit = 0}).lower_bound;
  const Packing packing =
      pack(intervals, {.align = 64, .capacity = most, .aim = true, .time_limit = 1e9, .effort = 100'000});
  EXPECT_EQ(packing.bytes, most);
  EXPECT_EQ(check_packing(intervals, packing, 64), "");
}

}  // namespace
}  // namespace tidemark::plan
