// Derivatives as graphs. reverse and forward are source transformations: the result is a Graph like any
// other, so it can be printed, optimised, planned, emitted and differentiated again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/ir/graph.h"

namespace tidemark {

// What comes behind f's nodes (ids of f's values stay valid in it). Inputs: f's, then one cotangent for each
// output in `of`. Outputs: f's, then the gradient with respect to each value of `wrt` (zeros where nothing
// depends on it).
TIDEMARK_API Graph reverse(const Graph& f, std::span<const ValueId> of, std::span<const ValueId> wrt);

// Inputs: f's, then one tangent for each value of `wrt`. Outputs: f's, then a tangent for each of f's
// outputs.
TIDEMARK_API Graph forward(const Graph& f, std::span<const ValueId> wrt);

}  // namespace tidemark
