// The proof of a plan file as it stands there; docs/proofs.md has the format. Internal to the checker of proofs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/problem.h"

namespace tidemark::plan::proof {

using Row = std::vector<std::int64_t>;  // as many numbers as a row of its name has, each from 0 to 2^60
using Rows = std::vector<Row>;

// Of two cases, of which every plan is one; or what is proven of all plans that the cases above it leave.
struct Node {
  bool by_order = false;
  Row decision;  // [a, b]: a first runs before b, or the opposite; else [t, b]: b is stored when t first runs, or not
  std::vector<Node> cases;  // two, the one in which it is so first; none: what follows counts
  Rows moments, need, keep, parts, links;
  bool impossible = false;
};
struct Text {
  int unit_exponent = 0;
  std::optional<Node> seconds, peak;
};

// Throws Error(data) naming the place. Tasks and buffers that rows name are there, and there is not more to do than can be done in some seconds.
Text read(std::string_view json, const Problem& problem);

}  // namespace tidemark::plan::proof
