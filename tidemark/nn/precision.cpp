// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/precision.h"

#include "tidemark/ops/elementwise.h"

namespace tidemark {
namespace {

Tensors cast_all(const Tensors& tensors, DType from, DType to) {
  Tensors result;
  result.reserve(tensors.size());
  for (const Tensor& t : tensors) result.push_back(t.dtype() == from ? cast(t, to) : t);
  return result;
}

Model::Apply narrowed(const Model::Apply& apply, DType dtype) {
  return [apply, dtype](const Tensors& params, Tensors& state, const Tensors& batch) {
    Tensors narrow = cast_all(state, DType::f32, dtype);
    const Tensor y = apply(cast_all(params, DType::f32, dtype), narrow, cast_all(batch, DType::f32, dtype));
    state = cast_all(narrow, dtype, DType::f32);
    return cast(y, DType::f32);
  };
}

}  // namespace

Model stored_as(const Model& model, DType dtype) {
  if (dtype == DType::f32) return model;
  if (dtype != DType::bf16 && dtype != DType::f16)
    fail(Error::Kind::usage, "[stored_as] {} is none of f32, bf16, f16", name_of(dtype));
  Model narrow = model;
  narrow.logits = narrowed(model.logits, dtype);
  narrow.loss = narrowed(model.loss, dtype);
  return narrow;
}

}  // namespace tidemark
