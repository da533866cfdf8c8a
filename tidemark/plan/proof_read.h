// The proof of a plan file as it stands there; docs/proofs.md has the format. Internal to proof.cpp and proof_read.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/problem.h"

namespace tidemark::plan::proof {

using Row = std::vector<std::int64_t>;  // as many numbers as the row's name has fields, each from 0 to 2^60

struct Leaf {
  std::vector<Row> decisions, need, keep, sum, floors, links;
  std::vector<double> prices;
  bool impossible = false;
};
struct Seconds {
  int unit_exponent = 0;
  std::vector<TaskId> moments;
  std::vector<Leaf> leaves;
};
struct Peak {
  std::vector<TaskId> moments;
  Leaf leaf;
  bool end = false;
};
struct Text {
  std::optional<Seconds> seconds;
  std::optional<Peak> peak;
};

// Throws Error(data) naming the place; ids of tasks are in [0, tasks).
Text read(std::string_view json, std::size_t tasks);

}  // namespace tidemark::plan::proof
