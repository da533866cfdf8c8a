// The first branches of an exact search for offsets, a few microseconds each: where a packing of nearly full height is looked for again and
// again, in other orders, what is found is found there. Bottom up as pack_exact.h, without its proofs. Internal to pack_core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/plan/pack_exact.h"

namespace tidemark::plan::packing {

class Dives {
 public:
  // Items count with their greatest height all along. Where exact_pays: it keeps the pairs that are live together.
  explicit Dives(const Items& items);

  // Of items that live together, each twice.
  std::size_t pairs() const { return pairs_.size(); }
  // Whether it found offsets with all tops up to `height` within the budget; no says nothing. Of those that can lie lowest, the item of the lowest rank is
  // put there first.
  bool search(Units height, std::span<const std::int32_t> rank, Budget& budget, std::vector<Units>& offsets);
  // Per item: how often a section that it lives in was the end of a branch, lately above all.
  std::vector<double> failures() const;

 private:
  struct Undo {
    static constexpr Units kPlace = -1, kSection = -2;  // in `floor`: what is undone is not an item's state
    Units low, floor;
    std::int32_t id;
    char skipped;
  };
  struct Range {
    std::int32_t begin, end;  // sections
  };

  void reset(Units height, std::span<const std::int32_t> rank);
  bool dive(Range changed);
  std::int32_t find_forced(Range changed);
  bool place(std::int32_t i, Range& changed);
  bool skip(std::int32_t i);
  bool check(Range sections);
  void show(std::int32_t i);
  void undo_to(std::size_t mark);

  // The set, over maximal cliques only.
  std::int32_t n_ = 0, sections_ = 0;
  std::vector<std::int32_t> begin_, end_;
  std::vector<Units> height_;
  std::vector<std::int32_t> pairs_, first_pair_;      // by item: those that live with it
  std::vector<std::int32_t> lives_in_, first_lives_;  // by section: the items

  // The search.
  Units capacity_ = 0;
  Budget* budget_ = nullptr;
  bool stopped_ = false;
  std::int32_t left_to_place_ = 0;
  std::vector<std::int32_t> rank_, by_rank_;
  std::vector<char> placed_, skipped_;
  std::vector<Units> offset_, floor_, low_;
  // By rank, of those that are neither placed nor passed over: floor and top on it; kNever for the others. Each step looks at all of them.
  std::vector<Units> floor_at_, top_at_;
  std::vector<Units> left_;            // per section: bytes of items not placed
  std::vector<std::int32_t> watched_;  // per section: an item whose low_ leaves room for all that is left
  std::vector<std::int32_t> beside_;   // per section: another that did when last looked at
  std::vector<std::int64_t> stamp_;
  std::int64_t now_ = 0;
  std::vector<Undo> trail_;
  std::vector<double> failures_;  // per section
};

}  // namespace tidemark::plan::packing
