// What greedy, annealing and evolutionary share: a plan as the set of values that are kept over the turn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {

using Keep = std::vector<char>;  // by activation: Outline::activations

struct KeepScore {
  double seconds = 0;
  Bytes peak = 0;
  // Whether this is the better one for a budget: within it and faster, or nearer to it.
  bool better_than(const KeepScore& other, Bytes budget) const;
};

class KeepSearch {
 public:
  KeepSearch(const Problem& problem, const Options& options);

  const Outline& outline() const { return outline_; }
  std::size_t size() const { return outline_.activations.size(); }
  KeepScore score(const Keep& keep) const;
  // Gives up the values that cost least per byte until the budget holds, then takes back what still fits, dearest first.
  Keep greedy(Bytes budget, const Limit& limit) const;
  // Runs `search` for the budget, and, where the packing of its answer is too large, for less.
  Plan plan(const std::function<Keep(Bytes budget, Limit& limit)>& search) const;

 private:
  std::vector<Step> runs(const Keep& keep) const;
  const Problem* problem_;
  const Options* options_;
  Outline outline_;
};

}  // namespace tidemark::plan::named
