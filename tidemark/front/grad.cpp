// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/grad.h"

#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

std::vector<std::int64_t> concatenated(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> sizes = a.sizes();
  sizes.insert(sizes.end(), b.begin(), b.end());
  return sizes;
}

// Unit vector i of the space of `like`.
Tensor unit(const Tensor& like, std::int64_t i) {
  const Tensor positions = iota_beside(like, like.numel(), DType::i64);
  return reshape(cast(equal(positions, i), like.dtype()), like.shape().sizes());
}

}  // namespace

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Where where) {
  auto [y, pull_back] = vjp(f, x, where);
  Tensors rows;
  for (std::int64_t i = 0; i < y.numel(); ++i) rows.push_back(reshape(pull_back(unit(y, i)), {-1}));
  if (rows.empty()) return full_beside(x, Type{Shape(concatenated(y.shape(), x.shape())), x.dtype()}, 0);
  return reshape(stack(rows, 0), concatenated(y.shape(), x.shape()));
}

Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Where where) {
  Tensors columns;
  for (std::int64_t i = 0; i < x.numel(); ++i) columns.push_back(reshape(hvp(f, x, unit(x, i), where), {-1}));
  if (columns.empty()) return full_beside(x, Type{Shape(concatenated(x.shape(), x.shape())), x.dtype()}, 0);
  // Symmetric: columns stacked as rows are the same matrix up to rounding; stacked on the last axis they are
  // columns.
  return reshape(stack(columns, 1), concatenated(x.shape(), x.shape()));
}

}  // namespace tidemark
