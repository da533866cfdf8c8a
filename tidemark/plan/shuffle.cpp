// Small problems with copies: which copy waits for which, and what runs meanwhile, is more than the moves of the others see. Here runs and copies
// are moved, added and taken out at random, and the clock decides. Part of Search.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "tidemark/plan/emit.h"
#include "tidemark/plan/search.h"

namespace tidemark::plan {
namespace {

constexpr std::size_t kMostItems = 48;                    // of the sequence: beyond, chance finds too little
constexpr std::int64_t kTries = 3000, kTriesDown = 1000;  // in one go; where it does not fit yet
constexpr int kRoom = 0;
constexpr double kHeat = 0.1;  // of the seconds: what a change may lose at first

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Shuffle {
 public:
  Shuffle(const Model& model, bool reorder, bool recompute, bool tiers, Rng& rng)
      : m_(model), reorder_(reorder), recompute_(recompute), tiers_(tiers), rng_(rng) {}

  // Another sequence, which may be no plan at all.
  std::vector<TaskId> change(std::vector<TaskId> runs) {
    const std::int64_t kind = rng_.below(10);
    if (kind < 6) {
      move(runs);
    } else if (kind == 6 && recompute_) {
      runs.insert(runs.begin() + rng_.below(size(runs) + 1), static_cast<TaskId>(rng_.below(m_.tasks)));
    } else if (kind == 7) {
      runs.erase(runs.begin() + rng_.below(size(runs)));
    } else if (kind == 8 && tiers_) {
      remove_copy(runs);
    } else if (kind == 9 && tiers_) {
      add_copy(runs);
    }
    return runs;
  }

 private:
  static std::int64_t size(const std::vector<TaskId>& runs) { return static_cast<std::int64_t>(runs.size()); }

  void move(std::vector<TaskId>& runs) {
    const auto from = runs.begin() + rng_.below(size(runs)), to = runs.begin() + rng_.below(size(runs));
    if (*from < m_.tasks && !reorder_) return;
    if (from < to) std::rotate(from, from + 1, to + 1);
    if (to < from) std::rotate(to, from, from + 1);
  }

  std::int32_t any_copy() { return m_.tasks + 3 * static_cast<std::int32_t>(rng_.below(size_of_copies())); }
  std::int64_t size_of_copies() const { return static_cast<std::int64_t>(m_.copies.size()) / 3; }

  void remove_copy(std::vector<TaskId>& runs) {
    const std::int32_t copy = any_copy();
    for (std::int32_t k = 0; k < 3; ++k) {
      const auto found = std::find(runs.begin(), runs.end(), copy + k);
      if (found != runs.end()) runs.erase(found);
    }
  }

  void add_copy(std::vector<TaskId>& runs) {
    const std::int32_t copy = any_copy();
    std::array<std::int64_t, 3> places{};
    for (std::int64_t& p : places) p = rng_.below(size(runs) + 1);
    std::sort(places.begin(), places.end());
    for (std::int32_t k = 2; k >= 0; --k) runs.insert(runs.begin() + places[at(k)], copy + k);
  }

  const Model& m_;
  const bool reorder_, recompute_, tiers_;
  Rng& rng_;
};

}  // namespace

// Towards the budget first, then towards less time.
void Search::shuffle(const std::vector<TaskId>& from) {
  if (!model_->has_copies() || from.empty() || from.size() > kMostItems) return;
  Rng& rng = improve_.rng();
  Shuffle shuffle(*model_, options_.reorder, options_.recompute, options_.tiers, rng);
  std::vector<TaskId> runs = from;
  double now = clock_of(*model_, runs).seconds;
  line_.assign(runs, kRoom);
  Bytes over = std::max<Bytes>(0, line_.peak() - options_.budget);
  const std::int64_t tries = over > 0 ? kTriesDown : kTries;
  for (std::int64_t i = 0; i < tries && best_seconds_ > options_.enough; ++i) {
    if (i % 64 == 0 && limit_->time_is_up()) return;
    const double left = 1 - static_cast<double>(i) / static_cast<double>(tries);
    const double slack = kHeat * now * left * left * -std::log(rng.uniform() + 1e-12);
    std::vector<TaskId> changed = shuffle.change(runs);
    if (changed == runs || changed.size() > kMostItems) continue;
    const Clock clock = clock_of(*model_, changed);
    if (!clock.possible || (over == 0 && clock.seconds > now + slack)) continue;
    line_.assign(changed, kRoom);
    const Bytes still = std::max<Bytes>(0, line_.peak() - options_.budget);
    if (still > over || !line_.sound() || (!options_.reorder && !in_listed_order(changed))) continue;
    // The clock takes sequences of the other moves' kind for granted.
    Plan plan;
    plan.steps = steps_of(line_);
    if (!replay(*model_->problem, plan).broken.empty()) continue;
    runs = std::move(changed);
    now = clock.seconds;
    if (still < over || now < best_seconds_) consider();
    over = still;
  }
}

}  // namespace tidemark::plan
