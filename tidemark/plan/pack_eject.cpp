// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_eject.h"

#include <algorithm>
#include <cmath>

#include "tidemark/plan/pack_greedy.h"
#include "tidemark/plan/pack_places.h"

namespace tidemark::plan::packing {

bool eject(const Items& items, Units height, std::uint64_t seed, Budget& budget,
           std::vector<Units>& offsets) {
  constexpr std::int64_t kToLook = 16;  // nodes from one look at the clock to the next
  constexpr double kSecondsAnItem = 1e-8;
  std::vector<Places::Life> lives;
  double sum = 0;
  for (const Item& i : items.items) {
    if (i.height > height) return false;
    lives.push_back({.first = i.begin, .last = i.end - 1, .size = i.height});
    sum += static_cast<double>(i.height);
  }
  const double mean = sum / static_cast<double>(lives.size());
  Places places(std::move(lives), height, seed);
  std::vector<std::int32_t> out;  // the next one last
  const auto late = [&] {
    worked(static_cast<double>(items.items.size()), kSecondsAnItem);
    return budget.nodes % kToLook == 0 && budget.limit != nullptr && budget.limit->time_is_up();
  };
  for (const std::int32_t i : order_by(items, Rule::size_start)) {
    const Units room = places.find_room(i);
    if (room < 0)
      out.push_back(i);
    else
      places.put(i, {room, 0}, out);
    --budget.nodes;
    if (late()) return false;
  }
  for (; !out.empty(); --budget.nodes) {
    if (budget.nodes <= 0 || late()) return false;
    const std::int32_t i = out.back();
    out.pop_back();
    const Found found = places.find(i);
    if (found.dear > 0) places.make_dearer(i, std::sqrt(static_cast<double>(places[i].size) / mean));
    places.put(i, found, out);
  }
  offsets.clear();
  for (std::size_t i = 0; i < items.items.size(); ++i)
    offsets.push_back(places[static_cast<std::int32_t>(i)].offset);
  return true;
}

}  // namespace tidemark::plan::packing
