// The register tile under the products and attention of kernels/cpu: c (kTileRows x kTileColumns) from a
// panel of a and a panel of b.
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

// Not inlined: among other code the sums would leave their registers.
// c (=, or += where `add`) a b over k. a: k x kTileRows, b: k x kTileColumns, both packed; c with `stride`.
template <typename T>
[[gnu::noinline]] void multiply_tile(std::int64_t k, const T* __restrict a, const T* __restrict b,
                                     T* __restrict c, std::int64_t stride, bool add) {
  using V = Lanes<T>;
  V sum[kTileRows][2];
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) {
    sum[i][0] = add ? V::load(c + i * stride) : V::zero();
    sum[i][1] = add ? V::load(c + i * stride + kLanes<T>) : V::zero();
  }
  for (std::int64_t l = 0; l < k; ++l) {
    const V b0 = V::load(b), b1 = V::load(b + kLanes<T>);
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
      const V ai = V::all(a[i]);
      sum[i][0] = multiply_add(ai, b0, sum[i][0]);
      sum[i][1] = multiply_add(ai, b1, sum[i][1]);
    }
    a += kTileRows;
    b += kTileColumns<T>;
  }
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) {
    sum[i][0].store(c + i * stride);
    sum[i][1].store(c + i * stride + kLanes<T>);
  }
}

}  // namespace tidemark::kernels
