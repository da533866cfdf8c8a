// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string_view>

#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"

namespace tidemark {

Graph fold(const Graph& graph, const EvaluateElement& evaluate) {
  // The value of each constant, and the op that makes one; found in the graph, since ir/ knows no op by name alone.
  std::vector<std::optional<double>> constant(graph.values.size());
  const Op* full = nullptr;
  for (const Node& node : graph.nodes) {
    if (std::string_view(node.op->name) == "full") full = node.op;
  }
  if (full == nullptr) return graph;
  Graph result = graph;
  for (Node& node : result.nodes) {
    if (node.op == full) {
      constant[static_cast<std::size_t>(node.out[0])] = node.attrs.number("value");
      continue;
    }
    if (!node.op->elementwise() || !repeatable(node) || node.in.empty() || node.out.size() != 1) continue;
    std::vector<DType> dtypes;
    std::vector<double> values;
    for (const ValueId v : node.in) {
      if (!constant[static_cast<std::size_t>(v)]) break;
      values.push_back(*constant[static_cast<std::size_t>(v)]);
      dtypes.push_back(graph.type(v).dtype);
    }
    if (values.size() != node.in.size()) continue;
    const Type& type = graph.type(node.out[0]);
    const std::optional<double> value = evaluate(node, dtypes, type.dtype, values);
    // Integers beyond 2^53 do not survive as a double.
    if (!value || (!is_float(type.dtype) && std::abs(*value) >= 0x1p53)) continue;
    constant[static_cast<std::size_t>(node.out[0])] = value;
    node.op = full;
    node.in.clear();
    node.attrs = Attrs{{"shape", type.shape.sizes()}, {"dtype", static_cast<std::int64_t>(type.dtype)}, {"value", *value}};
  }
  return dce(result);
}

}  // namespace tidemark
