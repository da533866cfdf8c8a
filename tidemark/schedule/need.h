// Refusals that all schedules share, in one wording.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tidemark/base/error.h"

namespace tidemark::schedule {

inline void need(std::string_view name, std::string_view what, std::int64_t given, std::int64_t least) {
  if (given < least) fail(Error::Kind::usage, "[{}] {} {} vs at least {}", name, what, given, least);
}

// Longer loops would be counted for years, and their binomials need care.
inline void need_steps(std::string_view name, std::int64_t steps) {
  need(name, "steps", steps, 1);
  if (steps > 1'000'000'000'000) fail(Error::Kind::usage, "[{}] steps {} vs at most 10^12", name, steps);
}

inline void need_cost(std::string_view name, std::string_view what, double given) {
  if (!(given >= 0) || given > 1e30)
    fail(Error::Kind::usage, "[{}] {} {} vs a number from 0", name, what, given);
}

}  // namespace tidemark::schedule
