// Equal steps in two memories: an area that reverses short segments by itself (sized.h), and places for states in a slower tier, written and
// read while steps run. What compiled loops with tiers follow, and the tape's with files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "tidemark/schedule/schedule.h"

namespace tidemark::schedule {

// The states in the tier form a stack; below all of them is the first state, which lies elsewhere. For the segment from the top of the
// stack to the first step reversed, in the order in which they come up, one number says:
//   x > 0   advance x steps and put the state there onto the stack;
//   x < 0   advance -x steps, reverse what is behind as a leaf; the state there is not kept;
//   0       the segment is a leaf: reverse it from the top of the stack, which is not needed again.
// A leaf is reversed by the area alone. The numbers before the first 0, all positive, are the first sweep's.
using TierSplits = std::vector<std::int64_t>;

// Every k-th state.
TIDEMARK_API TierSplits equal_splits(std::int64_t steps, std::int64_t period);

struct TierPrices {
  double body = 1, advance = 1;  // a step in the first sweep, one that is run again
  double write = 0, read = 0;    // of one state
  bool hidden = true;            // copies are made while steps run, by way of two places in memory
  // A leaf of so many steps from a state in memory; the last leaf, begun by the first sweep: its part there, and the rest.
  std::function<double(std::int64_t)> leaf;
  struct Last {
    double first = 0, rest = 0;
  };
  std::function<Last(std::int64_t)> last;
};

// The splits of least time, by a table over (steps, places): h_revolve with leaves in place of single steps and with copies that cost only what
// steps do not hide. Above `grid` steps, long segments are split at multiples of steps / grid, and those of up to `grid` steps anywhere; the grid is
// finer than that, and the table has a layer for every number of places, where this takes no more than `sums` sums (2e9 take about a second).
TIDEMARK_API TierSplits tier_splits(std::int64_t steps, std::int64_t places, const TierPrices& prices,
                                    std::int64_t grid, double sums = 1e7);

// Whether a list, which may come from a file, is one for so many steps: each number stays inside its segment, all of them together reverse every
// step once, and what the first sweep keeps is followed by a leaf.
TIDEMARK_API bool are_splits_of(const TierSplits& splits, std::int64_t steps);

struct TierShape {
  std::int64_t places = 0;       // states in the tier at once, at most
  std::int64_t longest = 0;      // steps of a leaf, at most
  std::vector<std::int64_t> at;  // steps whose states the first sweep keeps there
  std::int64_t advances = 0;     // steps run again to come to a state, without those inside leaves
};
TIDEMARK_API TierShape tier_shape(const TierSplits& splits, std::int64_t steps);

struct TierTimes {
  double first = 0, reverse = 0;  // of the two sweeps
};
// What following them takes: the copies of both directions, one after the other in each, beside the steps.
TIDEMARK_API TierTimes tier_times(const TierSplits& splits, std::int64_t steps, const TierPrices& prices);

}  // namespace tidemark::schedule
