// The best plan of a tiny problem by trying everything: what bounds and planners are tested against. All
// features but tiers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/plan.h"

namespace tidemark::plan {

struct Exhaustive {
  bool complete = true;           // false: too many states; nothing else is set
  std::optional<double> seconds;  // of the fastest plan within the budget; none if there is no plan
  std::vector<Step> steps;        // one such plan
};

// At most 32 buffers and 32 tasks, no tiers.
Exhaustive fastest(const Problem& problem, Bytes budget, std::size_t most_states = 200'000);
// The least live peak of any plan; none if there were too many states.
std::optional<Bytes> least_peak(const Problem& problem, std::size_t most_states = 200'000);

// With copies to tiers, of any capacity; nothing in place. `steps` are left out.
Exhaustive fastest_with_copies(const Problem& problem, Bytes budget, std::size_t most_states);

}  // namespace tidemark::plan
