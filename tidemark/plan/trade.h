// The choice of what is kept over one full moment is close to a knapsack: second runs that bridge it are given back and other values dropped
// over it instead, up to two for two, the pairs that promise most first. Beside the random moves of improve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/drops.h"

namespace tidemark::plan {

class Trade {
 public:
  Trade(Timeline& line, Drops& drops) : line_(&line), drops_(&drops) {}

  // Trades over the moment `at`, as long as one makes the plan faster and it fits. `extra`: slots of the runs that may go.
  // True if the timeline changed.
  bool run(std::int32_t at, const std::vector<std::int32_t>& extra, Rng& rng);

 private:
  struct Item {
    double seconds = 0;       // saved by giving the run back, or spent by the drop
    Bytes bytes = 0;          // more over the moment, or fewer
    std::int32_t which = -1;  // slot of the run, or buffer
  };
  struct Pair {
    double seconds = 0;
    Bytes bytes = 0;
    std::int32_t first = -1, second = -1;  // in the list of items; -1: none
  };
  struct Deal {
    double gain = 0;
    Pair back, drop;
  };
  void list_runs(std::int32_t at, const std::vector<std::int32_t>& extra);
  void list_drops(std::int32_t at, double most_seconds);
  static void pair_up(const std::vector<Item>& items, std::vector<Pair>& pairs);
  void list_deals(Bytes room, Rng& rng);
  bool carry_out(const Deal& deal, std::int32_t at, double before, Rng& rng);

  Timeline* line_;
  Drops* drops_;
  std::vector<Item> runs_, offers_;
  std::vector<Pair> backs_, pairs_;
  std::vector<double> least_;
  std::vector<std::size_t> least_at_;
  std::vector<Deal> deals_;
  Drop trial_;
};

}  // namespace tidemark::plan
