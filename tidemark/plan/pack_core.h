// Dives with those alone that live when the arena is nearly full; what lives at other moments gets the room that they leave. Most of what a
// plan makes is easy to place, and dives without it are several times shorter and succeed more often. Internal to arrange.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/pack_dive.h"
#include "tidemark/plan/pack_orders.h"
#include "tidemark/plan/pack_places.h"

namespace tidemark::plan::packing {

class CoreDives {
 public:
  // Lives that have no places yet; the core is what lives at some moment with more than `full` units live.
  CoreDives(std::vector<Places::Life> lives, Units full);

  // The most units that are live at a moment.
  Units most() const { return most_; }
  // Whether the core is small enough to dive with.
  bool pays() const { return dives_.has_value(); }
  // About; where it pays.
  double seconds_a_dive() const;
  // Up to `dives` of them into an arena of this height, by orders that `seed` draws; where it pays. What finds no room beside the core joins
  // it, for good. No says nothing.
  bool search(Units height, std::int64_t dives, std::uint64_t seed, const Limit& limit,
              std::vector<Units>& offsets);

 private:
  void rebuild();
  bool fill(Units height, std::span<const Units> of_items, const Limit& limit, std::vector<Units>& offsets);

  std::vector<Places::Life> lives_;
  Units most_ = 0;
  std::vector<char> in_core_;
  std::vector<std::int32_t> core_, others_;  // the latter by size, the largest first
  Items items_;                              // of the core
  std::optional<Dives> dives_;
  std::optional<Orders> orders_;
};

}  // namespace tidemark::plan::packing
