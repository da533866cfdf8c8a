// Size-ordered fitting, the first answer of pack: items one after the other, each where it fits. Internal to
// pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/pack_items.h"
#include "tidemark/plan/pack_tree.h"

namespace tidemark::plan::packing {

// What comes first: the largest (ties by start, or by length of life), what lives at the busiest moment (ties
// by length of life, or by size), the longest-lived, the largest by bytes times sections, the earliest.
enum class Rule { size_start, size_duration, busiest_duration, busiest_size, duration, area, start };
enum class Fit { first, best };  // the lowest gap, or the smallest

std::vector<std::int32_t> order_by(const Items& items, Rule rule);
// Places all items in this order; stops at the first that ends above `limit` and names it, if one is given.
// `tree` is scratch. Once the clock's time is up it stops, too, at whichever is next.
struct Fitted {
  Layout layout;
  std::int32_t too_high = -1;
  std::int64_t placed = 0;
};
Fitted fit(const Items& items, std::span<const std::int32_t> order, Fit kind, AddressTree& tree,
           Units limit = std::numeric_limits<Units>::max(), const Limit* clock = nullptr);
// As an allocator would that does not know what comes: in order of their beginnings, each into the smallest room that is free then. In
// O(n log n), for want of time; an item counts with its largest height all its life.
Layout fit_in_turn(const Items& items);

}  // namespace tidemark::plan::packing
