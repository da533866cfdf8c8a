// optimise: Graph → Graph, what compile() does before it poses: dce, folding, cse, fusion, layouts, updates in place and
// early. Each pass stands alone in ir/ or here; this is their order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/graph.h"

namespace tidemark {

struct OptimiseOptions {
  bool simplify = true, fuse = true, layouts = true, early_updates = true;
  bool join = true;  // sums of thin products (ir/join.h); off behind split_batch, where they are sums over parts
  static OptimiseOptions none() { return {false, false, false, false, false}; }
};
TIDEMARK_API Graph optimise(Graph graph, const OptimiseOptions& options = {});

// The part of it that comes before the batch is split: what is not needed or known goes, and with `join` sums of thin products are joined.
TIDEMARK_API Graph simplified(Graph graph, bool join = true);

// Makes every update one that its storage can take: made in place from the old version by a node that no reader of the
// old version follows. Where that is not so, an `assign` at the end is.
TIDEMARK_API Graph place_updates(Graph graph);

// Moves what serves updates alone (the optimizer) to the first place where its inputs are there and nobody needs the old
// version any more, so that a gradient goes as soon as it is used. Updates must be placed.
TIDEMARK_API Graph early_updates(Graph graph);

}  // namespace tidemark
