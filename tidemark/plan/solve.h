// solve: Problem in, Plan out. Anytime, deterministic for a seed and effort, checked before it is returned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/plan.h"

namespace tidemark::plan {

struct Progress {
  double seconds_elapsed = 0;
  double best_seconds = 0;  // of the best plan so far; infinity before the first
  double bound = 0;
  const char* phase = "";
};

struct Options {
  Bytes budget = -1;        // -1: no limit
  double time_limit = 1.0;  // of the planner's clock: process CPU seconds, or work counted (cpu_clock.h)
  // Rounds of search; the result depends on seed and effort alone when the time limit is not reached. -1: until time_limit.
  std::int64_t effort = -1;
  // Each searches on its own and the best is taken; they share time_limit and effort, so more of them save time on the clock, not CPU seconds.
  // The result depends on their number too.
  int threads = 1;
  std::uint64_t seed = 0;
  double target_gap = 0;  // stop when (seconds - bound) / bound is at or below it
  bool offsets = true;    // pack; else peak is live_peak
  // Techniques, each of which can be switched off.
  bool reorder = true, recompute = true, makers = true, in_place = true, tiers = true, blocks = true,
       bounds = true;
  // A plan for the same problem, whatever its budget; one that does not carry out is Error(usage). What the switches above forbid is left aside.
  const Plan* warm_start = nullptr;
  std::function<bool(const Progress&)> progress;  // false: stop now with the best so far
};

TIDEMARK_API Plan solve(const Problem& problem, const Options& options = {});

}  // namespace tidemark::plan
