// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_improve.h"

#include <algorithm>
#include <utility>

namespace tidemark::plan::packing {

Improver::Improver(const Items& items, std::vector<std::int32_t> order, Fit kind, std::uint64_t seed)
    : items_(items), order_(std::move(order)), kind_(kind), rng_(seed) {}

Fitted Improver::step(Units limit, AddressTree& tree, const Limit& clock) {
  Fitted fitted = fit(items_, order_, kind_, tree, limit, &clock);
  if (fitted.too_high >= 0) {
    const auto at = order_.begin() + fitted.placed;
    std::rotate(order_.begin() + rng_.below(fitted.placed + 1), at, at + 1);
  }
  return fitted;
}

}  // namespace tidemark::plan::packing
