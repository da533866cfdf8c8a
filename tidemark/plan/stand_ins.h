// Optional updates that stand in for updates of the list: the search takes updates as the list has them, so here the list is rewritten, one
// choice of stand-ins after another, and each is solved. Internal to solve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/solve.h"

namespace tidemark::plan {

bool has_stand_ins(const Problem& problem);

// `search(problem, options, thorough)` solves with the updates of the list alone. The plan is checked.
using SearchList = std::function<Plan(const Problem&, const Options&, bool)>;
Plan solve_with_stand_ins(const Problem& problem, const Options& options, bool below,
                          const SearchList& search);

}  // namespace tidemark::plan
