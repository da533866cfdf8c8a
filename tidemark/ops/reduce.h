// Reductions, in one fixed order whatever the thread count. Axes may be negative; none given: all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

using Axes = std::vector<int>;

struct Keep {
  bool axes = false;  // reduced axes stay with size 1
};

TIDEMARK_API Tensor sum(const Tensor& x, const Axes& axes = {}, Keep keep = {},
                        Where where = Where::current());
TIDEMARK_API Tensor mean(const Tensor& x, const Axes& axes = {}, Keep keep = {},
                         Where where = Where::current());
TIDEMARK_API Tensor max(const Tensor& x, const Axes& axes = {}, Keep keep = {},
                        Where where = Where::current());
TIDEMARK_API Tensor min(const Tensor& x, const Axes& axes = {}, Keep keep = {},
                        Where where = Where::current());
TIDEMARK_API Tensor prod(const Tensor& x, const Axes& axes = {}, Keep keep = {},
                         Where where = Where::current());
TIDEMARK_API Tensor logsumexp(const Tensor& x, const Axes& axes = {}, Keep keep = {},
                              Where where = Where::current());
TIDEMARK_API Tensor argmax(const Tensor& x, int axis, Keep keep = {},
                           Where where = Where::current());  // i64, first of equals
TIDEMARK_API Tensor cumsum(const Tensor& x, int axis, Where where = Where::current());
// Sums what broadcasting repeated, so that the result has `shape`: the transpose of broadcast_to.
TIDEMARK_API Tensor sum_to(const Tensor& x, const Shape& shape, Where where = Where::current());

}  // namespace tidemark
