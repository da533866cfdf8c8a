// Where to start: what to keep over one moment of a timeline and what to make again after it, as a minimum cut with priced bytes.
// The same relaxation as the bound's; its answers are sets of tasks to run again, placed as late as they can be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/drops.h"

namespace tidemark::plan {

struct CutStart {
  std::int32_t moment = 0;       // slot of the run before which the choice is made
  double seconds = 0;            // of what is run again
  Bytes stored = 0;              // bytes kept over the moment, beyond what its own run needs
  std::vector<TaskId> again;     // in order of their runs
};

// The answers for the prices whose stored bytes are next to `room` on either side (the one that fits last), fewer when one price
// is enough. `room`: bytes for what is kept over the moment. The timeline runs no task twice before the moment.
std::vector<CutStart> cuts_at(const Timeline& line, std::int32_t moment, Bytes room, const Limit& limit);
// Between two answers of cuts_at: the parts in which they differ and that nothing connects (equal layers, say) are taken over from `more`
// one after the other until `room` is kept.
CutStart mix(const Timeline& line, const CutStart& fewer, const CutStart& more, Bytes room);
// Bytes at `moment` that its own run needs: what it reads and writes, and its workspace.
Bytes bytes_of_run(const Timeline& line, std::int32_t moment);
// Runs them again, each just before it is needed first after the moment. False and nothing done when there is no room for the runs.
bool apply_cut(Timeline& line, const CutStart& cut);

struct CutRule {
  enum class Side { fewer, more, mixed } side = Side::mixed;
  double margin = 1;   // of the room at a moment: less leaves some for what making again needs
  double leave = 0.01; // overflow, as a part of the budget, that is left to single drops
  int most_cuts = 40;
};
// A cut at the peak, again and again, then single drops. True if it fits.
bool repair_by_cuts(Timeline& line, Drops& drops, const CutRule& rule, Rng& rng, const Limit& limit);

}  // namespace tidemark::plan
