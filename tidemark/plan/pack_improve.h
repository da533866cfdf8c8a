// Better packings of large sets: fit again and again, and let what did not fit go first next time ("squeaky
// wheel" optimisation, Joslin and Clements 1999). Internal to pack. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/random.h"
#include "tidemark/plan/pack_greedy.h"

namespace tidemark::plan::packing {

class Improver {
 public:
  Improver(const Items& items, std::vector<std::int32_t> order, Fit kind, std::uint64_t seed);
  // One fit below `limit`; where not all items fit, the order has changed for the next.
  Fitted step(Units limit, AddressTree& tree, const Limit& clock);

 private:
  const Items& items_;
  std::vector<std::int32_t> order_;
  Fit kind_;
  Rng rng_;
};

}  // namespace tidemark::plan::packing
