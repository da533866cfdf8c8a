// Pins: the user's word on what happens to named values, written into the Problem so that no plan can break it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/compiled.h"

namespace tidemark {

// Throws Error(usage) for a pattern that names no stored value and for a pin that cannot hold.
void apply_pins(Posed& posed, const std::vector<Pin>& pins);

}  // namespace tidemark
