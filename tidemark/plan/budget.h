// Budgets and the figures that they are measured by: what is always there, what keeping everything takes, and
// the least time of any plan. Used by the program, the planners and the benches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tidemark/plan/problem.h"

namespace tidemark::plan {

// The resident buffers.
TIDEMARK_API Bytes resident_bytes(const Problem& problem);
// The list run once, nothing in place, each buffer dropped after its last use; `start` buffers count all
// along.
TIDEMARK_API Bytes store_all_live_peak(const Problem& problem);
// Every task that is not optional once, in the cheapest way that is offered: a lower bound on any plan's
// seconds.
TIDEMARK_API double floor_seconds(const Problem& problem);

// Resident + fraction of what store-all takes beyond it, rounded down: what "60%" means for 0.6.
TIDEMARK_API Bytes budget_at(const Problem& problem, double fraction);
// "8GiB" or "60%". Throws Error(usage) naming the text. "min" is the caller's to answer.
TIDEMARK_API Bytes parse_budget(const Problem& problem, std::string_view text);

}  // namespace tidemark::plan
