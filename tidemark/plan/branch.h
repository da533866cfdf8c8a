// Branching on "stored or not" at one moment, where a few large values make the priced relaxation loose. Part
// of bound. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "tidemark/plan/certificate.h"
#include "tidemark/plan/cut.h"

namespace tidemark::plan {

// Of a tree of nodes with `seconds` and `left`, -1 in a leaf: the leaf with the lowest bound.
template <typename Node>
int lowest_leaf(const std::vector<Node>& nodes) {
  int lowest = -1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].left < 0 &&
        (lowest < 0 || nodes[i].seconds < nodes[static_cast<std::size_t>(lowest)].seconds))
      lowest = static_cast<int>(i);
  }
  return lowest;
}

struct BranchOptions {
  Bytes budget = 0;
  double enough = std::numeric_limits<double>::infinity();  // no need to prove more
  int leaves = 64;                                          // at most
  double price = 0;                                         // to begin with, where one is known to be good
  std::function<bool()> go_on;                              // asked before each leaf is split
};

// Best-first: always splits the leaf with the lowest bound, on the largest value that the two cuts beside its
// best price treat differently. The bound is that of the certificate's lowest leaf.
Certificate branch(const Values& values, CutModel& model, const BranchOptions& options);

}  // namespace tidemark::plan
