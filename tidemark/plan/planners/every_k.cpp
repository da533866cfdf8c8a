// Keeps every k-th value that crosses the turn, with the k that suits the budget best.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {

Plan every_k(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const std::size_t n = o.activations.size();
  std::size_t k = 0;
  return cheapest(o, options, [&](std::vector<Step>& runs) {
    if (k > n) return false;
    // Every k up to 16, then some 12 % more each time; the last keeps none.
    k = k == n ? n + 1 : std::min(n, std::max(k + 1, k + k / 8));
    std::vector<char> keep(problem.buffers.size(), 0);
    for (std::size_t i = k - 1; i < n; i += k) keep[static_cast<std::size_t>(o.activations[i])] = 1;
    runs = runs_keeping(o, keep);
    return true;
  });
}

}  // namespace tidemark::plan::named
