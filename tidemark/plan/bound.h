// Lower bounds on the time of any plan for a budget, with the cuts that give them: certificates, and the best
// first plans of the search at the same time. docs/proofs.md argues their validity.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <limits>

#include "tidemark/plan/cut.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {

struct BoundOptions {
  Bytes budget = -1;        // -1: no limit
  double time_limit = 0.5;  // process CPU seconds
  // Minimum cuts to make at most; with it reached before the time limit, the result is the same on every
  // machine.
  std::int64_t effort = 20'000;
  // A plan that is known: a bound that reaches it is not raised further.
  double known_seconds = std::numeric_limits<double>::infinity();
  // Where a bound was best before, and the price of a byte there: no other moment is looked for, but with `scan`. -1: the best is.
  TaskId moment = -1;
  double price = 0;
  bool scan = false;
  bool branch = true;
  bool stages = true;  // several moments at once
  bool orders = true;  // cases by which of two tasks first runs before the other
  int leaves = 256;    // of the branching, at most
  bool peak = true;    // with a bound on the peak
  bool certificate = true;
  const std::atomic<bool>* stop = nullptr;  // once it is set: ends soon, with what is proven so far
  std::function<bool()> go_on;  // likewise once it says no; asked now and then, on the caller's thread
};

struct BoundResult {
  double seconds = 0;        // no plan for the budget is faster
  double floor_seconds = 0;  // every task once, the cheapest way: the bound without a budget
  bool infeasible = false;   // no plan exists: at `moment`, more than the budget is live
  TaskId moment = -1;        // where one cut proves most; -1: none proves anything, or there was no time
  bool hurried = false;      // there was no time to look at all the moments that might be better
  double price = 0;          // of a byte there: how steep the bound of that moment is, in seconds
  // Best bound first, at different moments; `less` fits the budget, `more` is the next that does not.
  struct Choice {
    Cut less, more;
  };
  std::vector<Choice> choices;
  std::int64_t cuts = 0;
  int leaves = 1;
  std::vector<TaskId> moments;  // of the proof
  PeakBound peak;               // of every plan, whatever the budget
  Proof proof;                  // of both
};

TIDEMARK_API BoundResult bound(const Problem& problem, const BoundOptions& options);
TIDEMARK_API BoundResult bound(const Values& values, const BoundOptions& options);

}  // namespace tidemark::plan
