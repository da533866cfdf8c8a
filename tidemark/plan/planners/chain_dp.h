// The dynamic program of chain_dp for others: the search of solve starts from it on chains.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan::named {

// Most forward tasks of a chain that it takes.
inline constexpr std::size_t kLongestChain = 500;

// Runs of the best persistent plan of a chain within `budget` live bytes, in units of memory so coarse that the table takes about `seconds`. None where
// the problem is no chain, nothing fits, or the limit is reached.
std::vector<Step> chain_runs(const Problem& problem, Bytes budget, double seconds, const Limit& limit);

}  // namespace tidemark::plan::named
