// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_greedy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan::packing {
namespace {

constexpr double kSecondsAPlace = 2.5e-6;

double area(const Items& items, const Item& item) {
  double sum = 0;
  for (const Part& p : items.parts_of(item)) sum += static_cast<double>(p.height) * (p.end - p.begin);
  return sum;
}

// The offset in the smallest (or lowest) gap of `taken` that holds `height`; above all of it where none does.
// `taken` is ordered by `begin`; a range whose end lies below its begin says that gaps end there and begin
// here.
Units choose(const Ranges& taken, Units height, Fit kind) {
  Units floor = 0, best = -1, best_room = std::numeric_limits<Units>::max();
  for (const Range& r : taken) {
    const Units room = r.begin - floor;
    if (room >= height && room < best_room) {
      if (kind == Fit::first || room == height) return floor;
      best_room = room;
      best = floor;
    }
    floor = std::max(floor, r.end);
  }
  return best >= 0 ? best : floor;
}

// What is free at one moment of the sweep, below the highest end so far.
class FreeList {
 public:
  // The smallest block that holds it, or on top.
  Units take(Units height) {
    auto found = by_size_.lower_bound({height, 0});
    if (found == by_size_.end()) {
      // What is free right below the top is a part of it.
      const bool below = !by_begin_.empty() && std::prev(by_begin_.end())->second == top_;
      const Units offset = below ? std::prev(by_begin_.end())->first : top_;
      if (below) remove(std::prev(by_begin_.end()));
      top_ = offset + height;
      return offset;
    }
    const auto [size, begin] = *found;
    remove(by_begin_.find(begin));
    if (size > height) add(begin + height, begin + size);
    return begin;
  }
  void give_back(Units begin, Units end) {
    auto next = by_begin_.lower_bound(begin);
    if (next != by_begin_.end() && next->first == end) {
      end = next->second;
      next = remove(next);
    }
    if (next != by_begin_.begin() && std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
      remove(std::prev(next));
    }
    add(begin, end);
  }
  Units top() const { return top_; }

 private:
  using ByBegin = std::map<Units, Units>;  // the end of each block
  void add(Units begin, Units end) {
    by_begin_[begin] = end;
    by_size_.insert({end - begin, begin});
  }
  ByBegin::iterator remove(ByBegin::iterator block) {
    by_size_.erase({block->second - block->first, block->first});
    return by_begin_.erase(block);
  }

  ByBegin by_begin_;
  std::set<std::pair<Units, Units>> by_size_;
  Units top_ = 0;
};

}  // namespace

std::vector<std::int32_t> order_by(const Items& items, Rule rule) {
  std::vector<std::int32_t> order(items.items.size());
  std::iota(order.begin(), order.end(), 0);
  using Key = std::tuple<double, double, double, std::int32_t>;
  std::vector<Key> keys(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Item& a = items.items[i];
    const double size = -static_cast<double>(a.height), begin = a.begin, end = a.end;
    const double duration = begin - end, extent = -area(items, a), most = -static_cast<double>(a.most);
    const auto id = static_cast<std::int32_t>(i);
    switch (rule) {
      case Rule::size_start:
        keys[i] = {size, begin, duration, id};
        break;
      case Rule::size_duration:
        keys[i] = {size, duration, begin, id};
        break;
      case Rule::busiest_duration:
        keys[i] = {most, duration, size, id};
        break;
      case Rule::busiest_size:
        keys[i] = {most, size, duration, id};
        break;
      case Rule::area:
        keys[i] = {extent, size, begin, id};
        break;
      case Rule::duration:
        keys[i] = {duration, size, begin, id};
        break;
      case Rule::start:
        keys[i] = {begin, size, duration, id};
        break;
    }
  }
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

Fitted fit(const Items& items, std::span<const std::int32_t> order, Fit kind, AddressTree& tree, Units limit,
           const Limit* clock) {
  constexpr std::int64_t kToLook = 64;  // items from one look at the clock to the next
  Fitted result;
  Layout& out = result.layout;
  out.offsets.assign(items.items.size(), 0);
  tree.clear();
  Ranges blocked;
  for (const std::int32_t id : order) {
    if (clock != nullptr && result.placed % kToLook == 0 && clock->time_is_up()) {
      result.too_high = id;
      return result;
    }
    const Item& item = items.items[static_cast<std::size_t>(id)];
    const auto parts = items.parts_of(item);
    Units offset;
    if (parts.size() == 1) {
      offset = choose(tree.taken(item.begin, item.end), item.height, kind);
    } else {
      // In offsets of the item: what blocks its first part as it stands, and what blocks a lower part reaches
      // down less far, so the lower end of its ranges moves up by the difference in height.
      blocked.clear();
      for (const Part& p : parts)
        for (const Range& r : tree.taken(p.begin, p.end))
          blocked.push_back({r.begin + item.height - p.height, r.end});
      std::sort(blocked.begin(), blocked.end(),
                [](const Range& a, const Range& b) { return a.begin < b.begin; });
      offset = choose(blocked, item.height, kind);
    }
    worked(1, kSecondsAPlace);
    if (offset + item.height > limit) {
      result.too_high = id;
      return result;
    }
    ++result.placed;
    out.offsets[static_cast<std::size_t>(id)] = offset;
    for (const Part& p : parts) tree.add(p.begin, p.end, {offset, offset + p.height});
    out.height = std::max(out.height, offset + item.height);
  }
  return result;
}

Layout fit_in_turn(const Items& items) {
  std::vector<std::int32_t> ends(items.items.size());
  std::iota(ends.begin(), ends.end(), 0);
  std::stable_sort(ends.begin(), ends.end(), [&](auto a, auto b) {
    return items.items[static_cast<std::size_t>(a)].end < items.items[static_cast<std::size_t>(b)].end;
  });
  Layout out;
  out.offsets.assign(items.items.size(), 0);
  FreeList free;
  std::size_t ended = 0;
  for (const std::int32_t id : order_by(items, Rule::start)) {
    const Item& item = items.items[static_cast<std::size_t>(id)];
    for (;; ++ended) {
      const auto other = static_cast<std::size_t>(ends[ended]);
      if (items.items[other].end > item.begin) break;
      free.give_back(out.offsets[other], out.offsets[other] + items.items[other].height);
    }
    out.offsets[static_cast<std::size_t>(id)] = free.take(item.height);
  }
  out.height = free.top();
  return out;
}

}  // namespace tidemark::plan::packing
