// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_greedy.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace tidemark::plan::packing {
namespace {

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

Fitted fit(const Items& items, std::span<const std::int32_t> order, Fit kind, AddressTree& tree, Units limit) {
  Fitted result;
  Layout& out = result.layout;
  out.offsets.assign(items.items.size(), 0);
  tree.clear();
  Ranges blocked;
  for (const std::int32_t id : order) {
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
    if (offset + item.height > limit) {
      result.too_high = id;
      return result;
    }
    out.offsets[static_cast<std::size_t>(id)] = offset;
    for (const Part& p : parts) tree.add(p.begin, p.end, {offset, offset + p.height});
    out.height = std::max(out.height, offset + item.height);
  }
  return result;
}

}  // namespace tidemark::plan::packing
