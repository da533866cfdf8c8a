// Where to start: what to keep over one moment of a timeline and what to make again after it, as a minimum cut with priced bytes.
// The same relaxation as the bound's; its answers are sets of tasks to run again, placed as late as they can be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/timeline.h"

namespace tidemark::plan {

struct Cut {
  std::int32_t moment = 0;       // slot of the run before which the choice is made
  double seconds = 0;            // of what is run again
  Bytes stored = 0;              // bytes kept over the moment, beyond what its own run needs
  std::vector<TaskId> again;     // in order of their runs
};

// The answers for the prices whose stored bytes are next to `room` on either side (the one that fits last), fewer when one price
// is enough. `room`: bytes for what is kept over the moment. The timeline runs no task twice before the moment.
std::vector<Cut> cuts_at(const Timeline& line, std::int32_t moment, Bytes room, const Limit& limit);
// Bytes at `moment` that its own run needs: what it reads and writes, and its workspace.
Bytes bytes_of_run(const Timeline& line, std::int32_t moment);
// Runs them again, each just before it is needed first after the moment. False and nothing done when there is no room for the runs.
bool apply_cut(Timeline& line, const Cut& cut);

}  // namespace tidemark::plan
