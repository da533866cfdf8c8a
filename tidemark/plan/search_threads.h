// One search on several threads. Internal to solve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/search.h"

namespace tidemark::plan {

struct SearchThreads {
  int count;
  bool counted;  // rounds are spent, not time
  // Asked with the first search, on the caller's thread; false: that is all.
  std::function<bool(Search& first)> go_on;
};

// The starts of `search` on each thread, other random numbers, a share of the limit; the best of what they find, the first of equals: so with counted rounds the
// result depends on seed, effort and threads alone.
void improve_on_threads(Search& search, const Model& model, SearchOptions options, const Limit& limit,
                        const SearchThreads& threads);

}  // namespace tidemark::plan
