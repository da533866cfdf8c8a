// Mixed restart/adjoint-dependency checkpointing in closed form, for the schedule and for whoever prices it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/api.h"
#include "tidemark/schedule/walk.h"

namespace tidemark::schedule {

// Forward steps, the taped ones included, to reverse `steps` with `units` that hold a state or one step's
// adjoint data.
TIDEMARK_API std::int64_t mixed_steps(std::int64_t steps, std::int64_t units);
// Where the first state after the one stored goes; steps > units + 1.
TIDEMARK_API std::int64_t mixed_split(std::int64_t steps, std::int64_t units);

}  // namespace tidemark::schedule
