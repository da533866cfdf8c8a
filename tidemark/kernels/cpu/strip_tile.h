// The register tile under strip_product.h: a few rows of c by one strip of columns, from packed rows of a and a packed
// strip of b. While it multiplies it asks for the memory that comes next.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/cpu/lanes.h"

namespace tidemark::kernels {

#if defined(__AVX512F__)
inline constexpr int kStripRows = 14;  // 14 x 2 sums, 2 of b, 1 of a: 31 of 32 registers
#else
inline constexpr int kStripRows = 6;  // 6 x 2 sums of 16 registers
#endif
template <typename T>
inline constexpr int kStrip = 2 * kLanes<T>;

// Memory to ask for: kAheadBytes each at `count` places, `step` bytes apart.
struct Ahead {
  const char* at = nullptr;
  std::int64_t step = 0, count = 0;
};
inline constexpr std::int64_t kAheadBytes = 256;
inline constexpr std::int64_t kTilePiece = 16;  // of k, for each of which a tile asks for one place

// The arguments of one tile: c (=, or += where `add`) a b over k. a: k x kStripRows, packed. b: a packed strip, or one in its
// place, of which the elements `beside` behind are asked for.
template <typename T>
struct TileOf {
  std::int64_t k;
  const T* a;
  const T* b;
  std::int64_t b_stride, beside;
  T* c;
  std::int64_t c_stride;
  bool add;
  Ahead ahead;
};

// Not inlined: among other code the sums would leave their registers.
template <typename T, int rows, bool in_place>
[[gnu::noinline]] void strip_tile(const TileOf<T>& tile) {
  using V = Lanes<T>;
  const T *a = tile.a, *b = tile.b;
  T* const c = tile.c;
  V sum[rows][2];
#pragma GCC unroll 14
  for (int i = 0; i < rows; ++i) {
    sum[i][0] = sum[i][1] = V::zero();
    __builtin_prefetch(c + i * tile.c_stride, 1);
    __builtin_prefetch(c + i * tile.c_stride + kStrip<T> - 1, 1);
  }
  const char* next = tile.ahead.at;
  std::int64_t places = tile.ahead.count;
  const std::int64_t b_stride = in_place ? tile.b_stride : kStrip<T>;
  for (std::int64_t piece = 0; piece < tile.k; piece += kTilePiece) {
    if (places-- > 0) {
#pragma GCC unroll 4
      for (std::int64_t line = 0; line < kAheadBytes; line += 64) __builtin_prefetch(next + line, 0, 2);
      next += tile.ahead.step;
    }
    const std::int64_t end = tile.k - piece < kTilePiece ? tile.k - piece : kTilePiece;
    for (std::int64_t l = 0; l < end; ++l) {
      const V b0 = V::load(b), b1 = V::load(b + kLanes<T>);
      if constexpr (in_place) {
        __builtin_prefetch(b + tile.beside);
        __builtin_prefetch(b + tile.beside + kLanes<T>);
      }
      __builtin_prefetch(a + kTilePiece * kStripRows);
#pragma GCC unroll 14
      for (int i = 0; i < rows; ++i) {
        const V x = V::all(a[i]);
        sum[i][0] = multiply_add(x, b0, sum[i][0]);
        sum[i][1] = multiply_add(x, b1, sum[i][1]);
      }
      a += kStripRows;
      b += b_stride;
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < rows; ++i) {
    T* const to = c + i * tile.c_stride;
    (tile.add ? V::load(to) + sum[i][0] : sum[i][0]).store(to);
    (tile.add ? V::load(to + kLanes<T>) + sum[i][1] : sum[i][1]).store(to + kLanes<T>);
  }
}

}  // namespace tidemark::kernels
