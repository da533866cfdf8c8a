// Dives against the check of packings and against the exact search, which they are the first branches of.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_dive.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/plan/full_rectangle.h"
#include "tidemark/plan/pack_orders.h"

namespace tidemark::plan {
namespace {

std::vector<Interval> any_intervals(Rng& rng, int count, std::int64_t moments, Bytes most) {
  std::vector<Interval> intervals;
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = rng.below(moments - 1);
    intervals.push_back({begin, begin + 1 + rng.below(moments - begin), 1 + rng.below(most), -1});
  }
  return intervals;
}

// By several orders, those behind the first two after what went wrong before.
bool dive(const packing::Items& items, packing::Units height, int dives, std::int64_t nodes,
          std::vector<packing::Units>& offsets) {
  packing::Dives search(items);
  const packing::Orders orders(items);
  for (int k = 0; k < dives; ++k) {
    packing::Budget budget{.nodes = nodes};
    const auto rank = k < 2 ? orders.rank(k) : orders.rank(k, search.failures());
    if (search.search(height, rank, budget, offsets)) return true;
    EXPECT_LE(budget.nodes, nodes - 1);
  }
  return false;
}

TEST(PackDive, WhatItFindsPassesTheCheckAndIsTheSameTwice) {
  Rng rng(11);
  int found = 0;
  for (int k = 0; k < 40; ++k) {
    const std::vector<Interval> intervals = any_intervals(rng, 20 + 5 * k, 60, 1000);
    const packing::Items items = packing::make_items(intervals, 1);
    const packing::Units height = items.lower_bound + items.lower_bound / 100;
    std::vector<packing::Units> offsets, again;
    const std::int64_t nodes = 2 * std::ssize(items.items);
    const bool is_found = dive(items, height, 8, nodes, offsets);
    EXPECT_EQ(dive(items, height, 8, nodes, again), is_found);
    if (!is_found) continue;
    EXPECT_EQ(again, offsets);
    ++found;
    Packing packing{
        .offsets = offsets, .bytes = packing::height_of(items, offsets), .lower_bound = items.lower_bound};
    EXPECT_LE(packing.bytes, height);
    EXPECT_EQ(check_packing(intervals, packing), "");
  }
  EXPECT_GE(found, 30);
}

TEST(PackDive, FindsNearlyAllThatThereIsInSmallSets) {
  Rng rng(3);
  int there_is = 0, found = 0;
  for (int k = 0; k < 400; ++k) {
    const std::vector<Interval> intervals = any_intervals(rng, 4 + k % 8, 8, 5);
    const packing::Items items = packing::make_items(intervals, 1);
    std::vector<std::int32_t> rank(items.items.size());
    std::iota(rank.begin(), rank.end(), 0);
    std::vector<packing::Units> offsets;
    packing::Budget budget{.nodes = 1'000'000};
    const packing::Answer answer = packing::Exact(items).search(items.lower_bound, rank, budget, offsets);
    ASSERT_NE(answer, packing::Answer::stopped);
    const bool is_found = dive(items, items.lower_bound, 4, 1000, offsets);
    if (answer == packing::Answer::impossible) {
      EXPECT_FALSE(is_found);
    }
    there_is += answer == packing::Answer::found ? 1 : 0;
    found += is_found ? 1 : 0;
  }
  EXPECT_GT(there_is, 300);
  EXPECT_GE(found, there_is * 99 / 100);
}

// Each node places one at most, and what is higher than the rest is never placed.
TEST(PackDive, EndsAtItsNodesAndBelowTheLowestThereIs) {
  Rng rng(17);
  const packing::Items items = packing::make_items(full_rectangle(rng, 120), 1);
  packing::Dives search(items);
  const std::vector<std::int32_t> rank = packing::Orders(items).rank(0);
  const std::int64_t count = std::ssize(items.items);
  std::vector<packing::Units> offsets;
  packing::Budget enough{.nodes = 2 * count}, few{.nodes = count - 1}, any{.nodes = 1000};
  EXPECT_FALSE(search.search(2 * items.lower_bound, rank, few, offsets));
  EXPECT_EQ(few.nodes, -1);
  EXPECT_FALSE(search.search(items.lower_bound - 1, rank, any, offsets));
  EXPECT_EQ(any.nodes, 1000);
  EXPECT_TRUE(search.search(2 * items.lower_bound, rank, enough, offsets));
  EXPECT_EQ(enough.nodes, count);
  EXPECT_EQ(search.failures().size(), items.items.size());
}

}  // namespace
}  // namespace tidemark::plan
