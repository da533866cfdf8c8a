// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_core.h"

#include <algorithm>
#include <utility>

namespace tidemark::plan::packing {
namespace {

// The orders to place the core in that most often succeed at once.
constexpr std::int64_t kFirst[] = {1, 0};
constexpr std::int64_t kJoins =
    4;  // dives that do not count, since it was room beside the core that was missing
constexpr Units kTiny =
    1'000'000;  // of the arena: what takes less finds room as a rule, and dives are the shorter without it
constexpr double kSecondsAPair = 4e-8;  // that live together: of a whole dive
constexpr double kSecondsALife = 4e-9;  // of each that finds room
constexpr std::int64_t kToLook = 64;    // of them, from one look at the clock to the next

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

CoreDives::CoreDives(std::vector<Places::Life> lives, Units full)
    : lives_(std::move(lives)), in_core_(lives_.size(), 0) {
  std::int32_t moments = 0;
  for (const Places::Life& l : lives_) moments = std::max(moments, l.last + 1);
  std::vector<Units> live(at(moments) + 1, 0);
  for (const Places::Life& l : lives_) {
    live[at(l.first)] += l.size;
    live[at(l.last) + 1] -= l.size;
  }
  std::vector<std::int32_t> full_before(at(moments) + 1, 0);
  for (std::size_t t = 0; t < at(moments); ++t) {
    if (t > 0) live[t] += live[t - 1];
    most_ = std::max(most_, live[t]);
    full_before[t + 1] = full_before[t] + (live[t] > full ? 1 : 0);
  }
  for (std::size_t l = 0; l < lives_.size(); ++l)
    in_core_[l] = lives_[l].size > full / kTiny &&
                  full_before[at(lives_[l].last) + 1] > full_before[at(lives_[l].first)];
  rebuild();
}

void CoreDives::rebuild() {
  core_.clear();
  others_.clear();
  std::vector<Interval> intervals;
  for (std::int32_t l = 0; l < std::ssize(lives_); ++l) {
    const Places::Life& life = lives_[at(l)];
    if (in_core_[at(l)] != 0) {
      core_.push_back(l);
      intervals.push_back({.begin = life.first, .end = life.last + 1, .bytes = life.size});
    } else {
      others_.push_back(l);
    }
  }
  std::stable_sort(others_.begin(), others_.end(),
                   [&](auto a, auto b) { return lives_[at(a)].size > lives_[at(b)].size; });
  items_ = make_items(intervals, 1);
  dives_.reset();
  orders_.reset();
  if (!exact_pays(items_)) return;
  dives_.emplace(items_);
  orders_.emplace(items_);
}

double CoreDives::seconds_a_dive() const {
  return dives_ ? kSecondsAPair * static_cast<double>(dives_->pairs()) : 0;
}

// Few more nodes than there are items: where more are needed, what they tell of the moments that are hard leads to a better order to place
// them.
bool CoreDives::search(Units height, std::int64_t dives, std::uint64_t seed, const Limit& limit,
                       std::vector<Units>& offsets) {
  if (most_ > height) return false;
  std::vector<Units> of_items;
  std::int64_t joined = 0;
  for (std::int64_t k = 0; k < dives && pays() && !limit.time_is_up(); ++k) {
    Budget budget{std::ssize(items_.items) * 3 / 2, &limit};
    const auto number = static_cast<std::int64_t>(seed * static_cast<std::uint64_t>(dives) +
                                                  static_cast<std::uint64_t>(k));  // of any seed
    const std::vector<std::int32_t> rank =
        k < std::ssize(kFirst) ? orders_->rank(kFirst[k]) : orders_->rank(number, dives_->failures());
    if (!dives_->search(height, rank, budget, of_items)) continue;
    if (fill(height, of_items, limit, offsets)) return true;
    // The same order again, with the larger core.
    if (++joined <= kJoins) --k;
  }
  return false;
}

// The core where it lies, and the others in the smallest room that holds them.
bool CoreDives::fill(Units height, std::span<const Units> of_items, const Limit& limit,
                     std::vector<Units>& offsets) {
  Places places(lives_, height, 0);
  std::vector<std::int32_t> none;
  offsets.assign(lives_.size(), 0);
  const auto put = [&](std::int32_t life, Units offset) {
    places.put(life, {offset, 0}, none);
    offsets[at(life)] = offset;
  };
  for (std::size_t k = 0; k < core_.size(); ++k)
    if (items_.item_of[k] >= 0) put(core_[k], of_items[at(items_.item_of[k])]);
  bool all = true;
  for (std::int64_t k = 0; k < std::ssize(others_); ++k) {
    const std::int32_t life = others_[static_cast<std::size_t>(k)];
    if (lives_[at(life)].size == 0) break;
    worked(static_cast<double>(lives_.size()), kSecondsALife);
    if (k % kToLook == 0 && limit.time_is_up()) return false;
    const Units room = places.find_room(life);
    if (room >= 0) {
      put(life, room);
    } else {
      in_core_[at(life)] = 1;
      all = false;
    }
  }
  if (!all) rebuild();
  return all;
}

}  // namespace tidemark::plan::packing
