// From an order of runs to a whole plan: drops, copies that start and end tiers ask for, figures, offsets.
// What the planners that decide only on runs share; each of them ends with finish.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/plan/pack.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

// `runs` are steps of kind run, in order, with the in-place pairs that they use. A buffer is dropped after
// its last use before it is made again, or before the end. A buffer that starts in a tier is fetched just
// before it is read, one that ends in one is copied out after its last use, both waited for at once. Over
// budget: an infeasible plan with the peak in `smallest_peak`. A tier too small for what ends there:
// timed_out without steps, with a reason. The result is checked; runs that make no plan are Error(internal).
TIDEMARK_API Plan finish(const Problem& problem, std::vector<Step> runs, const Options& options);

// The steps and figures that finish gives without offsets, unchecked and whatever the budget. A `reason` says
// that a tier overflows.
TIDEMARK_API Plan with_drops(const Problem& problem, std::vector<Step> runs);

// Whether no task has to run, nor would help if it did: the best plan is the one of no runs, which finish gives.
TIDEMARK_API bool no_run_helps(const Problem& problem);

// When each buffer and workspace of the steps is live, in the order of their creation, which `plan.placements` then has too.
std::vector<Interval> lives_of(const Problem& problem, Plan& plan);
// Each of `plan.placements`, as lives_of gives them, its place.
void take_places(const Problem& problem, Plan& plan, const Packing& packing);

// Gives every buffer and workspace of `plan`'s steps a place: placements, arena_bytes, peak. Stops early at a
// packing that fits `capacity` (the arena's share of the budget; -1: as small as possible). `counted`: after a fixed
// amount of search, so that the answer does not depend on the time unless that is up before. `go_on` is asked now and then; a no ends it soon.
TIDEMARK_API void place(const Problem& problem, Plan& plan, Bytes capacity, double time_limit, bool counted,
                        const std::function<bool()>& go_on = {});

// The same with offsets known beforehand: of the buffer that the run of this number creates, or its workspace.
TIDEMARK_API void place_at(const Problem& problem, Plan& plan,
                           const std::function<Bytes(std::int32_t run, BufferId buffer)>& offset_of);

}  // namespace tidemark::plan
