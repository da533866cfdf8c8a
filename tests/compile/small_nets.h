// Small networks whose values have other ways to be had again than running them again (compile/makers.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"

namespace tidemark::small_nets {

struct Net {
  std::vector<Tensor> w;
};

// What relu gives is added up: only its sign is wanted again.
inline Tensor residual(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& w : p.w) h = h + relu(matmul(h, w));
  return mean(square(h));
}
// The second factor of each product is a cheap function of what is wanted anyway.
inline Tensor gated(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& w : p.w) h = matmul(h, w) * exp(-square(h));
  return mean(square(h));
}
// Reversible blocks: each half is the other's function added to what it was.
inline Tensor reversible(const Net& p, const Tensor& x) {
  Tensor a = x, b = x * 0.5;
  for (std::size_t i = 0; i + 1 < p.w.size(); i += 2) {
    a = a + tanh(matmul(b, p.w[i]));
    b = b - tanh(matmul(a, p.w[i + 1]));
  }
  return mean(square(a) + square(b));
}

}  // namespace tidemark::small_nets
