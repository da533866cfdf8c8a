// The shape of a (batched) matrix product as its kernels see it: sizes, strides, and leading axes put
// together as far as memory allows, so that (B, T, K) x (K, N) is one product of B * T rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  // Strides in elements: of a along m and k, of b along k and n, of c along m and n.
  std::int64_t a_m = 0, a_k = 0, b_k = 0, b_n = 0, c_m = 0, c_n = 0;
  struct Axis {
    std::int64_t size, a, b, c;  // strides; 0 where an operand is shared along the axis
  };
  std::vector<Axis> batch;  // outermost first; empty: one product

  std::int64_t batches() const;
  // Offsets of product `i` of the batch in a, b and c.
  std::array<std::int64_t, 3> offsets(std::int64_t i) const;
  bool empty() const { return m == 0 || n == 0 || batches() == 0; }
};

// Of inputs 0 and 1 and output 0.
Product product_of(const KernelSpec& spec);

}  // namespace tidemark::kernels
