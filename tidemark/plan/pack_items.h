// What the packers work on: lifetimes in ranks of distinct moments, sizes in units of the alignment, and each
// chain of intervals that take over each other's storage as one item of falling height. Internal to pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/plan/pack.h"

namespace tidemark::plan::packing {

using Units = std::int64_t;  // multiples of PackOptions::align

// A stretch of sections, [begin, end), in which an item has one height.
struct Part {
  std::int32_t begin = 0, end = 0;
  Units height = 0;
};

struct Item {
  std::int32_t begin = 0, end = 0;             // sections
  std::int32_t first_part = 0, last_part = 0;  // [first, last) in Items::parts
  Units height = 0;                            // of the first part, the highest
  Units most = 0;                              // live at the busiest section of its life
};

struct Items {
  std::vector<Item> items;
  std::vector<Part> parts;            // heights fall strictly within an item
  std::vector<std::int32_t> item_of;  // per interval; -1: never live or empty, lies at 0
  std::vector<std::int64_t> moments;  // section s is [moments[s], moments[s + 1])
  std::vector<Units> live;            // per section
  Units lower_bound = 0;              // the most of `live`

  std::int32_t sections() const { return static_cast<std::int32_t>(live.size()); }
  std::span<const Part> parts_of(const Item& item) const {
    return {parts.data() + item.first_part, static_cast<std::size_t>(item.last_part - item.first_part)};
  }
};

// Offsets of items, and the highest end.
struct Layout {
  std::vector<Units> offsets;
  Units height = 0;
};

// The offsets of the intervals that they were made from.
Packing packing_of(const Items& items, const Layout& layout, Bytes align);
Items make_items(std::span<const Interval> intervals, Bytes align);
// The highest end under these offsets.
Units height_of(const Items& items, std::span<const Units> offsets);

}  // namespace tidemark::plan::packing
