// Chooses the moments of a bound from several moments: those after the best single one at which a run itself
// needs much memory. Part of bound. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/stages.h"

namespace tidemark::plan {

struct StageOptions {
  Bytes budget = 0;
  double enough = 0;  // no need to prove more
  int most_moments = 6;  // of those that are tried in pairs
  int most_grown = 12;   // of those that come one at a time
  int candidates = 12;
  TaskId late = -1;  // a task that is said to come late, if any: moments before it are the likelier ones
  const Limit* limit = nullptr;  // ends a program under way
  // Asked before each program, with its number of moments and the seconds proven by several so far.
  std::function<bool(int moments, double best)> go_on;
};

struct StageSearch {
  StageBound best;  // `seconds` is 0 unless it proves more than `single`, the bound of the first moment alone
  StageBound pair;  // the best of two moments: small programs, of which many leaves can be afforded
};

StageSearch search_stages(const Values& values, TaskId first, double single, const StageOptions& options);

}  // namespace tidemark::plan
