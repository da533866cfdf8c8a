// Which states a loop of unknown length keeps while it runs, in a fixed number of places: the decisions of schedules.h's online(),
// without allocation and in O(log places) a state, for compiled loops and, as text, for emitted ones.
//   Up to C(places + 3, 2) steps, as in Stumm & Walther, "New algorithms for optimal online checkpointing", SISC 32 (2010): no
//   other choice of states, made with the length known, would advance over fewer steps. Beyond, the minimal repetition
//   rule of Wang, Moin & Iaccarino, "Minimal repetition dynamic checkpointing algorithm for unsteady adjoint calculation", SISC 31 (2009).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tidemark::schedule {

// The first state lies elsewhere and is always there. Number k is the state in which step k begins.
// What is known of the places when the loop has ended, in `memory` of bytes(places), aligned to 8.
class OnlineRecord {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr std::int64_t bytes(std::int64_t places) { return 16 * places; }

  OnlineRecord(std::int64_t places, void* memory)
      : places_(places),
        step_(static_cast<std::int64_t*>(memory)),
        level_(reinterpret_cast<std::int32_t*>(step_ + places)),
        link_(level_ + places) {}

  // Of a loop of so many steps: the states kept lie in place(0), place(1), …, in the order of their steps; the other places
  // come behind them.
  std::int64_t kept(std::int64_t steps) const {
    std::int64_t n = 0;
    while (n < places_ && step(n) < steps) ++n;
    return n;
  }
  std::int64_t place(std::int64_t k) const { return k < places_ ? link_[k] : k; }
  std::int64_t step(std::int64_t k) const { return step_[link_[k]]; }
  // The state of place(k) has been moved.
  void put(std::int64_t k, std::int64_t place) { link_[k] = static_cast<std::int32_t>(place); }

 protected:
  std::int64_t places_;
  std::int64_t* step_;           // by place
  std::int32_t *level_, *link_;  // by place
};

class OnlineStates : public OnlineRecord {
 public:
  OnlineStates(std::int64_t places, void* memory)
      : OnlineRecord(places, memory), next_(places > 0 ? 1 : kNever) {}

  // The state that is kept next.
  std::int64_t next() const { return next_; }
  // The place for state next(); what lay there is given up.
  std::int64_t take() {
    const std::int64_t at = next_;
    const std::int32_t place = at <= places_ ? fresh() : at < twice_ ? not_for_good() : spare();
    given_up_ = at <= places_ ? -1 : step_[place];
    step_[place] = at;
    look(at);
    return place;
  }
  std::int64_t given_up() const { return given_up_; }  // by the last take(), or -1

  // The loop has ended after so many steps; returns how many states are kept.
  std::int64_t finish(std::int64_t steps) {
    in_order(steps);
    return kept(steps);
  }

 private:
  void in_order(std::int64_t steps) {
    for (std::int64_t i = 0; i < places_; ++i) {
      link_[i] = static_cast<std::int32_t>(i);
      if (i >= used_ || step_[i] >= steps) step_[i] = kNever;
    }
    std::sort(link_, link_ + places_, [&](std::int32_t a, std::int32_t b) {
      return step_[a] != step_[b] ? step_[a] < step_[b] : a < b;
    });
  }

  std::int32_t fresh() {
    const auto place = static_cast<std::int32_t>(used_++);
    level_[place] = 1;
    if (place > 0) link_[place - 1] = place;
    last_ = place;
    return place;
  }

  // A segment between two kept states, the i-th, is reversed with places + 1 - i states, and without advancing over any step
  // more than once if it has at most places + 2 - i steps. So states places + 2, + places + 1, + places, … are kept for good;
  // between them come others two or three steps apart, for which the first one not kept for good makes room: they leave in
  // the order in which they came, which links of a list tell. (The last segment has one state, and two or three steps cost there
  // what they cost at best.)
  std::int32_t not_for_good() {
    std::int32_t* from = good_ < 0 ? &first_ : &link_[good_];
    for (; step_[*from] == good_end_; from = &link_[good_]) {
      good_ = *from;
      good_end_ += good_length_--;
    }
    const std::int32_t place = *from;
    if (place != last_) {
      *from = link_[place];
      link_[last_] = place;
      last_ = place;
    }
    return place;
  }

  // The first state that has a later one of higher level, the one at hand included. Those that have none form a chain, whose levels
  // do not rise, from the left of link_; those that have one, a heap by step from its right.
  std::int32_t spare() {
    if (chain_ + heap_ == 0) in_order(kNever), chain_ = places_;
    const auto heap = std::make_reverse_iterator(link_ + places_);
    const auto later = [&](std::int32_t a, std::int32_t b) { return step_[a] > step_[b]; };
    while (chain_ > 0 && level_[link_[chain_ - 1]] < at_hand_) {
      const std::int32_t place = link_[--chain_];
      heap[heap_++] = place;
      std::push_heap(heap, heap + heap_, later);
    }
    std::pop_heap(heap, heap + heap_, later);
    const std::int32_t place = heap[--heap_];
    level_[place] = at_hand_;
    link_[chain_++] = place;
    return place;
  }

  // From a state that was kept on to the next one.
  void look(std::int64_t at) {
    if (at < places_) {
      next_ = at + 1;
      return;
    }
    while (end_ <= at && length_ >= 3) end_ += length_--;
    if (at < twice_ && end_ > at) {
      const std::int64_t rest = end_ - at;
      next_ = at + (rest == 2 || rest == 4 ? 2 : 3);
    } else if (at < twice_) {
      next_ = twice_;
      at_hand_ = 2;
    } else {
      // The state at hand counts as one kept more. It is really kept when an earlier one can be spared; while none can, its
      // level rises with every step.
      at_hand_ = heap_ > 0 ? 0 : level_[link_[chain_ - 1]] + 1;
      next_ = at + 1 + at_hand_;
    }
  }

  std::int64_t next_, given_up_ = -1, used_ = 0;
  std::int64_t twice_ =
      (places_ + 2) * (places_ + 3) / 2;         // up to here no step need be advanced over more than twice
  std::int64_t end_ = 0, length_ = places_ + 2;  // the first end of a segment behind the state at hand
  std::int64_t good_end_ = places_ + 2, good_length_ = places_ + 1;
  std::int32_t first_ = 0, last_ = 0, good_ = -1;  // the list, and the last of it that is kept for good
  std::int32_t at_hand_ = 0;                       // the level of the state at hand
  std::int64_t chain_ = 0, heap_ = 0;
};

}  // namespace tidemark::schedule
