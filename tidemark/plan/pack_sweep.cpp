// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_sweep.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tidemark::plan::packing {
namespace {

constexpr double kSooner =
    1.0 /
    50;  // of all sections: by so much sooner what found no room comes, the first time; twice as much the next
constexpr double kBrief = 0.1;               // of all sections: what lives no longer keeps to the top
constexpr double kSoonest = 1e12;            // sections: numbers stay exact
constexpr std::int64_t kToOther = 6;         // sweeps from one of the way that is further off to the next
constexpr std::size_t kToLook = 64;          // items from one look at the clock to the next
constexpr std::size_t kBetweenStates = 256;  // items from one state of a sweep that is kept to the next
constexpr std::size_t kToPrune = 32;         // likewise, at those that no longer count
constexpr double kSecondsALook = 1.2e-9;     // at one of those that have a place

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Sweeps::Sweeps(const Items& items, Units height) : height_(height) {
  const std::int32_t sections = items.sections();
  brief_ = static_cast<std::int32_t>(kBrief * sections);
  for (Way& way : ways_) {
    for (const Item& i : items.items) {
      if (&way == &ways_[0])
        way.lives.push_back({sections - i.end, sections - 1 - i.begin, i.height});
      else
        way.lives.push_back({i.begin, i.end - 1, i.height});
      way.turn.push_back(way.lives.back().first);
    }
    way.sooner.assign(way.lives.size(), std::max(1.0, kSooner * sections));
    way.order.resize(way.lives.size());
    std::iota(way.order.begin(), way.order.end(), 0);
  }
}

Sweeps::Leads Sweeps::leads() const {
  Leads leads(ways_[0].lives.size());
  for (std::size_t w = 0; w < 2; ++w)
    for (std::size_t i = 0; i < leads.size(); ++i) leads[i][w] = ways_[w].lives[i].first - ways_[w].turn[i];
  return leads;
}

void Sweeps::set_leads(const Leads& leads) {
  for (std::size_t w = 0; w < 2; ++w)
    for (std::size_t i = 0; i < leads.size(); ++i) ways_[w].turn[i] = ways_[w].lives[i].first - leads[i][w];
}

// The one that came nearer, most of the time: which it is differs from program to program.
Sweeps::Way& Sweeps::choose() {
  const std::size_t near = ways_[1].least_out < ways_[0].least_out ? 1 : 0;
  const std::int64_t k = count_++;
  return ways_[k < 2 ? static_cast<std::size_t>(k) : k % kToOther == 0 ? 1 - near : near];
}

bool Sweeps::next(const Limit& limit) {
  const bool first = count_ < 2;
  last_ = &choose();
  const bool all = sweep(*last_, limit);
  last_->least_out = first ? height_out() : std::min(last_->least_out, height_out());
  return all;
}

// The smallest: from below what is there when the sweep begins, from above what comes later. So the two grow towards each other. What comes later and goes soon
// takes the highest, where others like it were: not every room that is left for a while is broken up by what stays.
Units Sweeps::find_room(const Life& life, const std::vector<Placed>& placed) const {
  Units floor = 0, best_floor = -1, best_ceiling = -1, least = std::numeric_limits<Units>::max();
  const bool brief = life.first > 0 && life.last - life.first < brief_;
  const auto look = [&](Units ceiling) {
    const Units room = ceiling - floor;
    if (room < life.height || (room >= least && !brief)) return;
    least = room;
    best_floor = floor;
    best_ceiling = ceiling;
  };
  for (const Placed& p : placed) {
    if (p.first > life.last || p.last < life.first) continue;
    look(p.offset);
    floor = std::max(floor, p.end);
  }
  look(height_);
  return best_floor < 0 || life.first == 0 ? best_floor : best_ceiling - life.height;
}

// Puts the items in order. How many come as in the last sweep, down to where its state is known.
std::size_t Sweeps::same_as_before(Way& way) {
  const std::vector<std::int32_t> before = way.order;
  // Of those that come at once, what lives longest first: what is there to the end of time lies in the order in which it goes, so that what it leaves is one room.
  std::sort(way.order.begin(), way.order.end(), [&](std::int32_t a, std::int32_t b) {
    if (way.turn[at(a)] != way.turn[at(b)]) return way.turn[at(a)] < way.turn[at(b)];
    const Life &x = way.lives[at(a)], &y = way.lives[at(b)];
    if (x.last != y.last) return x.last > y.last;
    return x.height != y.height ? x.height > y.height : a < b;
  });
  if (way.states.empty()) return 0;
  const auto other = std::mismatch(way.order.begin(), way.order.end(), before.begin()).first;
  return std::min(static_cast<std::size_t>(other - way.order.begin()) / kBetweenStates,
                  way.states.size() - 1) *
         kBetweenStates;
}

bool Sweeps::sweep(Way& way, const Limit& limit) {
  std::size_t k = same_as_before(way);
  if (way.states.empty())
    way.now = {};
  else
    way.now = way.states[k / kBetweenStates];
  way.states.resize(k / kBetweenStates);
  way.offsets.resize(way.lives.size(), -1);
  first_left_.resize(way.order.size());
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  for (std::size_t j = way.order.size(); j-- > 0;)
    first_left_[j] = first = std::min(first, way.lives[at(way.order[j])].first);
  std::vector<Placed>& placed = way.now.placed;
  for (; k < way.order.size(); ++k) {
    if (k % kToLook == 0 && limit.time_is_up()) return false;
    if (k % kToPrune == 0) std::erase_if(placed, [&](const Placed& p) { return p.last < first_left_[k]; });
    if (k % kBetweenStates == 0) way.states.push_back(way.now);
    const std::int32_t item = way.order[k];
    const Life& life = way.lives[at(item)];
    worked(static_cast<double>(placed.size()), kSecondsALook);
    const Units offset = way.offsets[at(item)] = find_room(life, placed);
    if (offset < 0) {
      way.now.out.push_back(item);
      way.now.height_out += life.height;
      continue;
    }
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [](Units o, const Placed& p) { return o < p.offset; }),
                  {life.first, life.last, offset, offset + life.height});
  }
  for (const std::int32_t item : way.now.out) {
    way.turn[at(item)] -= way.sooner[at(item)];
    way.sooner[at(item)] = std::min(2 * way.sooner[at(item)], kSoonest);
  }
  return way.now.out.empty();
}

}  // namespace tidemark::plan::packing
