// Scaled dot-product attention that never holds the T x T scores: tiles with a running maximum (Milakov &
// Gimelshein 2018; Rabe & Staats 2021; Dao et al. 2022), forward and backward.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

struct AttentionOptions {
  bool causal = false;
  double scale = 0;  // 0: 1 / sqrt(head size)
};
// q (B, T, H, D), k and v (B, S, G, D) with H a multiple of G (grouped queries); result (B, T, H, D).
TIDEMARK_API Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                              const AttentionOptions& options = {}, Where where = Where::current());

}  // namespace tidemark
