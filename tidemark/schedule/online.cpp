// Online checkpointing: the loop's length is known only when it ends, so at every moment the states kept must
// be good places for a loop that ends right there.
//   Up to C(slots + 2, 2) steps, as in Stumm & Walther, "New algorithms for optimal online checkpointing",
//   SISC 32 (2010): no other choice of states, made with the length known, would advance over fewer steps.
//   Beyond, the minimal repetition rule of Wang, Moin & Iaccarino, "Minimal repetition dynamic checkpointing
//   algorithm for unsteady adjoint calculation", SISC 31 (2009).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "tidemark/schedule/binomial.h"
#include "tidemark/schedule/need.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

using Kind = Action::Kind;

class Online final : public Schedule {
 public:
  explicit Online(std::int64_t slots) : slots_(slots), twice_(reach(slots, 2)) {}

  bool online() const override { return true; }

  Action next() override {
    if (pending_.empty() && walk_) return walk_->next();
    if (pending_.empty()) stop();
    const Action a = pending_.front();
    pending_.erase(pending_.begin());
    return a;
  }

  void finish(std::int64_t steps) override {
    if (walk_) fail(Error::Kind::usage, "[online] finish({}) after the loop had ended", steps);
    const bool between = pending_.empty() || pending_.front().kind == Kind::advance;
    if (!between || steps > at_ || kept_.empty() || steps < kept_.back().step)
      fail(Error::Kind::usage, "[online] finish({}) outside of an advance to {}", steps, at_);
    pending_.clear();
    // A loop that ends where a state was just saved does not need that state.
    while (!kept_.empty() && kept_.back().step >= steps) drop(kept_.size() - 1);
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < kept_.size(); ++i)
      frames.push_back({.from = kept_[i].step,
                        .to = i + 1 < kept_.size() ? kept_[i + 1].step : steps,
                        .budget = slots_ - static_cast<std::int64_t>(i),
                        .stored = true,
                        .slot = kept_[i].slot});
    walk_ = std::make_unique<Walk>(std::make_unique<RevolvePolicy>(), std::move(frames));
  }

 private:
  struct Kept {
    std::int64_t step = 0, level = 0;
    Slot slot;
  };

  // Decides about the state at hand and goes on to the next one that will be kept. The advance comes last, so
  // that what is kept is true when the loop ends inside it.
  void stop() {
    if (at_ < slots_) {
      save(at_ == 0 ? std::numeric_limits<std::int64_t>::max() : 1);
    } else if (slots_ > 1) {
      drop(at_ < twice_ ? for_good() : spare(level_));
      save(at_ < twice_ ? 1 : level_);
    }
    const std::int64_t to = next_stop();
    pending_.push_back({.kind = Kind::advance, .from = at_, .to = to});
    at_ = to;
  }

  std::int64_t next_stop() {
    if (slots_ == 1) return at_ + (1 << 20);  // nothing will be kept
    if (at_ + 1 < slots_) return at_ + 1;
    if (at_ < twice_) {
      const std::int64_t rest = end_of_segment() - at_;
      if (rest > 0) return at_ + (rest == 2 || rest == 4 ? 2 : 3);
    }
    // The state at hand counts as one kept more. It is really kept when an earlier one can be spared; while
    // none can, its level rises with every step.
    std::int64_t to = std::max(at_ + 1, twice_);
    for (level_ = at_ < twice_ ? 2 : 0; spare(level_) == 0; ++level_) ++to;
    return to;
  }

  // A segment between two kept states, the i-th, is reversed with slots - i slots, and without advancing over
  // any step more than once if it has at most slots - i + 1 steps. So states slots + 1, + slots, + slots - 1,
  // ... are kept for good; between them come others two or three steps apart, for which the first one not
  // kept for good makes room. (The last segment has one slot, and two or three steps cost there what they
  // cost at best.)
  std::int64_t end_of_segment() const {
    std::int64_t end = 0;
    for (std::int64_t length = slots_ + 1; length >= 3; --length) {
      end += length;
      if (end > at_) return end;
    }
    return at_;  // in the last segment
  }
  std::size_t for_good() const {
    std::size_t i = 1;
    std::int64_t end = slots_ + 1;
    for (std::int64_t length = slots_; kept_[i].step == end; --length, ++i) end += length;
    return i;
  }

  // The first kept state that has a later one of higher level, the state at hand included; 0 for none.
  std::size_t spare(std::int64_t level) const {
    std::size_t found = 0;
    for (std::size_t i = kept_.size(); --i > 0;) {
      if (kept_[i].level < level) found = i;
      level = std::max(level, kept_[i].level);
    }
    return found;
  }

  void save(std::int64_t level) {
    Slot slot{0, static_cast<std::int64_t>(kept_.size())};
    if (!free_.empty()) slot = free_.back(), free_.pop_back();
    pending_.push_back({.kind = Kind::save, .from = at_, .to = at_, .slot = slot});
    kept_.push_back({at_, level, slot});
  }
  void drop(std::size_t i) {
    const Kept k = kept_[i];
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    free_.push_back(k.slot);
    pending_.push_back({.kind = Kind::discard, .from = k.step, .to = k.step, .slot = k.slot});
  }

  std::int64_t slots_, twice_;  // twice_: up to here no step need be advanced over more than twice
  std::int64_t at_ = 0;         // the state at hand after the last advance
  std::int64_t level_ = 0;      // of the state at hand
  std::vector<Kept> kept_;      // by step
  std::vector<Slot> free_;
  std::vector<Action> pending_;
  std::unique_ptr<Walk> walk_;
};

}  // namespace

SchedulePtr online(std::int64_t slots) {
  need("online", "slots", slots, 1);
  if (slots > 1'000'000) fail(Error::Kind::usage, "[online] slots {} vs at most 1000000", slots);
  return std::make_unique<Online>(slots);
}

}  // namespace tidemark::schedule
