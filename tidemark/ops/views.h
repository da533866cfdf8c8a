// Views and moves. Those that strides can express become views without a copy (Op::view); the others copy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

TIDEMARK_API Tensor reshape(const Tensor& x, const std::vector<std::int64_t>& sizes,
                            Where where = Where::current());  // one may be -1
TIDEMARK_API Tensor transpose(const Tensor& x, int a = -2, int b = -1, Where where = Where::current());
TIDEMARK_API Tensor permute(const Tensor& x, const std::vector<int>& axes, Where where = Where::current());
TIDEMARK_API Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where = Where::current());
TIDEMARK_API Tensor squeeze(const Tensor& x, int axis, Where where = Where::current());
TIDEMARK_API Tensor unsqueeze(const Tensor& x, int axis, Where where = Where::current());
// Elements begin, begin + step, … below end, along one axis; negative begin and end count from the end.
TIDEMARK_API Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end,
                          std::int64_t step = 1, Where where = Where::current());
// x with `part` written at [begin, begin + part.size(axis) * step) along the axis: a new version.
TIDEMARK_API Tensor update_slice(const Tensor& x, const Tensor& part, int axis, std::int64_t begin,
                                 std::int64_t step = 1, Where where = Where::current());
TIDEMARK_API Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
                        double value = 0, Where where = Where::current());
TIDEMARK_API Tensor concat(const Tensors& parts, int axis, Where where = Where::current());
TIDEMARK_API Tensor stack(const Tensors& parts, int axis, Where where = Where::current());
TIDEMARK_API Tensors split(const Tensor& x, int pieces, int axis,
                           Where where = Where::current());  // equal pieces
TIDEMARK_API Tensors split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis,
                           Where where = Where::current());
TIDEMARK_API Tensor roll(const Tensor& x, std::int64_t shift, int axis, Where where = Where::current());
TIDEMARK_API Tensor flip(const Tensor& x, int axis, Where where = Where::current());
// A dense row-major copy: what the layout pass puts before a kernel that takes no strides.
TIDEMARK_API Tensor contiguous(const Tensor& x, Where where = Where::current());

}  // namespace tidemark
