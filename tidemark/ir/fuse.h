// Fusion, before layouts: elementwise chains of one domain, with the reductions they end in, become one node whose
// inside never exists in memory. The kernels run the same loops either way, so no bit changes;
// only a sum over a chain whose inputs are all transposed may add in another order than one over its stored result.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/graph.h"

namespace tidemark {

struct FuseOptions {
  int max_nodes = 48, max_inputs = 24, max_folds = 4;
};
// `chain` and `chain_with_folds` are the ops that run a region (ops/fused.h). Only nodes with no heavy one (a product, a
// convolution, …) between them meet, so that what the backward pass will need is not made in the forward pass. Nothing
// is computed twice but constants. Nearly linear.
TIDEMARK_API Graph fuse(const Graph& graph, const Op& chain, const Op& chain_with_folds, const FuseOptions& options = {});

}  // namespace tidemark
