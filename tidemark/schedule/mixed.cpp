// Mixed checkpointing: a unit of memory holds either a state to restart from or the adjoint data of one step,
// both taken to be of one size. Maddison, "Step-based checkpointing with high-level algorithmic
// differentiation", J. Comput. Sci. 82 (2024), gives the recurrence
//   T(n, s) = n for n <= s + 1,   T(n, 1) = n (n + 1) / 2 - 1,
//   T(n, s) = min(1 + T(n - 1, s - 1), min over 2 <= i < n of i + T(i, s) + T(n - i, s - 1)).
// Its solution, which is used here: with revolve's ranges, level r being the steps n in (reach(s, r),
// reach(s, r + 1)], T(n, s) - T(n - 1, s) is 1 on level 0, and level r > 0 has for j = 1..s in turn C(j + r -
// 2, r - 1) groups, each of one r + 2 and then s - j times r + 1. A group is a segment that is run from a
// state and taped whole; it costs one more because the state takes a unit. The groups of (s, r) are those of
// (s, r - 1), left of the split, and those of (s - 1, r), right of it (Pascal's rule, size by size), which
// gives the split. tests/schedule/mixed_test.cpp holds all this against the recurrence.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/mixed.h"

#include "tidemark/schedule/binomial.h"
#include "tidemark/schedule/need.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

// Groups of size s - j + 1 on a level; on level 0, by convention, one of size s.
std::int64_t groups(std::int64_t level, std::int64_t j) {
  return level == 0 ? j == 1 : binomial(j + level - 2, level - 1);
}

class MixedPolicy final : public Policy {
 public:
  Choice choose(const Frame& f) override {
    const std::int64_t n = f.to - f.from, s = f.budget;
    if (n <= s + 1) return {.kind = Choice::Kind::tape, .child_budget = s - 1};
    if (!f.stored) return {.kind = Choice::Kind::store, .budget = s};
    return {
        .kind = Choice::Kind::split, .at = f.from + mixed_split(n, s), .budget = s, .child_budget = s - 1};
  }
};

}  // namespace

std::int64_t mixed_steps(std::int64_t steps, std::int64_t units) {
  if (steps <= units + 1) return steps;
  const std::int64_t level = repetition(steps, units) - 1;
  std::int64_t total = units + 1;
  for (std::int64_t r = 1; r < level; ++r)
    total += (r + 1) * binomial(units + r, r + 1) + binomial(units + r - 1, r);
  std::int64_t rest = steps - reach(units, level);
  total += (level + 1) * rest;
  for (std::int64_t j = 1; rest > 0 && j <= units; ++j) {
    const std::int64_t size = units - j + 1, here = std::min(groups(level, j), (rest + size - 1) / size);
    total += here;
    rest -= here * size;
  }
  return total;
}

std::int64_t mixed_split(std::int64_t steps, std::int64_t units) {
  const std::int64_t level = repetition(steps, units) - 1;
  std::int64_t rest = steps - reach(units, level), left = reach(units, level - 1);
  for (std::int64_t j = 1;; ++j) {
    const std::int64_t size = units - j + 1, all = groups(level, j) * size,
                       ours = groups(level - 1, j) * size;
    if (rest <= all) return left + std::min(rest, ours);
    left += ours;
    rest -= all;
  }
}

SchedulePtr mixed(std::int64_t steps, std::int64_t units) {
  need_steps("mixed", steps);
  need("mixed", "slots", units, steps > 1 ? 1 : 0);
  // More than the steps are of no use, and their sums must not overflow.
  return std::make_unique<Walk>(std::make_unique<MixedPolicy>(),
                                Frame{.from = 0, .to = steps, .budget = std::min(units, steps)});
}

}  // namespace tidemark::schedule
