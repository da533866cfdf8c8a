// Copies instead of second runs: where a buffer's gap is long enough for the links, it is copied out and in beside the computation. Each
// choice is timed by the clock over the whole sequence, so links that are busy show.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/copies.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/drops.h"

namespace tidemark::plan {

struct TierSearchOptions {
  bool recompute = true;  // a task may run again where that costs less than a copy
};

class TierSearch {
 public:
  TierSearch(Timeline& line, Drops& drops, const TierSearchOptions& options)
      : line_(&line), drops_(&drops), options_(options) {}

  // Brings the peak within the budget by copies or, where allowed, second runs, whichever costs less per byte at the peak. False when stuck.
  bool repair(Rng& rng, const Limit& limit);
  // Copies out and fetches earlier and waits for copies out later, where memory allows and the computation waits for them.
  void relax(const Limit& limit);
  // Takes copies out that the budget does not need.
  void prune(const Limit& limit);
  // Takes fetches out that nothing uses any more.
  void tidy();
  double seconds() const;  // infinity where the copies make no plan

 private:
  struct Offer {
    BufferId buffer;
    TierId tier;
    bool has_copy;  // in the tier already, of this version
    bool postpone;  // fetched before the moment for a use behind it: behind it instead
    double score;
  };
  void collect(std::int32_t at, Bytes need, std::vector<Offer>& offers);
  bool apply(const Offer& offer, std::int32_t at);
  bool try_drop(std::int32_t at, Bytes need, double most_ratio, Rng& rng);
  bool copy_out_sooner(TaskId evict, double& now);
  std::int32_t written_at(BufferId b, std::size_t i) const;
  double end_of(std::int32_t slot) const;
  void read_clock();
  double time_of(std::int32_t slot) const { return time_[static_cast<std::size_t>(slot)]; }

  Timeline* line_;
  Drops* drops_;
  TierSearchOptions options_;
  std::vector<double> time_;  // by slot: when the compute stream gets there
  double clock_seconds_ = 0;
};

}  // namespace tidemark::plan
