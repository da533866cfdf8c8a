// Where things of known lives lie in an arena of a given height, some of them nowhere yet: finds room, and where there is none, what it
// costs least to clear. Internal to pack; arrange shares the latter.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tidemark/base/random.h"
#include "tidemark/plan/pack_items.h"

namespace tidemark::plan::packing {

struct Found {
  Units offset = 0;
  double dear = 0;  // what lies there, together; 0: nothing
};

// An offset from which on something is met, or no longer.
struct Edge {
  Units at;
  double dear;
};
// Of the offsets up to `highest`, one of those at which what is met is least dear together. Both lists by offset.
Found least_dear(std::span<const Edge> begins, std::span<const Edge> ends, Units highest, Rng& rng);

// The lowest offset of the smallest gap below `height` that holds `size`, between those of `met`, which are in order of their offsets;
// -1: none does.
template <typename OffsetOf, typename EndOf>
Units smallest_gap(std::span<const std::int32_t> met, const OffsetOf& offset_of, const EndOf& end_of,
                   Units height, Units size) {
  Units floor = 0, best = -1, least = std::numeric_limits<Units>::max();
  const auto look = [&](Units ceiling) {
    const Units room = ceiling - floor;
    if (room < size || room >= least) return;
    least = room;
    best = floor;
  };
  for (const std::int32_t other : met) {
    look(offset_of(other));
    floor = std::max(floor, end_of(other));
  }
  look(height);
  return best;
}

class Places {
 public:
  struct Life {
    std::int32_t first = 0, last = 0;  // moments, both included
    Units size = 0;
    double dear = 1;    // to lose its place
    Units offset = -1;  // -1: it has no place
    Units end() const { return offset + size; }
  };
  Places(std::vector<Life> lives, Units height, std::uint64_t seed);

  const Life& operator[](std::int32_t life) const { return lives_[static_cast<std::size_t>(life)]; }
  void make_dearer(std::int32_t life, double by) { lives_[static_cast<std::size_t>(life)].dear += by; }

  // The smallest room that holds it; -1: none does.
  Units find_room(std::int32_t life);
  // That, or where what lies there is least dear together, any of those.
  Found find(std::int32_t life);
  // There, where one of them has just found it. Whoever it meets loses its place and is added to `out`.
  void put(std::int32_t life, const Found& found, std::vector<std::int32_t>& out);

 private:
  // Those that have a place, in order of an end of theirs; their lives beside them, since every search looks at all of these.
  struct List {
    std::vector<std::int32_t> id, first, last;
    void insert(std::size_t place, std::int32_t life, const Life& of);
    void erase(std::size_t place);
    // Those that live at some moment of its life, in order.
    void meet(const Life& life, std::vector<std::int32_t>& met);
    std::vector<std::uint8_t> meets;  // scratch
  };

  void take(std::int32_t life);
  Found find_least(const Life& life);

  std::vector<Life> lives_;
  Units height_;
  Rng rng_;
  List by_offset_, by_end_;
  std::vector<std::int32_t> met_, met_by_end_;
  std::vector<Edge> begins_, ends_;
};

}  // namespace tidemark::plan::packing
