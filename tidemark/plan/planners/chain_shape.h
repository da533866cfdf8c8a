// A problem read as a loop: a chain of forward tasks, and behind it, for each of them in reverse, the tasks that need what it
// read or made. What revolve and chain_dp apply to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {

struct ChainShape {
  // Value i is made by forward[i - 1] and read by forward[i]; value 0 is resident, or nothing.
  std::vector<TaskId> forward;
  std::vector<BufferId> value;            // [0] is -1
  std::vector<std::vector<TaskId>> back;  // by step: tasks in the order of the list; step n - 1 runs first
  std::vector<char> needs_in, needs_out;  // by step: whether its tasks read value i, value i + 1

  std::size_t steps() const { return forward.size(); }
};

// Nothing where the problem is no chain; `against` then names the task that stands against it.
std::optional<ChainShape> find_chain(const Outline& outline, std::string& against);
// Throws Error(unsupported) in `name` instead.
ChainShape chain_shape(const char* name, const Outline& outline);

}  // namespace tidemark::plan::named
