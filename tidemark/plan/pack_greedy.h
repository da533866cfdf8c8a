// Size-ordered fitting, the first answer of pack: items one after the other, each where it fits. Internal to
// pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/pack_items.h"
#include "tidemark/plan/pack_tree.h"

namespace tidemark::plan::packing {

enum class Rule { size_start, size_duration, size_end, area, duration, start };
enum class Fit { first, best };  // the lowest gap, or the smallest

std::vector<std::int32_t> order_by(const Items& items, Rule rule);
// Places all items in this order. `tree` is scratch.
Layout fit(const Items& items, std::span<const std::int32_t> order, Fit kind, AddressTree& tree);

}  // namespace tidemark::plan::packing
