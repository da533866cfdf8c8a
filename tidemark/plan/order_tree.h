// The order of least peak where every made buffer has at most one reader: then making anything twice does not help, and the best
// order comes from combining the hills and valleys of the subtrees. Liu, "An application of generalized tree pebbling to
// sparse matrix factorization", SIAM J. Algebraic Discrete Methods 8 (1987).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tidemark/plan/problem.h"

namespace tidemark::plan::ordering {

struct TreeOrder {
  std::vector<TaskId> order;  // the tasks that are not optional; nothing in place
  std::string against;        // why the problem is no tree; "" where it is one
};

TreeOrder tree_order(const Problem& problem);

}  // namespace tidemark::plan::ordering
