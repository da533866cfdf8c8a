// A sum of thin products is one product: a1 b1 + a2 b2 + … = (a1 a2 …) (b1; b2; …). The gradient of a weight that an
// unrolled loop uses at every step is such a sum, and takes a pass over all of the weight for each of its steps otherwise.
// Rows added by index to zeros, and that to another array, are added to it at once: the gradient of an embedding that is
// also the output weight is such a sum, of a table that is zero nearly everywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

struct JoinOps {
  const Op &matmul, &add, &permute, &concat;  // as in ops/: inputs 0 and 1, attributes "axes" and "axis"
};
// Only products over few elements, of two axes, that nobody else reads; and no more of them at a time than fit into the
// two arrays (the sum so far, the next product) that adding them up one by one would hold. The sum is rounded in another
// order. Parts come in the order of the forward pass: reverse mode adds those of the last use first.
TIDEMARK_API Graph join_products(Graph graph, const JoinOps& ops);

// add(index_add(indices, updates), x) -> index_add_to(x, indices, updates), where nobody else reads the former.
TIDEMARK_API Graph join_rows(Graph graph, const Op& add, const Op& index_add, const Op& index_add_to);

}  // namespace tidemark
