// Matrix products. Operands transposed by strides are read in place, never copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

// (…, m, k) x (…, k, n) -> (…, m, n); leading axes broadcast. Vectors on either side as in NumPy.
TIDEMARK_API Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current());
// Any contraction, as matrix products from the left, transposes and sums: einsum("bij,bjk->bik", {a, b}). As in NumPy: a label twice in an
// operand is its diagonal, "..." are further axes, axes of 1 broadcast, without "->" the labels that occur once are the result's.
TIDEMARK_API Tensor einsum(const std::string& spec, const Tensors& operands, Where where = Where::current());

}  // namespace tidemark
