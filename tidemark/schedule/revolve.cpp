// Revolve in closed form. Griewank & Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000).
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/revolve.h"

#include "tidemark/schedule/binomial.h"
#include "tidemark/schedule/need.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

// Up to this many steps the writes do not grow with the steps (r fixed), beyond they grow by one a step. A
// segment of one step is never written, so this obeys Pascal's rule flat(s, r) = flat(s, r - 1) + flat(s - 1,
// r) from flat(1, r) = r + 1 and flat(s, 1) = 2.
std::int64_t flat(std::int64_t slots, std::int64_t repeats) {
  return reach(slots, repeats) - (slots >= 2 ? reach(slots - 2, repeats) : 0);
}

}  // namespace

std::int64_t revolve_advances(std::int64_t steps, std::int64_t slots) {
  if (steps <= 1) return 0;
  const std::int64_t r = repetition(steps, slots);
  return r * steps - binomial(slots + r, r - 1);
}

// Both parts must stay inside the range of their own repetition number: r - 1 for the left one, which is
// advanced over once more, r for the right one, which has a slot less. Of the splits that are left, those
// that also divide the flat and the growing range of the writes evenly have the fewest writes.
std::int64_t revolve_split(std::int64_t steps, std::int64_t slots) {
  if (slots == 1) return steps - 1;
  const std::int64_t r = repetition(steps, slots);
  if (r == 1) return 1;
  if (steps <= flat(slots, r)) return std::max(reach(slots, r - 2), steps - flat(slots - 1, r));
  return std::max(flat(slots, r - 1), steps - reach(slots - 1, r));
}

Choice RevolvePolicy::choose(const Frame& f) {
  if (!f.stored) return {.kind = Choice::Kind::store, .budget = f.budget};
  const std::int64_t before = revolve_split(f.to - f.from, f.budget);
  return {
      .kind = Choice::Kind::split, .at = f.from + before, .budget = f.budget, .child_budget = f.budget - 1};
}

SchedulePtr revolve(std::int64_t steps, std::int64_t slots) {
  need_steps("revolve", steps);
  need("revolve", "slots", slots, 1);
  // More slots than steps are of no use, and their sums must not overflow.
  return std::make_unique<Walk>(std::make_unique<RevolvePolicy>(),
                                Frame{.from = 0, .to = steps, .budget = std::min(slots, steps)});
}

}  // namespace tidemark::schedule
