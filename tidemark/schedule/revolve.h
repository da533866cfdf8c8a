// Revolve's split, for the schedules that build on it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/schedule/walk.h"

namespace tidemark::schedule {

// Steps advanced over (all forward steps but the taped ones) to reverse `steps` with `slots` states, the
// first of which holds state 0: r steps - C(slots + r, r - 1), Griewank & Walther 2000, Proposition 1.
TIDEMARK_API std::int64_t revolve_advances(std::int64_t steps, std::int64_t slots);
// Where revolve puts the second state: the steps before it; 1 <= result < steps.
TIDEMARK_API std::int64_t revolve_split(std::int64_t steps, std::int64_t slots);

// Frame::budget is the number of slots of the segment, its own included.
class RevolvePolicy final : public Policy {
 public:
  Choice choose(const Frame& frame) override;
};

}  // namespace tidemark::schedule
