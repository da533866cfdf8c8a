// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"

namespace tidemark {

Graph dce(const Graph& graph) {
  std::vector<char> needed(graph.values.size(), 0);
  const auto need = [&](ValueId v) {
    needed[static_cast<std::size_t>(v)] = 1;
    const ValueId base = graph.value(v).alias_of;
    if (base >= 0) needed[static_cast<std::size_t>(base)] = 1;
  };
  for (const ValueId v : graph.inputs) need(v);
  for (const ValueId v : graph.outputs) need(v);
  std::vector<char> kept(graph.nodes.size(), 0);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    bool wanted = node.op->facts.effect;
    for (const ValueId v : node.out) wanted = wanted || needed[static_cast<std::size_t>(v)];
    if (!wanted) continue;
    kept[n] = 1;
    for (const ValueId v : node.in) need(v);
    // Outputs that nobody reads still need a place to be written to.
    for (const ValueId v : node.out) need(v);
  }
  Graph result;
  std::vector<ValueId> renamed(graph.values.size(), -1);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (!needed[v]) continue;
    renamed[v] = static_cast<ValueId>(result.values.size());
    result.values.push_back(graph.values[v]);
  }
  const auto rename = [&](std::vector<ValueId>& ids) {
    for (ValueId& v : ids) v = renamed[static_cast<std::size_t>(v)];
  };
  for (Value& v : result.values) {
    if (v.alias_of >= 0) v.alias_of = renamed[static_cast<std::size_t>(v.alias_of)];
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!kept[n]) continue;
    result.nodes.push_back(graph.nodes[n]);
    rename(result.nodes.back().in);
    rename(result.nodes.back().out);
  }
  result.inputs = graph.inputs;
  result.outputs = graph.outputs;
  rename(result.inputs);
  rename(result.outputs);
  result.updates = graph.updates;
  return result;
}

}  // namespace tidemark
