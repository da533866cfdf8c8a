// Matrix products. Operands transposed by strides are read in place, never copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

// (…, m, k) x (…, k, n) -> (…, m, n); leading axes broadcast. Vectors on either side as in NumPy.
TIDEMARK_API Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current());
// Any contraction of one or two operands that maps onto matmul, transposes and sums: einsum("bij,bjk->bik",
// {a, b}).
TIDEMARK_API Tensor einsum(const std::string& spec, const Tensors& operands, Where where = Where::current());

}  // namespace tidemark
