// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_improve.h"

#include <algorithm>

namespace tidemark::plan::packing {

Improver::Improver(const Items& items, std::vector<std::int32_t> order, Fit kind, std::uint64_t seed)
    : items_(items), order_(std::move(order)), kind_(kind), rng_(seed) {}

bool Improver::step(Units limit, AddressTree& tree, Layout& layout) {
  Fitted fitted = fit(items_, order_, kind_, tree, limit);
  if (fitted.too_high < 0) {
    layout = std::move(fitted.layout);
    return true;
  }
  const auto at = std::find(order_.begin(), order_.end(), fitted.too_high);
  const auto place = at - order_.begin();
  std::rotate(order_.begin() + rng_.below(place + 1), at, at + 1);
  return false;
}

}  // namespace tidemark::plan::packing
