// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/loss.h"

#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target) {
  return mean(square(prediction - target));
}

Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target) {
  return mean(abs(prediction - target));
}

Tensor huber(const Tensor& prediction, const Tensor& target, double delta) {
  const Tensor distance = abs(prediction - target);
  const Tensor near = minimum(distance, delta);
  return mean(near * (distance - near * 0.5));
}

Tensor binary_cross_entropy(const Tensor& logits, const Tensor& target) {
  return mean(softplus(logits) - logits * target);
}

Tensor token_cross_entropy(const Tensor& logits, const Tensor& labels, std::int64_t ignore) {
  return cross_entropy(reshape(logits, {-1, logits.size(-1)}), reshape(labels, {-1}), ignore);
}

Tensor pixel_cross_entropy(const Tensor& logits, const Tensor& labels, std::int64_t ignore) {
  const Tensor by_pixel = permute(logits, {0, 2, 3, 1});
  return cross_entropy(reshape(by_pixel, {-1, logits.size(1)}), reshape(labels, {-1}), ignore);
}

}  // namespace tidemark
