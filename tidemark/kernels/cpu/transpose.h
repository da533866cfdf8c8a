// to[c][r] = from[r][c]: what packing is made of where memory runs the other way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

#include "tidemark/kernels/cpu/lanes.h"

namespace tidemark::kernels {

#if defined(__AVX512F__)
namespace turn {
typedef float V __attribute__((vector_size(64)));
inline V low1(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
inline V high1(V a, V b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
inline V low2(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
}
inline V high2(V a, V b) {
  return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
inline V even(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
}
inline V odd(V a, V b) {
  return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
}  // namespace turn

// A block of at most 16 x 16 floats in registers: pairs, quarters, then the 128-bit parts change places.
inline void transpose_block(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
                            std::int64_t rows, std::int64_t columns) {
  const auto in = static_cast<__mmask16>((1u << columns) - 1u),
             out = static_cast<__mmask16>((1u << rows) - 1u);
  using turn::V;
  V r[16], t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = i < rows ? (V)_mm512_maskz_loadu_ps(in, from + i * from_stride) : V{};
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = turn::low1(r[i], r[i + 1]);
    t[i + 1] = turn::high1(r[i], r[i + 1]);
  }
  // Then r[i + c] holds column 4 l + c of rows i … i + 3 in its part l.
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = turn::low2(t[i], t[i + 2]);
    r[i + 1] = turn::high2(t[i], t[i + 2]);
    r[i + 2] = turn::low2(t[i + 1], t[i + 3]);
    r[i + 3] = turn::high2(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const V a = turn::even(r[c], r[4 + c]), b = turn::even(r[8 + c], r[12 + c]);
    const V d = turn::odd(r[c], r[4 + c]), e = turn::odd(r[8 + c], r[12 + c]);
    t[c] = turn::even(a, b);
    t[4 + c] = turn::even(d, e);
    t[8 + c] = turn::odd(a, b);
    t[12 + c] = turn::odd(d, e);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i < columns) _mm512_mask_storeu_ps(to + i * to_stride, out, (__m512)t[i]);
  }
}
#endif

template <typename T>
void transpose(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t columns) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    for (std::int64_t r = 0; r < rows; r += 16) {
      for (std::int64_t c = 0; c < columns; c += 16) {
        transpose_block(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride,
                        std::min<std::int64_t>(16, rows - r), std::min<std::int64_t>(16, columns - c));
      }
    }
    return;
  }
#endif
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace tidemark::kernels
