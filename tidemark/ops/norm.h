// Normalisations, softmax and the losses built on it. Statistics are explicit outputs, never hidden state.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tidemark/ops/operand.h"

namespace tidemark {

// Over the last axis; scale and shift have its size (either may be undefined).
TIDEMARK_API Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& shift,
                               double epsilon = 1e-5, Where where = Where::current());
TIDEMARK_API Tensor rms_norm(const Tensor& x, const Tensor& scale, double epsilon = 1e-6,
                             Where where = Where::current());
// (N, C, …): each of `groups` groups of channels; scale and shift (C).
TIDEMARK_API Tensor group_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, int groups,
                               double epsilon = 1e-5, Where where = Where::current());

struct BatchNorm {
  Tensor y, mean, variance;  // of this batch, (C); variance biased
};
TIDEMARK_API BatchNorm batch_norm_training(const Tensor& x, const Tensor& scale, const Tensor& shift,
                                           double epsilon = 1e-5, Where where = Where::current());
TIDEMARK_API Tensor batch_norm_inference(const Tensor& x, const Tensor& scale, const Tensor& shift,
                                         const Tensor& mean, const Tensor& variance, double epsilon = 1e-5,
                                         Where where = Where::current());

TIDEMARK_API Tensor softmax(const Tensor& x, int axis = -1, Where where = Where::current());
TIDEMARK_API Tensor log_softmax(const Tensor& x, int axis = -1, Where where = Where::current());
// logits (N, C), labels (N) i32 or i64; mean over the N. A label outside [0, C) is an error; `ignore` marks
// ones that do not count.
TIDEMARK_API Tensor cross_entropy(const Tensor& logits, const Tensor& labels, std::int64_t ignore = -100,
                                  Where where = Where::current());

}  // namespace tidemark
