// Packing into a given height by sweeps through time, each a packing of its own in about a microsecond an item: what is live where the sweep begins comes first, then
// what lives nearest to there, each into the smallest room that it finds, or what goes soon into the highest. What finds none comes earlier in the next sweep, and earlier still each time ("squeaky
// wheel" optimisation, Joslin and Clements 1999). Lives of programs follow each other as the rooms do that they leave, so that this nearly always fills an arena that
// is all but full; sets without such an order are for the exact search and ejection. Internal to pack and ballast.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/pack_items.h"

namespace tidemark::plan::packing {

class Sweeps {
 public:
  // An item counts with its largest height all its life.
  Sweeps(const Items& items, Units height);
  Sweeps(const Sweeps&) = delete;
  Sweeps& operator=(const Sweeps&) = delete;

  Units height() const { return height_; }
  // One more sweep, from the end of time or from its beginning: whether all items have a place. No, too, when the limit came first.
  bool next(const Limit& limit);
  // Of the last sweep, by item; -1: it has none.
  const std::vector<Units>& offsets() const { return last_->offsets; }
  // Those of the last sweep that found no room, and their heights together. Without those that it did not come to.
  const std::vector<std::int32_t>& out() const { return last_->now.out; }
  Units height_out() const { return last_->now.height_out; }
  // By item: how many sections sooner it comes by now than its life says, in sweeps from the end and from the beginning; for sweeps of a set that is nearly the same, to begin with.
  using Leads = std::vector<std::array<double, 2>>;
  Leads leads() const;
  void set_leads(const Leads& leads);

 private:
  struct Life {
    std::int32_t first, last;  // sections, both included
    Units height;
  };
  struct Placed {
    std::int32_t first, last;
    Units offset, end;
  };
  // How far a sweep has come.
  struct State {
    std::vector<Placed> placed;  // by offset; without those that none of the items to come meets
    std::vector<std::int32_t> out;
    Units height_out = 0;
  };
  // Sweeps from one end; time runs backwards in those from the end.
  struct Way {
    std::vector<Life> lives;  // by item
    std::vector<double> turn,
        sooner;  // by item: the section that it comes with, and by how many sooner once it finds no room
    std::vector<std::int32_t> order;  // of the last sweep
    std::vector<Units> offsets;       // likewise
    State now;
    std::vector<State>
        states;           // of the last sweep, now and then: the next one begins where its order is another
    Units least_out = 0;  // of its sweeps
  };
  Way& choose();
  bool sweep(Way& way, const Limit& limit);
  std::size_t same_as_before(Way& way);
  Units find_room(const Life& life, const std::vector<Placed>& placed) const;

  Units height_;
  std::int32_t brief_ = 0;  // sections
  Way ways_[2];
  Way* last_ = ways_;
  std::int64_t count_ = 0;                // of sweeps
  std::vector<std::int32_t> first_left_;  // of those from a place in the order on, the first section of all
};

}  // namespace tidemark::plan::packing
