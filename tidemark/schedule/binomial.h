// Binomial coefficients that saturate instead of overflowing, and the repetition number of revolve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace tidemark::schedule {

constexpr std::int64_t kHuge = std::int64_t{1} << 60;

// C(n, k), at most kHuge; 0 outside 0 <= k <= n.
constexpr std::int64_t binomial(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  k = std::min(k, n - k);
  __int128 value = 1;
  for (std::int64_t i = 1; i <= k; ++i) {
    value = value * (n - k + i) / i;
    if (value >= kHuge) return kHuge;
  }
  return static_cast<std::int64_t>(value);
}

// How many steps `slots` states reverse if no step is advanced over more than `repeats` times.
constexpr std::int64_t reach(std::int64_t slots, std::int64_t repeats) {
  return repeats < 0 ? 0 : binomial(slots + repeats, slots);
}

// The least r with reach(slots, r) >= steps; slots and steps at least 1. With few slots r is large (its root
// grows with steps), with many it is small: doubling, then halving, takes O(log r) binomials of min(slots, r)
// factors.
constexpr std::int64_t repetition(std::int64_t steps, std::int64_t slots) {
  std::int64_t high = 1;
  while (reach(slots, high) < steps) high *= 2;
  std::int64_t low = high / 2;  // reach(slots, low) < steps, or low is 0
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (reach(slots, middle) < steps ? low : high) = middle;
  }
  return reach(slots, low) >= steps ? low : high;
}

}  // namespace tidemark::schedule
