// Which random word belongs to which element: what the fast and the plain kernels of ops/random.cpp have to agree on.
// Words come in groups of the blocks of 16 counters: word w of counter 16 g + l is number 16 w + l of group g.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "tidemark/base/half.h"
#include "tidemark/base/random.h"

namespace tidemark::kernels {

inline constexpr std::int64_t kRandomLanes = 16, kRandomGroup = 4 * kRandomLanes;

struct RandomKey {
  std::uint64_t key, high;
};
// `key`: two numbers of i64, seed and step.
inline RandomKey random_key(const void* key, std::int64_t stream) {
  const auto* k = static_cast<const std::int64_t*>(key);
  // Streams are as far apart as the golden ratio puts them.
  return {static_cast<std::uint64_t>(k[0]) + static_cast<std::uint64_t>(stream) * 0x9E3779B97F4A7C15u,
          static_cast<std::uint64_t>(k[1])};
}

// The largest number of the storage type S below `high`: rounding must not reach it.
template <typename S, typename C>
C largest_below(C high) {
  if constexpr (std::is_same_v<S, C>) {
    return std::nextafter(high, -std::numeric_limits<C>::infinity());
  } else {
    S s(high);
    while (static_cast<float>(s) >= high) {
      if ((s.bits & 0x7fffu) == 0) {
        s.bits = 0x8001u;
      } else {
        s.bits = static_cast<std::uint16_t>((s.bits & 0x8000u) != 0 ? s.bits + 1 : s.bits - 1);
      }
    }
    return static_cast<float>(s);
  }
}

}  // namespace tidemark::kernels
