// What plain kernels over rows (the last axis) share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "tidemark/ir/graph.h"
#include "tidemark/kernels/accumulate.h"

namespace tidemark::kernels {

// Losses and statistics of bf16 and f16 rows are f32.
template <typename S>
using Wide = std::conditional_t<std::is_same_v<S, double>, double, float>;

template <typename S>
double number(S x) {
  return static_cast<double>(load(x));
}

struct Rows {
  explicit Rows(const Value& v) : length(v.type.shape[-1]) {
    for (int a = 0; a + 1 < v.type.shape.rank(); ++a) count *= v.type.shape[a];
  }
  std::int64_t count = 1, length;
};

}  // namespace tidemark::kernels
