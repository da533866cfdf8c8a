// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/labels.h"

namespace tidemark {

Labels labels_of(const Posed& posed) {
  Labels labels;
  const Graph& graph = posed.binding.graph;
  const std::vector<std::int32_t> maker = makers(graph);
  for (const ValueId v : posed.binding.value_of_buffer) {
    // Buffers without a value (an optional maker's own) have no label.
    labels.type.push_back(v < 0 ? "" : to_string(graph.type(v)));
    const std::int32_t node = v < 0 ? -1 : maker[static_cast<std::size_t>(v)];
    std::string line = node < 0 ? "" : to_string(graph.nodes[static_cast<std::size_t>(node)].loc);
    // What the transform itself wrote has no line of the user's.
    if (line.starts_with("level.cpp:")) line.clear();
    labels.line.push_back(std::move(line));
  }
  return labels;
}

}  // namespace tidemark
