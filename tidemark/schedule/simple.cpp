// The schedules that need no optimisation: store_all, periodic, sqrt, binary.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tidemark/schedule/need.h"
#include "tidemark/schedule/schedules.h"
#include "tidemark/schedule/walk.h"

namespace tidemark::schedule {
namespace {

using Kind = Action::Kind;

// States 0, period, 2 period, ... are kept; the last segment is taped in the first sweep.
class Periodic final : public Schedule {
 public:
  Periodic(std::int64_t steps, std::int64_t period)
      : steps_(steps), period_(period), last_((steps - 1) / period), segment_(0) {}

  Action next() override {
    const std::int64_t from = segment_ * period_, to = std::min(steps_, from + period_);
    const Slot slot{0, segment_};
    switch (phase_) {
      case Phase::save:
        if (segment_ == last_) {
          phase_ = Phase::reverse;
          return {.kind = Kind::advance, .from = from, .to = to, .keep = to - from};
        }
        phase_ = Phase::sweep;
        return {.kind = Kind::save, .from = from, .to = from, .slot = slot};
      case Phase::sweep:
        ++segment_;
        phase_ = Phase::save;
        return {.kind = Kind::advance, .from = from, .to = to};
      case Phase::restore:
        phase_ = Phase::discard;
        return {.kind = Kind::restore, .from = from, .to = from, .slot = slot};
      case Phase::discard:
        phase_ = Phase::tape;
        return {.kind = Kind::discard, .from = from, .to = from, .slot = slot};
      case Phase::tape:
        phase_ = Phase::reverse;
        return {.kind = Kind::advance, .from = from, .to = to, .keep = to - from};
      case Phase::reverse:
        phase_ = segment_ == 0 ? Phase::done : Phase::restore;
        --segment_;
        return {.kind = Kind::reverse, .from = from, .to = to};
      case Phase::done:
        break;
    }
    return {};
  }

 private:
  enum class Phase { save, sweep, restore, discard, tape, reverse, done };
  std::int64_t steps_, period_, last_, segment_;
  Phase phase_ = Phase::save;
};

class Bisect final : public Policy {
 public:
  Choice choose(const Frame& f) override {
    if (!f.stored) return {.kind = Choice::Kind::store};
    return {.kind = Choice::Kind::split, .at = f.from + (f.to - f.from) / 2};
  }
};

}  // namespace

SchedulePtr periodic(std::int64_t steps, std::int64_t period) {
  need_steps("periodic", steps);
  need("periodic", "period", period, 1);
  return std::make_unique<Periodic>(steps, std::min(period, steps));
}

SchedulePtr store_all(std::int64_t steps) {
  need_steps("store_all", steps);
  return std::make_unique<Periodic>(steps, steps);
}

SchedulePtr sqrt(std::int64_t steps) {
  need_steps("sqrt", steps);
  auto period = static_cast<std::int64_t>(std::sqrt(static_cast<double>(steps)));
  while (period * period < steps) ++period;
  return std::make_unique<Periodic>(steps, period);
}

SchedulePtr binary(std::int64_t steps) {
  need_steps("binary", steps);
  return std::make_unique<Walk>(std::make_unique<Bisect>(), Frame{.from = 0, .to = steps});
}

}  // namespace tidemark::schedule
