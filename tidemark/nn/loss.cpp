// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/loss.h"

#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target, Where where) {
  const Called called("mean_squared_error", where);
  return mean(square(Operand(prediction, where) - target, where), {}, {}, where);
}

Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target, Where where) {
  const Called called("mean_absolute_error", where);
  return mean(abs(Operand(prediction, where) - target, where), {}, {}, where);
}

Tensor huber(const Tensor& prediction, const Tensor& target, double delta, Where where) {
  const Called called("huber", where);
  const Tensor distance = abs(Operand(prediction, where) - target, where);
  const Tensor near = minimum(Operand(distance, where), delta);
  return mean(Operand(near, where) * (Operand(distance, where) - Operand(near, where) * 0.5), {}, {}, where);
}

Tensor binary_cross_entropy(const Tensor& logits, const Tensor& target, Where where) {
  const Called called("binary_cross_entropy", where);
  return mean(Operand(softplus(logits, where), where) - Operand(logits, where) * target, {}, {}, where);
}

Tensor token_cross_entropy(const Tensor& logits, const Tensor& labels, std::int64_t ignore, Where where) {
  const Called called("token_cross_entropy", where);
  return cross_entropy(reshape(logits, {-1, logits.size(-1)}, where), reshape(labels, {-1}, where), ignore,
                       where);
}

Tensor pixel_cross_entropy(const Tensor& logits, const Tensor& labels, std::int64_t ignore, Where where) {
  const Called called("pixel_cross_entropy", where);
  const Tensor by_pixel = permute(logits, {0, 2, 3, 1}, where);
  return cross_entropy(reshape(by_pixel, {-1, logits.size(1)}, where), reshape(labels, {-1}, where), ignore,
                       where);
}

}  // namespace tidemark
