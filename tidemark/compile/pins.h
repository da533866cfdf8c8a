// Pins: the user's word on what happens to named values, written into the Problem so that no plan can break it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/compiled.h"

namespace tidemark {

// By pin, the buffers that it decides on: those of a name that it matches and none before it does.
std::vector<std::vector<plan::BufferId>> pinned_buffers(const plan::Problem& problem,
                                                        const std::vector<Pin>& pins);

std::string to_string(const Pin& pin);  // "{"layer.*", keep}"

// Throws Error(usage) for a pattern that names no stored value, for a pin that cannot hold, and for one that pins of another kind before
// it leave nothing to.
void apply_pins(Posed& posed, const std::vector<Pin>& pins);

}  // namespace tidemark
