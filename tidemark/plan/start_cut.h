// Where to start: what to keep over one moment of a timeline and what to make again after it, as a minimum cut with priced bytes.
// The same relaxation as the bound's; its answers are sets of tasks to run again, placed as late as they can be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/drops.h"

namespace tidemark::plan {

struct CutStart {
  std::int32_t moment = 0;  // slot of the run before which the choice is made
  double seconds = 0;       // of what is run again
  Bytes stored = 0;         // bytes kept over the moment, beyond what its own run needs
  struct Again {
    TaskId task;
    // It could as well have waited: it runs after the moment instead of before, and costs nothing.
    bool waits;
  };
  std::vector<Again> again;  // in order of their runs
};

// The answers for the prices whose stored bytes are next to `room` on either side (the one that fits last), fewer when one price
// is enough. `room`: bytes for what is kept over the moment. `segments` > 1: what crosses from one part of the sequence to another is not made
// again, so that no more than a part is at a time. `wait`: what the run at the moment does not need may run after it instead of before; no
// answers where nothing can. The timeline runs no task twice before the moment.
std::vector<CutStart> cuts_at(const Timeline& line, std::int32_t moment, Bytes room, int segments, bool wait,
                              const Limit& limit);
// Between two answers of cuts_at: the parts in which they differ and that nothing connects (equal layers, say) are taken over from `more`
// one after the other until `room` is kept.
CutStart mix(const Timeline& line, const CutStart& fewer, const CutStart& more, Bytes room);
// Bytes at `moment` that its own run needs: what it reads and writes, and its workspace.
Bytes bytes_of_run(const Timeline& line, std::int32_t moment);
// Runs them again, each just before it is needed first after the moment, and not before it where that is of no use then. Assigns the timeline anew, with `room` slots between runs.
void apply_cut(Timeline& line, const CutStart& cut, int room);

struct CutRule {
  enum class Side { fewer, more, mixed } side = Side::mixed;
  double margin = 1;    // of the room at a moment: less leaves some for what making again needs
  double leave = 0.01;  // overflow, as a part of the budget, that is left to single drops
  int most_cuts = 1;
  int segments = 0;  // of the first cut
  bool wait = false;     // what can run after a moment may do so
  double worth = 1e300;  // seconds: nothing more is done where the first cut takes as many
  double most_seconds = 1e300;
  double give_up = 1e9;  // when the peak is this many times the budget after the cuts
};
struct CutRepair {
  bool fits = false;
  double first_cut = 0;  // seconds
};
// A cut at the peak, again and again, then single drops.
CutRepair repair_by_cuts(Timeline& line, Drops& drops, const CutRule& rule, Rng& rng, const Limit& limit);

}  // namespace tidemark::plan
