// What attention's forward and backward kernels share: arrays of a head packed into the panels of
// register_tile.h. Scores are held transposed (keys down, queries across), so that a register is one key
// against many queries: no sum or maximum ever runs across a register.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

#include "tidemark/base/bytes.h"
#include "tidemark/base/parallel.h"
#include "tidemark/kernels/attention_shape.h"
#include "tidemark/kernels/cpu/lanes_math.h"
#include "tidemark/kernels/cpu/register_tile.h"
#include "tidemark/kernels/cpu/transpose.h"

namespace tidemark::kernels {

#if defined(__AVX512F__)
inline constexpr std::int64_t kHeadRows = 8;  // divides the usual head sizes and block lengths
#else
inline constexpr std::int64_t kHeadRows = 4;
#endif

// Elements of `count` rows in panels of kHeadRows, each `depth` deep.
inline std::int64_t panel_elements(std::int64_t count, std::int64_t depth) {
  return round_up(count, kHeadRows) * depth;
}

// x: `count` rows of `size` elements, `stride` apart.
// Panels of kHeadRows rows, each size x kHeadRows: the rows run across.
template <typename T>
void pack_rows(const T* x, std::int64_t stride, std::int64_t count, std::int64_t size, T* to) {
  for (std::int64_t row = 0; row < count; row += kHeadRows, to += kHeadRows * size) {
    const std::int64_t rows = std::min(kHeadRows, count - row);
    if (rows < kHeadRows) std::fill(to, to + kHeadRows * size, T(0));
    transpose(x + row * stride, stride, to, kHeadRows, rows, size);
  }
}

// Panels of kHeadRows elements of every row, each `depth` x kHeadRows: the rows run down; zeros behind the
// last.
template <typename T>
void pack_elements(const T* x, std::int64_t stride, std::int64_t count, std::int64_t depth, std::int64_t size,
                   T factor, T* to) {
  for (std::int64_t first = 0; first < size; first += kHeadRows, to += kHeadRows * depth) {
    const std::int64_t n = std::min(kHeadRows, size - first);
    if (n < kHeadRows || count < depth) std::fill(to, to + kHeadRows * depth, T(0));
    const auto pack = [&](auto n) {
      for (std::int64_t row = 0; row < count; ++row) {
        for (std::int64_t i = 0; i < n; ++i) to[row * kHeadRows + i] = x[row * stride + first + i] * factor;
      }
    };
    // A fixed count becomes one vector.
    n == kHeadRows ? pack(std::integral_constant<std::int64_t, kHeadRows>{}) : pack(n);
  }
}

// One panel of kTileColumns rows across, size down, times `factor`; zeros behind the last row.
template <typename T>
void pack_across(const T* x, std::int64_t stride, std::int64_t count, std::int64_t size, T factor, T* to) {
  constexpr std::int64_t columns = kTileColumns<T>;
  if (count < columns) std::fill(to, to + size * columns, T(0));
  transpose(x, stride, to, columns, count, size);
  if (factor != T(1)) {
    for (std::int64_t i = 0; i < size * columns; ++i) to[i] *= factor;
  }
}

// Work that every thread has to itself: tasks [begin, end) of a chunk share slot begin / grain.
struct Slots {
  Slots(std::int64_t tasks, int threads)
      : grain(std::max<std::int64_t>(1, (tasks + threads - 1) / std::max(1, threads))),
        count(tasks == 0 ? 0 : (tasks + grain - 1) / grain) {}
  std::int64_t grain, count;
};

template <typename T>
std::int64_t aligned(std::int64_t elements) {
  return round_up(elements, 64 / static_cast<std::int64_t>(sizeof(T)));
}

}  // namespace tidemark::kernels
