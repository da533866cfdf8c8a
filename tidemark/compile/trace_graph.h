// Tape → Graph: a trace of scalar operations (tape/trace.h) as a Graph of operations on arrays. Scalars that are made alike from what was made
// alike become the elements of one array, so a loop over cells is a handful of nodes, however long, and what its iterations read are
// slices; long sums keep their order. The graph computes the trace's numbers, bit for bit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/tensor.h"
#include "tidemark/tape/trace.h"

namespace tidemark {

struct TraceGraph {
  // Inputs: the trace's, arrays of f64, or of f32 where it is `single`, then tables of constants and indices. Outputs: the trace's, then one number: how many guards fail.
  Graph graph;
  Tensors tables;
};

struct TraceGraphOptions {
  // Code that does not repeat makes a node of every operation: beyond so many it is refused with Error(unsupported).
  int max_nodes = 20'000;
};
TIDEMARK_API TraceGraph graph_of(const tape::Trace& trace, const TraceGraphOptions& options = {});

}  // namespace tidemark
