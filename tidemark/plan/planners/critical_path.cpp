// Keeps what lies on the critical path of the forward part, the path of greatest time through it, and makes the branches
// beside it again; under a budget every k-th value of the path is kept.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {

Plan critical_path(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const auto n = static_cast<std::size_t>(o.forward_tasks());
  std::vector<double> until(n, 0);
  std::vector<std::int32_t> from(n, -1);
  std::size_t last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Task& task = problem.tasks[static_cast<std::size_t>(o.order[i])];
    for (const BufferId b : task.reads) {
      const TaskId m = o.maker[static_cast<std::size_t>(b)];
      const std::int32_t j = m < 0 ? -1 : o.place[static_cast<std::size_t>(m)];
      if (j < 0 || j >= static_cast<std::int32_t>(i)) continue;
      if (from[i] < 0 || until[static_cast<std::size_t>(j)] > until[static_cast<std::size_t>(from[i])])
        from[i] = j;
    }
    until[i] = task.seconds + (from[i] < 0 ? 0 : until[static_cast<std::size_t>(from[i])]);
    if (until[i] >= until[last]) last = i;
  }
  std::vector<std::int32_t> path;
  for (auto i = n == 0 ? -1 : static_cast<std::int32_t>(last); i >= 0; i = from[static_cast<std::size_t>(i)])
    path.push_back(i);
  std::reverse(path.begin(), path.end());
  std::size_t k = 0;
  return cheapest(o, options, [&](std::vector<Step>& runs) {
    if (k > path.size()) return false;
    k = k == path.size() ? k + 1 : std::min(path.size(), std::max(k + 1, k + k / 8));
    std::vector<char> keep(problem.buffers.size(), 0);
    for (std::size_t i = k - 1; i < path.size(); i += k)
      for (const BufferId b :
           problem.tasks[static_cast<std::size_t>(o.order[static_cast<std::size_t>(path[i])])].writes)
        keep[static_cast<std::size_t>(b)] = 1;
    runs = runs_keeping(o, keep);
    return true;
  });
}

}  // namespace tidemark::plan::named
