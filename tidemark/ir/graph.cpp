// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/graph.h"

#include "tidemark/ir/op.h"

namespace tidemark {

std::vector<std::int32_t> makers(const Graph& graph) {
  std::vector<std::int32_t> maker(graph.values.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId v : graph.nodes[n].out)
      maker[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(n);
  }
  return maker;
}

void verify(const Graph& graph) {
  const auto size = static_cast<ValueId>(graph.values.size());
  std::vector<char> known(graph.values.size(), 0);
  const auto in_range = [&](ValueId v) { return v >= 0 && v < size; };
  for (const ValueId v : graph.inputs) {
    TIDEMARK_CHECK(in_range(v) && !known[static_cast<std::size_t>(v)],
                   "input %{} is out of range or given twice", v);
    known[static_cast<std::size_t>(v)] = 1;
  }
  std::vector<Type> types;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    TIDEMARK_CHECK(node.op != nullptr, "node {} has no op", n);
    types.clear();
    for (const ValueId v : node.in) {
      TIDEMARK_CHECK(in_range(v) && known[static_cast<std::size_t>(v)],
                     "node {} ({}) reads %{} before it is made", n, node.op->name, v);
      types.push_back(graph.type(v));
    }
    for (const Graph& region : node.regions) verify(region);
    const std::vector<Type> out = node.op->infer({node.op->name, types, node.attrs, node.regions});
    TIDEMARK_CHECK(out.size() == node.out.size(), "node {} ({}) makes {} values, its rule says {}", n,
                   node.op->name, node.out.size(), out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const ValueId v = node.out[i];
      TIDEMARK_CHECK(in_range(v) && !known[static_cast<std::size_t>(v)], "node {} ({}) makes %{} again", n,
                     node.op->name, v);
      known[static_cast<std::size_t>(v)] = 1;
      TIDEMARK_CHECK(graph.type(v) == out[i], "node {} ({}): %{} is {}, its rule says {}", n, node.op->name,
                     v, to_string(graph.type(v)), to_string(out[i]));
    }
  }
  for (const ValueId v : graph.outputs) {
    TIDEMARK_CHECK(in_range(v) && known[static_cast<std::size_t>(v)], "output %{} is never made", v);
  }
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const ValueId base = graph.values[v].alias_of;
    if (base < 0) continue;
    TIDEMARK_CHECK(in_range(base) && graph.value(base).alias_of < 0, "%{} views %{}, which is itself a view",
                   v, base);
  }
  for (const auto& [in, out] : graph.updates) {
    TIDEMARK_CHECK(in >= 0 && in < static_cast<int>(graph.inputs.size()) && out >= 0 &&
                   out < static_cast<int>(graph.outputs.size()));
    TIDEMARK_CHECK(graph.type(graph.inputs[static_cast<std::size_t>(in)]) ==
                       graph.type(graph.outputs[static_cast<std::size_t>(out)]),
                   "update of input {} by output {}: types differ", in, out);
  }
}

}  // namespace tidemark
