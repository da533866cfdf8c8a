// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_eject.h"

#include <gtest/gtest.h>

#include "tests/plan/full_rectangle.h"

namespace tidemark::plan {
namespace {

packing::Budget nodes(std::int64_t count) { return {.nodes = count}; }

TEST(PackEject, WhatItFindsPassesTheCheckAndIsTheSameTwice) {
  Rng rng(5);
  int found = 0;
  for (int k = 0; k < 30; ++k) {
    const std::vector<Interval> intervals = full_rectangle(rng, 20 + 10 * k);
    const packing::Items items = packing::make_items(intervals, 1);
    const auto height = static_cast<packing::Units>(1.05 * static_cast<double>(items.lower_bound));
    std::vector<packing::Units> offsets, again;
    packing::Budget first = nodes(20'000), second = nodes(20'000);
    const bool is_found = packing::eject(items, height, 1, first, offsets);
    EXPECT_EQ(packing::eject(items, height, 1, second, again), is_found);
    EXPECT_EQ(again, offsets);
    EXPECT_EQ(first.nodes, second.nodes);
    if (!is_found) continue;
    ++found;
    Packing packing{
        .offsets = offsets, .bytes = packing::height_of(items, offsets), .lower_bound = items.lower_bound};
    EXPECT_LE(packing.bytes, height);
    EXPECT_EQ(check_packing(intervals, packing), "");
  }
  EXPECT_GE(found, 25);
}

TEST(PackEject, EndsAtItsNodesAndBelowTheLargest) {
  Rng rng(6);
  const std::vector<Interval> intervals = full_rectangle(rng, 300);
  const packing::Items items = packing::make_items(intervals, 1);
  std::vector<packing::Units> offsets;
  packing::Budget few = nodes(310);
  EXPECT_FALSE(packing::eject(items, items.lower_bound, 1, few, offsets));
  EXPECT_LE(few.nodes, 0);
  packing::Budget many = nodes(1'000'000);
  EXPECT_FALSE(packing::eject(items, 1, 1, many, offsets));
  EXPECT_EQ(many.nodes, 1'000'000);
}

// Placing in one order after another and the exact search leave holes of 5 to 25 % here.
TEST(PackEject, PackFillsTheHolesOfLargeSets) {
  Rng rng(11);
  for (const double most : {1.04, 1.11}) {
    std::vector<Interval> intervals = full_rectangle(rng, 2000);
    std::erase_if(intervals, [&](const Interval&) { return rng.uniform() >= 0.9; });
    const Packing packing = pack(intervals, {.time_limit = 1e9, .effort = 300'000});
    EXPECT_EQ(check_packing(intervals, packing), "");
    EXPECT_LE(static_cast<double>(packing.bytes), most * static_cast<double>(packing.lower_bound));
  }
}

}  // namespace
}  // namespace tidemark::plan
