// Intervals that can be packed without any hole, for tests of the packers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/random.h"
#include "tidemark/plan/pack.h"

namespace tidemark::plan {

// A rectangle of time and addresses cut again and again: as full as can be, so a packing of no more than its height exists.
inline void cut(Rng& rng, std::int64_t begin, std::int64_t end, Bytes bytes, int pieces,
                std::vector<Interval>& out) {
  if (pieces == 1 || (end - begin < 2 && bytes < 2)) {
    out.push_back({begin, end, bytes, -1});
    return;
  }
  const int left = 1 + static_cast<int>(rng.below(pieces - 1));
  if (bytes < 2 || (end - begin > 1 && rng.below(2) == 0)) {
    const std::int64_t at = begin + 1 + rng.below(end - begin - 1);
    cut(rng, begin, at, bytes, left, out);
    cut(rng, at, end, bytes, pieces - left, out);
  } else {
    const Bytes below = 1 + rng.below(bytes - 1);
    cut(rng, begin, end, below, left, out);
    cut(rng, begin, end, bytes - below, pieces - left, out);
  }
}

inline std::vector<Interval> full_rectangle(Rng& rng, int pieces) {
  std::vector<Interval> intervals;
  cut(rng, 0, 1000, 1'000'000, pieces, intervals);
  return intervals;
}

}  // namespace tidemark::plan
