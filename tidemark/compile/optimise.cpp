// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/optimise.h"

namespace tidemark {

Graph optimise(Graph graph, const OptimiseOptions& options) {
  const auto verified = [](Graph g) {
    verify(g);
    return g;
  };
  graph = verified(place_updates(std::move(graph)));
  if (options.early_updates) graph = verified(early_updates(std::move(graph)));
  return graph;
}

}  // namespace tidemark
