// Copies to tiers within a sequence of runs: those that start and end tiers ask for, and the time that all of them take
// beside the computation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/model.h"

namespace tidemark::plan {

// `order` with what comes from a tier fetched just before its first use, and what ends in one copied out behind its last. Waits
// for copies out come at once (`hold` false: least memory) or at the end (least time).
std::vector<TaskId> with_required_copies(const Model& model, const std::vector<TaskId>& order, bool hold);

// The clock of docs/format.md over a sequence; a fetched buffer is waited for at its first use, a copy is discarded when nothing
// fetches it any more. A timeline knows bytes and not what copies there are, so whether these make a plan is said here.
struct Clock {
  double seconds = 0;         // when the compute stream ends
  bool possible = true;       // copies keep the rules and fit the tiers' capacities
  std::vector<double> begin;  // by place in the sequence: when the compute stream gets there
};
Clock clock_of(const Model& model, const std::vector<TaskId>& runs);

struct CopyUses {
  std::vector<char>
      last;  // by place in the sequence: a fetch behind which the copy in the tier is of no more use
  std::vector<BufferId>
      unwanted;  // what a tier has from the start and nothing fetches: its room is free at once
};
CopyUses copy_uses(const Model& model, const std::vector<TaskId>& runs);

}  // namespace tidemark::plan
