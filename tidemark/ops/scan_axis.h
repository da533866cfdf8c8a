// Running sums as a loop of the elements' own type makes them; the usual ones (cumsum in reduce.h) are kept in doubles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/tensor.h"

namespace tidemark {

TIDEMARK_API Tensor cumsum_rounded(const Tensor& x, int axis, Where where = Where::current());

}  // namespace tidemark
