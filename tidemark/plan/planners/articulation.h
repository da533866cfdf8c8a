// Articulation points of the forward part: tasks whose output alone connects what comes before with what comes behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {

// Places in the order, ascending.
std::vector<std::int32_t> articulation_places(const Outline& outline);

}  // namespace tidemark::plan::named
