// Packing into a given height by ejection (after Nagata and Braysy 2009, who insert customers into routes): what has no place takes one
// from others, those that are easiest to place again; who was hard to place is dear to move. Proves nothing, and often ends within a per
// cent of the most bytes live where placing in one order after another leaves holes of ten. Internal to pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/pack_exact.h"

namespace tidemark::plan::packing {

// Whether all items have a place below `height`; then they are in `offsets`. An item counts with its largest height all its life. Decreases
// budget.nodes by one for each item placed.
bool eject(const Items& items, Units height, std::uint64_t seed, Budget& budget, std::vector<Units>& offsets);

}  // namespace tidemark::plan::packing
