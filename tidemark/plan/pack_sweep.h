// Packing into a given height by sweeps through time, each a packing of its own in about a microsecond an item: what is live where the sweep begins comes first, then
// what lives nearest to there, each into the smallest room that it finds. What finds none comes earlier in the next sweep, and earlier still each time ("squeaky
// wheel" optimisation, Joslin and Clements 1999). Lives of programs follow each other as the rooms do that they leave, so that this nearly always fills an arena that
// is all but full; sets without such an order are for the exact search and ejection. Internal to pack and ballast.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/pack_items.h"

namespace tidemark::plan::packing {

class Sweeps {
 public:
  // An item counts with its largest height all its life.
  Sweeps(const Items& items, Units height);

  Units height() const { return height_; }
  // One more sweep, from the end of time or from its beginning: whether all items have a place. No, too, when the limit came first.
  bool next(const Limit& limit);
  // Of the last sweep, by item; -1: it has none.
  const std::vector<Units>& offsets() const { return offsets_; }
  // Those of the last sweep that found no room, and their heights together. Without those that it did not come to.
  const std::vector<std::int32_t>& out() const { return out_; }
  Units height_out() const { return height_out_; }

 private:
  struct Life {
    std::int32_t first, last;  // sections, both included
    Units height;
  };
  struct Placed {
    std::int32_t first, last;
    Units offset, end;
  };
  // Sweeps from one end; time runs backwards in those from the end.
  struct Way {
    std::vector<Life> lives;            // by item
    std::vector<double> turn, sooner;   // by item: the section that it comes with, and by how many sooner once it finds no room
    std::vector<std::int32_t> order;    // of the last sweep
    Units least_out = 0;                // of its sweeps
  };
  Way& choose();
  bool sweep(Way& way, const Limit& limit);
  Units find_room(const Life& life) const;

  Units height_;
  Way ways_[2];
  std::int64_t count_ = 0;  // of sweeps
  std::vector<Placed> placed_;  // by offset; without those that none of the items to come meets
  std::vector<Units> offsets_;
  std::vector<std::int32_t> out_, first_left_;  // the latter: of those from a place in the order on, the first section of all
  Units height_out_ = 0;
};

}  // namespace tidemark::plan::packing
