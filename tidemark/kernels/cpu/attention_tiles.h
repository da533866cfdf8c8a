// What attention's forward and backward kernels share: the products of a head. Scores are held transposed (keys down, queries
// across), so that a register is one key against many queries: no sum or maximum ever runs across a register. A factor is read
// as it lies, by rows or by columns; only queries are turned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "tidemark/base/bytes.h"
#include "tidemark/base/parallel.h"
#include "tidemark/kernels/attention_shape.h"
#include "tidemark/kernels/cpu/lanes_math.h"
#include "tidemark/kernels/cpu/register_tile.h"
#include "tidemark/kernels/cpu/transpose.h"

namespace tidemark::kernels {

#if defined(__AVX512F__)
inline constexpr std::int64_t kHeadRows = 8;  // by two vectors
#else
inline constexpr std::int64_t kHeadRows = 4;
#endif

// c (=, or += where `add`) a b over k. Element (i, l) of a is a[i * a_stride + l], or turned a[l * a_stride + i].
template <typename T>
struct HeadProduct {
  std::int64_t k;
  const T* a;
  std::int64_t a_stride;
  const T* b;
  std::int64_t b_stride;
  T* c;
  std::int64_t c_stride;
  bool add;
};

// Not inlined: among other code the sums would leave their registers.
template <typename T, bool turned, int rows>
[[gnu::noinline]] void multiply_head_tile(const HeadProduct<T>& p) {
  using V = Lanes<T>;
  constexpr int lanes = kLanes<T>;
  V sum[rows][2];
  const T *a = p.a, *b = p.b;
  T* const c = p.c;
  const std::int64_t a_stride = p.a_stride, b_stride = p.b_stride, c_stride = p.c_stride;
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) sum[i][0] = sum[i][1] = V::zero();
  for (std::int64_t l = 0; l < p.k; ++l) {
    const V x = V::load(b), y = V::load(b + lanes);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const V z = V::all(turned ? a[i] : a[i * a_stride]);
      sum[i][0] = multiply_add(z, x, sum[i][0]);
      sum[i][1] = multiply_add(z, y, sum[i][1]);
    }
    a += turned ? a_stride : 1;
    b += b_stride;
  }
  if (p.add) {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      sum[i][0] = V::load(c + i * c_stride) + sum[i][0];
      sum[i][1] = V::load(c + i * c_stride + lanes) + sum[i][1];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    sum[i][0].store(c + i * c_stride);
    sum[i][1].store(c + i * c_stride + lanes);
  }
}

// `rows` by `columns`, a multiple of kTileColumns.
template <typename T, bool turned>
void multiply_head(std::int64_t rows, std::int64_t columns, const HeadProduct<T>& p) {
  static constexpr auto tiles = []<int... r>(std::integer_sequence<int, r...>) {
    return std::array{&multiply_head_tile<T, turned, r + 1>...};
  }(std::make_integer_sequence<int, kHeadRows>{});
  for (std::int64_t j = 0; j < columns; j += kTileColumns<T>) {
    for (std::int64_t i = 0; i < rows; i += kHeadRows) {
      HeadProduct<T> tile = p;
      tile.a += turned ? i : i * p.a_stride;
      tile.b += j;
      tile.c += i * p.c_stride + j;
      tiles[static_cast<std::size_t>(std::min(kHeadRows, rows - i) - 1)](tile);
    }
  }
}

// x: `count` rows of `size` elements, `stride` apart. Side by side, `width` wide with zeros behind, times `factor`.
template <typename T>
void copy_rows(const T* x, std::int64_t stride, std::int64_t count, std::int64_t size, T factor, T* to,
               std::int64_t width) {
  for (std::int64_t row = 0; row < count; ++row, x += stride, to += width) {
    for (std::int64_t i = 0; i < size; ++i) to[i] = x[i] * factor;
    std::fill(to + size, to + width, T(0));
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
