// Gives up, over the turn, what costs least to make again per byte, until the budget holds.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners/keep_search.h"

namespace tidemark::plan::named {

Plan greedy(const Problem& problem, const Options& options) {
  const KeepSearch search(problem, options);
  return search.plan([&](Bytes budget, Limit& limit) { return search.greedy(budget, limit); });
}

}  // namespace tidemark::plan::named
