// Losses, each the mean over what it compares (ops/norm.h has cross_entropy itself).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/norm.h"

namespace tidemark {

TIDEMARK_API Tensor mean_squared_error(const Tensor& prediction, const Tensor& target,
                                       Where where = Where::current());
TIDEMARK_API Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target,
                                        Where where = Where::current());
// Quadratic up to `delta`, linear beyond (Huber 1964).
TIDEMARK_API Tensor huber(const Tensor& prediction, const Tensor& target, double delta = 1,
                          Where where = Where::current());
// -(t log s(x) + (1 - t) log(1 - s(x))) for logits x, without overflow.
TIDEMARK_API Tensor binary_cross_entropy(const Tensor& logits, const Tensor& target,
                                         Where where = Where::current());
// logits (B, T, V), labels (B, T).
TIDEMARK_API Tensor token_cross_entropy(const Tensor& logits, const Tensor& labels,
                                        std::int64_t ignore = -100, Where where = Where::current());
// logits (N, C, H, W), labels (N, H, W).
TIDEMARK_API Tensor pixel_cross_entropy(const Tensor& logits, const Tensor& labels,
                                        std::int64_t ignore = -100, Where where = Where::current());

}  // namespace tidemark
