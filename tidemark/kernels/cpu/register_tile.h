// The register tile under the products and attention of kernels/cpu: a few rows of c by a few vectors of columns, from a
// packed panel of a and a strip of b. Where its operands come from memory it asks for what comes next while it multiplies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/cpu/lanes.h"

namespace tidemark::kernels {

#if defined(__AVX512F__)
inline constexpr int kTileRows = 12;  // 12 x 2 sums, 2 of b, 1 of a: 27 of 32 registers
#else
inline constexpr int kTileRows = 6;  // 6 x 2 sums of 16 registers
#endif
template <typename T>
inline constexpr int kTileColumns = 2 * kLanes<T>;

// Memory to ask for: one row of a strip each at `count` places, `step` bytes apart.
struct Ahead {
  const char* at = nullptr;
  std::int64_t step = 0, count = 0;
};
inline constexpr std::int64_t kTilePiece = 16;  // of k, for each of which a tile asks for one place

// Where b lies: in a packed strip; or in its place, from where the tile packs it as it goes, or asks for what stands behind it.
enum class Strip { near, packed, packing, in_place };

// The arguments of one tile: c (=, or += where `add`) a b over k.
template <typename T>
struct Tile {
  std::int64_t k;
  const T* a;  // k x a_stride, packed
  const T* b;
  T* c;
  std::int64_t c_stride;
  bool add;
  std::int64_t b_stride = 0;
  T* packed = nullptr;       // where `packing` puts b
  std::int64_t beside = 0;   // elements behind b that `in_place` asks for
  bool past_caches = false;  // c, which is aligned then, and not added to
  Ahead ahead;
};

// Not inlined: among other code the sums would leave their registers. `near`: everything is in the caches.
template <typename T, int rows, int vectors = 2, Strip strip = Strip::near, int a_stride = rows>
[[gnu::noinline]] void multiply_tile(const Tile<T>& tile) {
  using V = Lanes<T>;
  constexpr int lanes = kLanes<T>, columns = vectors * lanes;
  const T *a = tile.a, *b = tile.b;
  T *const c = tile.c, *packed = tile.packed;
  const auto each = [](auto&& f) {
#pragma GCC unroll 14
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) f(i, v);
    }
  };
  V sum[rows][vectors];
  each([&](int i, int v) { sum[i][v] = V::zero(); });
  if (strip != Strip::near && !tile.past_caches) {
    each([&](int i, int v) { __builtin_prefetch(c + i * tile.c_stride + v * lanes, 1); });
    for (int i = 0; i < rows; ++i) __builtin_prefetch(c + i * tile.c_stride + columns - 1, 1);
  }
  const char* next = tile.ahead.at;
  std::int64_t places = tile.ahead.count;
  const std::int64_t b_stride = strip == Strip::packing || strip == Strip::in_place ? tile.b_stride : columns;
  for (std::int64_t piece = 0; piece < tile.k; piece += kTilePiece) {
    if (strip != Strip::near && places-- > 0) {
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) __builtin_prefetch(next + v * kLaneBytes, 0, 2);
      __builtin_prefetch(next + vectors * kLaneBytes - 1, 0, 2);
      next += tile.ahead.step;
    }
    const std::int64_t end = tile.k - piece < kTilePiece ? tile.k - piece : kTilePiece;
    for (std::int64_t l = 0; l < end; ++l) {
      V x[vectors];
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) {
        x[v] = V::load(b + v * lanes);
        if constexpr (strip == Strip::in_place) __builtin_prefetch(b + tile.beside + v * lanes);
        if constexpr (strip == Strip::packing) {
          __builtin_prefetch(b + 8 * b_stride + v * lanes);
          x[v].store(packed + v * lanes);
        }
      }
      if constexpr (strip != Strip::near) __builtin_prefetch(a + kTilePiece * a_stride);
#pragma GCC unroll 14
      for (int i = 0; i < rows; ++i) {
        const V y = V::all(a[i]);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) sum[i][v] = multiply_add(y, x[v], sum[i][v]);
      }
      a += a_stride;
      b += b_stride;
      packed += strip == Strip::packing ? columns : 0;
    }
  }
  if (tile.add) {
    each([&](int i, int v) { sum[i][v] = V::load(c + i * tile.c_stride + v * lanes) + sum[i][v]; });
  }
  if (strip != Strip::near && tile.past_caches) {
    each([&](int i, int v) { sum[i][v].stream(c + i * tile.c_stride + v * lanes); });
  } else {
    each([&](int i, int v) { sum[i][v].store(c + i * tile.c_stride + v * lanes); });
  }
}

}  // namespace tidemark::kernels
