// A product that is only ever read transposed is computed transposed: (a b)' = b' a'. The gradient of a weight used as
// x w' comes out the wrong way round otherwise, and is turned by a strided pass over all of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

// `matmul`: over the last two axes of inputs 0 and 1; `permute`: by attribute "axes".
TIDEMARK_API Graph turn_products(Graph graph, const Op& matmul, const Op& permute);

}  // namespace tidemark
