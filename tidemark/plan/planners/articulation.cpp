// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners/articulation.h"

#include <algorithm>

namespace tidemark::plan::named {

// Tarjan's low points on the undirected graph of the forward tasks, without recursion.
std::vector<std::int32_t> articulation_places(const Outline& o) {
  const auto n = static_cast<std::size_t>(o.forward_tasks());
  std::vector<std::vector<std::int32_t>> next(n);
  for (std::size_t i = 0; i < n; ++i)
    for (const BufferId b : o.problem->tasks[static_cast<std::size_t>(o.order[i])].reads) {
      const TaskId m = o.problem->buffers[static_cast<std::size_t>(b)].resident
                           ? -1
                           : o.maker[static_cast<std::size_t>(b)];
      if (m < 0) continue;
      const std::int32_t j = o.place[static_cast<std::size_t>(m)];
      // What begins in a tier and is updated by the backward part has its maker there.
      if (j == static_cast<std::int32_t>(i) || j >= static_cast<std::int32_t>(n)) continue;
      next[i].push_back(j);
      next[static_cast<std::size_t>(j)].push_back(static_cast<std::int32_t>(i));
    }
  struct Visit {
    std::int32_t node, parent;
    std::size_t edge;
    int children;
  };
  std::vector<std::int32_t> seen(n, -1), low(n, 0);
  std::vector<char> cut(n, 0);
  std::int32_t time = 0;
  for (std::size_t root = 0; root < n; ++root) {
    if (seen[root] >= 0) continue;
    std::vector<Visit> stack{{static_cast<std::int32_t>(root), -1, 0, 0}};
    seen[root] = low[root] = time++;
    while (!stack.empty()) {
      Visit& v = stack.back();
      const auto node = static_cast<std::size_t>(v.node);
      if (v.edge < next[node].size()) {
        const std::int32_t w = next[node][v.edge++];
        const auto other = static_cast<std::size_t>(w);
        if (seen[other] >= 0) {
          if (w != v.parent) low[node] = std::min(low[node], seen[other]);
          continue;
        }
        ++v.children;
        seen[other] = low[other] = time++;
        stack.push_back({w, v.node, 0, 0});
        continue;
      }
      const Visit done = v;
      stack.pop_back();
      if (stack.empty()) {
        cut[node] = done.children > 1;
        continue;
      }
      const auto parent = static_cast<std::size_t>(done.parent);
      low[parent] = std::min(low[parent], low[node]);
      if (stack.size() > 1 && low[node] >= seen[parent]) cut[parent] = 1;
    }
  }
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < n; ++i)
    if (cut[i]) out.push_back(static_cast<std::int32_t>(i));
  return out;
}

}  // namespace tidemark::plan::named
