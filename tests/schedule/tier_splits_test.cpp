// Splits for two memories: every step reversed once from a state that was there, never more time than h_revolve, and prices that add up.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/tier_splits.h"

#include <gtest/gtest.h>

#include <limits>

#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/sized.h"
#include "tidemark/schedule/tiered.h"

namespace tidemark::schedule {
namespace {

// A step costs 1 whatever is done with it; the area has places for so many states.
TierPrices prices(std::int64_t steps, std::int64_t slots, double write, double read) {
  TierPrices p{.write = write, .read = read};
  const Sized sized(2 * steps, 1, 0, slots);
  p.leaf = [sized](std::int64_t n) { return static_cast<double>(sized.counts(n, false).advances); };
  // The way to the last step is in the first sweep, and that step is reversed straight away.
  p.last = [leaf = p.leaf](std::int64_t n) {
    return TierPrices::Last{static_cast<double>(n - 1), leaf(n) - static_cast<double>(n - 1)};
  };
  return p;
}

double total(const TierSplits& splits, std::int64_t steps, const TierPrices& p) {
  const TierTimes t = tier_times(splits, steps, p);
  return t.first + t.reverse;
}

TEST(TierSplits, EqualOnesAreASpineAndItsLeaves) {
  EXPECT_EQ(equal_splits(10, 4), (TierSplits{4, 4, 0, 0, 0}));
  EXPECT_EQ(equal_splits(8, 4), (TierSplits{4, 0, 0}));
  EXPECT_EQ(equal_splits(3, 4), (TierSplits{0}));
  const TierShape shape = tier_shape(equal_splits(10, 4), 10);
  EXPECT_EQ(shape.places, 2);
  EXPECT_EQ(shape.longest, 4);
  EXPECT_EQ(shape.at, (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(shape.advances, 0);
}

TEST(TierSplits, OtherListsAreNone) {
  for (const TierSplits& right :
       {TierSplits{0}, {4, 4, 0, 0, 0}, {9, 0, 0}, {4, 0, -2, 0}, {4, 0, 2, 0, -1, 0}, {6, 0, 2, 0, -1, 0}})
    EXPECT_TRUE(are_splits_of(right, 10)) << right.size();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     most = std::numeric_limits<std::int64_t>::max();
  for (const TierSplits& wrong : {TierSplits{},
                                  {4},
                                  {4, 0},
                                  {0, 0},
                                  {10, 0, 0},
                                  {4, 6, 0, 0, 0},
                                  {4, 0, 0, 0},
                                  {-4, 0},
                                  {4, -1, 0, 0},
                                  {4, 0, -4, 0},
                                  {4, 0, 4, 0, 0},
                                  {least, 0},
                                  {most, 0, 0},
                                  {4, most, 0, 0, 0},
                                  {4, 0, least, 0},
                                  {4, 0, -2}})
    EXPECT_FALSE(are_splits_of(wrong, 10)) << testing::PrintToString(wrong);
}

TEST(TierSplits, NeverSlowerThanHRevolve) {
  for (const std::int64_t steps : {1, 2, 3, 10, 57, 200}) {
    for (const std::int64_t slots : {0, 1, 4}) {
      for (const std::int64_t places : {0, 1, 2, 5, 300}) {
        for (const double copy : {0.0, 0.3, 2.0, 40.0}) {
          for (const bool hidden : {true, false}) {
            TierPrices p = prices(steps, slots, copy, copy);
            p.hidden = hidden;
            const TierSplits splits = tier_splits(steps, places, p, 1000);
            const TierShape shape = tier_shape(splits, steps);
            EXPECT_LE(shape.places, places);
            EXPECT_TRUE(are_splits_of(splits, steps));
            // The first state lies outside of the area, and is the one slot more; the step before a reverse is in neither price.
            const Memory memories[] = {{slots + 1, 0, 0}, {std::min(places, steps), copy, copy}};
            const double named = TierTable(steps, memories).cost();
            EXPECT_LE(total(splits, steps, p), named + (shape.places > 0 ? copy : 0) + 1e-9)
                << steps << " steps, " << slots << " slots, " << places << " places at " << copy
                << (hidden ? "" : ", not hidden");
          }
        }
      }
    }
  }
}

// Many places, and more steps than the grid: each step's price and what is written and read, as a driver has them that copies between steps.
TEST(TierSplits, ManyPlacesAndLongLoopsComeNearHRevolveToo) {
  const auto ratio = [](std::int64_t steps, std::int64_t slots, std::int64_t places, double copy,
                        std::int64_t grid) {
    TierPrices p{.write = copy, .read = copy, .hidden = false};
    p.leaf = [=](std::int64_t n) {
      n = std::min(n, steps);
      return static_cast<double>(revolve_advances(n, std::min(slots, n)) + n);
    };
    p.last = [leaf = p.leaf](std::int64_t n) { return TierPrices::Last{0, leaf(n)}; };
    const TierSplits splits = tier_splits(steps, places, p, grid, 2e8);
    EXPECT_LE(tier_shape(splits, steps).places, places);
    const Memory memories[] = {{slots, 0, 0}, {places, copy, copy}};
    return total(splits, steps, p) / (TierTable(steps, memories).cost() + static_cast<double>(steps));
  };
  // As many layers as places: the same table, with the first state elsewhere.
  for (const std::int64_t places : {65, 100, 300}) {
    for (const double copy : {1e-6, 0.3, 3.0, 20.0}) {
      EXPECT_LE(ratio(500, 1, places, copy, 500), 1 + 1e-9) << places << " " << copy;
      EXPECT_LE(ratio(500, 5, places, copy, 500), 1 + 1e-9) << places << " " << copy;
      // Some of the layers.
      EXPECT_LE(ratio(1000, 2, places, copy, 500), 1.02) << places << " " << copy;
    }
  }
  for (const std::int64_t places : {5, 20, 60})
    for (const double copy : {1e-6, 0.3, 3.0})
      EXPECT_LE(ratio(2000, 3, places, copy, 400), 1.01) << places << " " << copy;
}

TEST(TierSplits, AGridIsLittleSlower) {
  for (const std::int64_t places : {2, 7}) {
    const TierPrices p = prices(1000, 3, 1, 1);
    const double fine = total(tier_splits(1000, places, p, 1000), 1000, p);
    for (const std::int64_t grid : {100, 256}) {
      const double coarse = total(tier_splits(1000, places, p, grid), 1000, p);
      EXPECT_GE(coarse, fine * (1 - 1e-3));
      EXPECT_LE(coarse, fine * 1.02) << places << " " << grid;
    }
  }
}

TEST(TierSplits, WithoutPlacesTheFirstStateAndTheOneAtHandAreTwo) {
  // No area: a leaf takes n (n - 1) / 2 advances, and one state more in memory saves what revolve's second slot saves.
  TierPrices p = prices(100, 0, 1, 1);
  const TierSplits splits = tier_splits(100, 1, p, 1000);
  EXPECT_LE(total(splits, 100, p), static_cast<double>(revolve_advances(100, 2)) + 1 + 1);
  EXPECT_EQ(tier_shape(splits, 100).places, 1);
}

TEST(TierSplits, CopiesTakeOnlyWhatStepsDoNotHide) {
  const TierSplits splits = equal_splits(40, 10);
  TierPrices p = prices(40, 9, 0, 0);
  const double free = total(splits, 40, p);
  p.write = p.read = 5;
  // A segment hides a copy; the first read has nothing beside it, the second only the last step, which costs nothing here.
  EXPECT_DOUBLE_EQ(total(splits, 40, p), free + 2 * 5);
  p.hidden = false;
  EXPECT_DOUBLE_EQ(total(splits, 40, p), free + 6 * 5);
}

}  // namespace
}  // namespace tidemark::schedule
