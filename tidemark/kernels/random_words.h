// Which random word belongs to which element: what the fast and the plain kernels of ops/random.cpp have to agree on.
// Words come in groups of the blocks of 16 counters: word w of counter 16 g + l is number 16 w + l of group g.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/base/half.h"
#include "tidemark/base/random.h"
#include "tidemark/ir/kernel.h"

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

// Which element of the whole array an element of this one is, where this one is a part of a batch: `run` of them lie one behind the
// other from `first` on, the next ones `pitch` further. By default all of it.
struct Draws {
  explicit Draws(const KernelSpec& spec)
      : first(spec.attrs.integer("first", 0)),
        run(std::max<std::int64_t>(spec.attrs.integer("run", spec.out[0].type.shape.numel()), 1)),
        pitch(spec.attrs.integer("pitch", run)) {}
  std::int64_t operator[](std::int64_t i) const { return first + i / run * pitch + i % run; }
  // Calls f(element, group, place in the group, count) for stretches of [begin, end) that lie in one group of `per_group` elements.
  template <typename F>
  void for_groups(std::int64_t begin, std::int64_t end, std::int64_t per_group, F&& f) const {
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t whole = (*this)[at], place = whole % per_group;
      const std::int64_t count = std::min({per_group - place, end - at, run - at % run});
      f(at, whole / per_group, place, count);
      at += count;
    }
  }
  std::int64_t first, run, pitch;
};

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
