// Exact search for a packing of a given height: depth first, bottom up, in the spirit of MiniMalloc (Moffitt,
// ASPLOS 2023). Small sets only: it keeps the pairs that are live together. Internal to pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/pack_items.h"

namespace tidemark::plan::packing {

enum class Answer { found, impossible, stopped };

struct Budget {
  std::int64_t nodes = 0;        // left; counts down
  const Limit* limit = nullptr;  // when to give up; may be null
};

// Whether all pairs that are live together, and a list of items per level, can be held.
bool exact_pays(const Items& items);

// For each section, how many before it are maximal; at the end, how many are. One is where something begins in it, or since the last maximal one, and something
// ends with it: others say nothing of their own. `begins`, `ends`: by section, and the one behind the last.
std::vector<std::int32_t> maximal_before(std::span<const char> begins, std::span<const char> ends);

class Exact {
 public:
  explicit Exact(const Items& items);
  ~Exact();
  // Is there a packing of at most `height`? `rank` breaks ties between items at one offset, low ones first.
  // The offsets of a packing found are written to `offsets`. Decreases budget.nodes by the nodes visited.
  Answer search(Units height, std::span<const std::int32_t> rank, Budget& budget,
                std::vector<Units>& offsets);
  // For each item, how often the worst of its moments ended a branch in the last runs.
  std::vector<double> failures() const;

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace tidemark::plan::packing
