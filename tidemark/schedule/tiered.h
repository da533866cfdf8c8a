// Optimal schedules on a hierarchy of memories with write and read times: revolve with costs (one tier),
// disk_revolve (RAM and an unlimited disk), h_revolve (any number of tiers).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tidemark/schedule/walk.h"

namespace tidemark::schedule {

struct Memory {
  std::int64_t slots = 0;      // -1: no limit
  double write = 0, read = 0;  // of one state, in units of one forward step
};

// The least cost by dynamic programming. With working state at the start and m slots of tier k (and all of
// the tiers below) to use, and S the same with the start stored in tier k (its slot among the m):
//   S_k(l, m) = min(U_{k-1}(l, all), min over x of x + U_k(l - x, m - 1) + read_k + S_k(x, m)),
//   U_k(l, m) = min(U_{k-1}(l, all), write_k + S_k(l, m)),   U(1) = S(1) = 0.
// Herrmann & Pallez, "H-Revolve", ACM TOMS 46 (2020); one tier: Griewank & Walther with costs; an unlimited
// upper tier: Aupy, Herrmann, Hovland & Robert, "Optimal multistage algorithm for adjoint computation", SISC
// 38 (2016). The taped step before each reverse is in every schedule and not in these costs.
class TIDEMARK_API TierTable {
 public:
  TierTable(std::int64_t steps, std::span<const Memory> memories, const Watch& watch = {});
  double cost() const { return unstored(last_tier(), memories_.back().slots, steps_); }
  int last_tier() const { return static_cast<int>(memories_.size()) - 1; }
  const Memory& memory(int tier) const { return memories_[static_cast<std::size_t>(tier)]; }
  // U and S. `slots` is -1 for a tier without limit.
  double unstored(int tier, std::int64_t slots, std::int64_t steps) const;
  double stored(int tier, std::int64_t slots, std::int64_t steps) const;
  // The x that S takes, or 0 where it leaves its slot and goes on in the tier below.
  std::int64_t split(int tier, std::int64_t slots, std::int64_t steps) const;

 private:
  struct Layer {
    std::vector<double> stored, unstored;
  };
  const Layer& layer(int tier, std::int64_t slots) const;
  Layer solve(int tier, const Layer* fewer, const Watch& watch) const;

  std::int64_t steps_;
  std::vector<Memory> memories_;
  std::vector<std::vector<Layer>> layers_;  // by tier, by slots from 1; equal ones at the end are kept once
};

}  // namespace tidemark::schedule
