// The proof of a plan file as it stands there; docs/proofs.md has the format. Internal to the checker of proofs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/problem.h"

namespace tidemark::plan::proof {

using Row = std::vector<std::int64_t>;  // as many numbers as the row's name has fields, each from 0 to 2^60

struct Leaf {
  std::vector<Row> decisions, prices, need, keep, sum, floors, links;
  bool impossible = false;
};
struct MomentText {
  TaskId task = -1;
  std::vector<Row> after;
};
struct Case {
  std::vector<Row> order;
  std::vector<MomentText> moments;
  std::vector<Leaf> leaves;
};
struct Part {
  int unit_exponent = 0;
  std::vector<Case> cases;
  bool end = false;
};
struct Text {
  std::int64_t version = 1;
  std::vector<Row> never_first;
  std::optional<Part> seconds, peak;
};

// Throws Error(data) naming the place; ids of tasks are in [0, tasks).
Text read(std::string_view json, std::size_t tasks);

}  // namespace tidemark::plan::proof
