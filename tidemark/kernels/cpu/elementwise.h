// Tile functions of the elementwise ops: loops over base/scalar.h that the compiler vectorises. Each gives the
// function for a compute dtype, or null.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark::kernels::tiles {

TileFunction add(DType), sub(DType), mul(DType), div(DType), pow(DType), minimum(DType), maximum(DType);
TileFunction equal(DType), not_equal(DType), less(DType), less_equal(DType);
TileFunction logical_and(DType), logical_or(DType), logical_not(DType);
TileFunction where(DType);
TileFunction clamp(DType);  // parameters: low, high
TileFunction neg(DType), abs(DType), sign(DType), square(DType), sqrt(DType), rsqrt(DType);
TileFunction exp(DType), expm1(DType), log(DType), log1p(DType);
TileFunction sin(DType), cos(DType), tan(DType), tanh(DType);
TileFunction sigmoid(DType), erf(DType), relu(DType), gelu(DType), gelu_tanh(DType), gelu_slope(DType), gelu_tanh_slope(DType), silu(DType),
    softplus(DType);
TileFunction floor(DType), round(DType);
TileFunction copy(DType);
TileFunction cast(DType);  // parameter: the dtype cast to
TileFunction full(DType);  // parameter: the value; no input

}  // namespace tidemark::kernels::tiles
