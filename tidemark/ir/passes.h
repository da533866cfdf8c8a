// Passes over a Graph that keep what it computes, bit for bit. Each is linear or nearly so, and without recursion.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Leaves out nodes that no output needs (those with an effect stay) and values that nothing names.
TIDEMARK_API Graph dce(const Graph& graph);

// Whether a node may run twice: the same bits each time, and no effect; what its regions hold included.
TIDEMARK_API bool repeatable(const Node& node);
TIDEMARK_API bool repeatable(const Graph& graph);

// By bits: 0.0 and -0.0 are equal numbers and different constants.
TIDEMARK_API bool same_attrs(const Attrs& a, const Attrs& b);

// One node for all that do the same to the same values.
TIDEMARK_API Graph cse(const Graph& graph);

// Elementwise nodes on constants (`full`) become constants. `evaluate` runs one element; ir/ itself runs nothing.
using EvaluateElement = std::function<std::optional<double>(const Node& node, std::span<const DType> in, DType out, std::span<const double> values)>;
TIDEMARK_API Graph fold(const Graph& graph, const EvaluateElement& evaluate);

}  // namespace tidemark
