// Helpers of kernels that work row by row: sums and maxima in a fixed order, elements widened as they are read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tidemark/base/parallel.h"
#include "tidemark/base/scalar.h"
#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// What elements of a dtype are computed in.
template <typename S>
using Compute = std::conditional_t<std::is_same_v<S, double>, double, float>;

template <typename S>
inline Compute<S> widen(S x) {
  return static_cast<Compute<S>>(x);
}

// The sum of f(0) … f(n-1): 64 lanes, closed as a tree in double every 4096 elements.
template <typename C, typename F>
double row_sum(std::int64_t n, F f) {
  constexpr std::int64_t kLanes = 64, kBlock = 4096;
  double total = 0;
  for (std::int64_t block = 0; block < n; block += kBlock) {
    const std::int64_t end = n < block + kBlock ? n : block + kBlock;
    C lanes[kLanes] = {};
    std::int64_t j = block;
    for (; j + kLanes <= end; j += kLanes) {
      for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] += f(j + k);
    }
    for (std::int64_t k = 0; j + k < end; ++k) lanes[k] += f(j + k);
    double tree[kLanes / 2];
    for (std::int64_t k = 0; k < kLanes / 2; ++k)
      tree[k] = static_cast<double>(lanes[k]) + static_cast<double>(lanes[k + kLanes / 2]);
    for (std::int64_t half = kLanes / 4; half > 0; half /= 2) {
      for (std::int64_t k = 0; k < half; ++k) tree[k] += tree[k + half];
    }
    total += tree[0];
  }
  return total;
}

// The greatest of f(0) … f(n-1), -infinity for none; NaN wins.
template <typename C, typename F>
C row_max(std::int64_t n, F f) {
  constexpr std::int64_t kLanes = 64;
  C lanes[kLanes];
  for (C& l : lanes) l = -std::numeric_limits<C>::infinity();
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      const C v = f(j + k);
      lanes[k] = (v > lanes[k] || v != v) ? v : lanes[k];
    }
  }
  for (std::int64_t k = 0; j + k < n; ++k) {
    const C v = f(j + k);
    lanes[k] = (v > lanes[k] || v != v) ? v : lanes[k];
  }
  C best = lanes[0];
  for (const C v : lanes) best = (v > best || v != v) ? v : best;
  return best;
}

// Rows for a thread at a time: some 32k elements.
inline std::int64_t row_grain(std::int64_t row) { return row >= 32768 ? 1 : row <= 0 ? 32768 : 32768 / row; }

}  // namespace tidemark::kernels
