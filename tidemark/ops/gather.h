// Reading and writing by index. Indices are i32 or i64; out of range is an error when the values are known,
// else when the kernel meets one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

// Rows of `table` (V, …) for each index: indices.shape + table.shape[1:].
TIDEMARK_API Tensor embedding(const Tensor& table, const Tensor& indices, Where where = Where::current());
TIDEMARK_API Tensor index_select(const Tensor& x, const Tensor& indices, int axis,
                                 Where where = Where::current());
// result[i][j] = x[indices[i][j]][j] for axis 0, as torch.gather.
TIDEMARK_API Tensor gather(const Tensor& x, const Tensor& indices, int axis, Where where = Where::current());
// x with `updates` added at `indices` along the axis (the transpose of gather); in a fixed order.
TIDEMARK_API Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis,
                                Where where = Where::current());
TIDEMARK_API Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype = DType::f32,
                            Where where = Where::current());

}  // namespace tidemark
