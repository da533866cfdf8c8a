// Online checkpointing: the loop's length is known only when it ends, so at every moment the states kept must
// be good places for a loop that ends right there (online_states.h says which those are).
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "tidemark/schedule/need.h"
#include "tidemark/schedule/online_states.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

using Kind = Action::Kind;

// Slot 0 has the first state, slot k + 1 what lies in place k.
class Online final : public Schedule {
 public:
  explicit Online(std::int64_t slots)
      : slots_(slots),
        memory_(static_cast<std::size_t>(OnlineStates::bytes(slots - 1)) / sizeof(std::int64_t)),
        states_(slots - 1, memory_.data()) {}

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
    if (!between || !begun_ || steps > at_ || steps < last_)
      fail(Error::Kind::usage, "[online] finish({}) outside of an advance to {}", steps, at_);
    pending_.clear();
    if (steps == 0) discard(0, 0);
    // A loop that ends where a state was just saved does not need that state.
    if (last_ > 0 && last_ >= steps) discard(last_, last_place_ + 1);
    std::vector<Frame> frames;
    const auto frame = [&](std::int64_t from, std::int64_t slot) {
      if (!frames.empty()) frames.back().to = from;
      const auto i = static_cast<std::int64_t>(frames.size());
      frames.push_back({.from = from, .to = steps, .budget = slots_ - i, .stored = true, .slot = {0, slot}});
    };
    if (steps > 0) frame(0, 0);
    const std::int64_t kept = states_.finish(steps);
    for (std::int64_t k = 0; k < kept; ++k) frame(states_.step(k), states_.place(k) + 1);
    walk_ = std::make_unique<Walk>(std::make_unique<RevolvePolicy>(), std::move(frames));
  }

 private:
  // Keeps the state at hand and goes on to the next one that will be kept. The advance comes last, so
  // that what is kept is true when the loop ends inside it.
  void stop() {
    if (!begun_) {
      save(0);
      begun_ = true;
    } else if (slots_ > 1) {
      last_place_ = states_.take();
      last_ = at_;
      if (states_.given_up() >= 0) discard(states_.given_up(), last_place_ + 1);
      save(last_place_ + 1);
    }
    const std::int64_t to = slots_ > 1 ? states_.next() : at_ + (1 << 20);
    pending_.push_back({.kind = Kind::advance, .from = at_, .to = to});
    at_ = to;
  }
  void save(std::int64_t slot) {
    pending_.push_back({.kind = Kind::save, .from = at_, .to = at_, .slot = {0, slot}});
  }
  void discard(std::int64_t step, std::int64_t slot) {
    pending_.push_back({.kind = Kind::discard, .from = step, .to = step, .slot = {0, slot}});
  }

  std::int64_t slots_;
  std::vector<std::int64_t> memory_;
  OnlineStates states_;
  bool begun_ = false;
  std::int64_t at_ = 0;                      // the state at hand after the last advance
  std::int64_t last_ = 0, last_place_ = -1;  // the last state that was saved
  std::vector<Action> pending_;
  std::unique_ptr<Walk> walk_;
};

}  // namespace

SchedulePtr online(std::int64_t slots) {
  need("online", "slots", slots, 1);
  if (slots > 1'000'000) fail(Error::Kind::usage, "[online] slots {} vs at most 1000000", slots);
  return std::make_unique<Online>(slots);
}

std::int64_t online_advances(std::int64_t steps, std::int64_t places) {
  if (steps < 2 || places >= steps - 1) return 0;
  std::vector<std::int64_t> memory(static_cast<std::size_t>(OnlineStates::bytes(places)) /
                                   sizeof(std::int64_t));
  OnlineStates states(places, memory.data());
  while (states.next() < steps) states.take();
  const std::int64_t kept = states.finish(steps);
  std::int64_t advances = 0;
  for (std::int64_t k = 0; k <= kept; ++k) {
    const std::int64_t from = k == 0 ? 0 : states.step(k - 1), to = k == kept ? steps : states.step(k);
    advances += revolve_advances(to - from, places + 1 - k);
  }
  return advances;
}

}  // namespace tidemark::schedule
