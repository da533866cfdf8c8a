// Dives with the core of a set alone against the check of packings, and what happens to those that find no room beside it.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/plan/full_rectangle.h"

namespace tidemark::plan {
namespace {

using packing::CoreDives;
using packing::Places;
using packing::Units;

std::vector<Places::Life> lives_of(const std::vector<Interval>& intervals) {
  std::vector<Places::Life> lives;
  for (const Interval& i : intervals)
    lives.push_back({.first = static_cast<std::int32_t>(i.begin),
                     .last = static_cast<std::int32_t>(i.end) - 1,
                     .size = i.bytes});
  return lives;
}

// Made one after the other and given up in another order, as values of a forward pass are by the backward one: full in the middle alone.
std::vector<Interval> hill(Rng& rng, int count) {
  std::vector<Interval> intervals;
  for (int i = 0; i < count; ++i) {
    const std::int64_t end = rng.below(3) == 0 ? i + 1 + rng.below(12) : count + rng.below(count);
    intervals.push_back({i, std::max<std::int64_t>(i + 1, end), 1 + rng.below(1000), -1});
  }
  return intervals;
}

Units most_of(const std::vector<Interval>& intervals) { return CoreDives(lives_of(intervals), 0).most(); }

std::string broken(const std::vector<Interval>& intervals, const std::vector<Units>& offsets, Units height) {
  Packing packing{.offsets = {offsets.begin(), offsets.end()}, .lower_bound = most_of(intervals)};
  for (std::size_t i = 0; i < intervals.size(); ++i)
    packing.bytes = std::max(packing.bytes, offsets[i] + intervals[i].bytes);
  return packing.bytes > height ? "too high" : check_packing(intervals, packing);
}

TEST(PackCore, WhatItFindsPassesTheCheckAndIsTheSameTwice) {
  Rng rng(5);
  int found = 0;
  for (int k = 0; k < 40; ++k) {
    std::vector<Interval> intervals = hill(rng, 40 + 5 * k);
    intervals.push_back({3, 9, 0, -1});  // empty: anywhere
    const Units most = most_of(intervals), height = most + most / 100;
    std::vector<Units> offsets, again;
    const auto search = [&](std::vector<Units>& to) {
      return CoreDives(lives_of(intervals), height * 9 / 10).search(height, 12, 3, Limit(10, -1), to);
    };
    const bool is_found = search(offsets);
    EXPECT_EQ(search(again), is_found);
    if (!is_found) continue;
    EXPECT_EQ(again, offsets);
    EXPECT_EQ(broken(intervals, offsets, height), "");
    ++found;
  }
  EXPECT_GE(found, 30);
}

// With nothing in the core, those that best fit alone leaves over are dived with.
TEST(PackCore, WhatFindsNoRoomJoinsTheCore) {
  Rng rng(2);
  int at_once = 0, later = 0;
  for (int k = 0; k < 60; ++k) {
    const std::vector<Interval> intervals = full_rectangle(rng, 24);
    const Units most = most_of(intervals), height = most + most / 50;
    std::vector<Units> offsets;
    CoreDives dives(lives_of(intervals), most);
    const bool found = dives.search(height, 30, 0, Limit(10, -1), offsets);
    if (found) {
      EXPECT_EQ(broken(intervals, offsets, height), "");
    }
    later += found ? 1 : 0;
    packing::Places places(lives_of(intervals), height, 0);
    std::vector<std::int32_t> none, by_size(intervals.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](auto a, auto b) { return places[a].size > places[b].size; });
    at_once += std::all_of(by_size.begin(), by_size.end(), [&](std::int32_t life) {
      const Units room = places.find_room(life);
      if (room >= 0) places.put(life, {room, 0}, none);
      return room >= 0;
    });
  }
  EXPECT_LT(at_once, 30);
  EXPECT_GT(later, 2 * at_once);
}

TEST(PackCore, SaysNoWhereMoreIsLiveThanThereIsRoomForAndWhenTimeIsUp) {
  const std::vector<Interval> intervals{{0, 4, 3, -1}, {2, 6, 2, -1}};
  std::vector<Units> offsets;
  CoreDives dives(lives_of(intervals), 0);
  EXPECT_EQ(dives.most(), 5);
  EXPECT_TRUE(dives.pays());
  EXPECT_FALSE(dives.search(4, 10, 0, Limit(10, -1), offsets));
  EXPECT_FALSE(dives.search(5, 10, 0, Limit(0, -1), offsets));
  EXPECT_TRUE(dives.search(5, 10, 0, Limit(10, -1), offsets));
}

}  // namespace
}  // namespace tidemark::plan
