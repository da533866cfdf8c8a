// Offsets for what a search finds: packs its plans, puts their runs into another order where that leaves holes, and searches with fewer live bytes where neither
// does. Part of solve. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <optional>

#include "tidemark/plan/ballast.h"
#include "tidemark/plan/search.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

// The plan of a sequence of runs.
Plan plan_of(const Problem& problem, const Model& model, const std::vector<TaskId>& runs);

class Offsets {
 public:
  // All of it must outlive this. `budget` is very large where there is none.
  struct Of {
    const Problem& problem;
    const Model& model;
    const Options& options;
    Bytes budget;
    Limit& limit;
    const std::atomic<bool>& stopped;
    std::function<bool(const char* phase, const Search* search)> go_on;
    std::function<SearchOptions(Bytes live)> search_options;
  };
  explicit Offsets(Of of);

  // A share of the time, while there is that much; all that is left where the search is counted, which ends by itself.
  void pack(Plan& plan, double share);
  // So that packing takes longer, and another order more than that.
  bool has_many() const;
  // Whether another order of such runs may be worth looking for.
  bool may_arrange(const std::vector<TaskId>& runs);
  // The plan becomes that of the same runs in an order whose offsets fit, where one is found.
  void arrange(Plan& plan, const std::vector<TaskId>& runs, double seconds);

  // Whether nearly every value has a size of its own, so that packing may leave holes whatever the plan; and whether it does, by a first one.
  bool may_have_holes() const;
  bool surely_has_holes(const std::vector<TaskId>& runs);
  // Where packing is far from the live bytes, there is time left to search with fewer of them; where it is near, the best is made to fit in the end.
  bool far_from_packed(const std::vector<TaskId>& runs);
  // So that a search with fewer live bytes is what is left to do.
  bool has_holes() const { return holes_; }
  // Where another order is too dear to look for: offsets by sweeps, and a search with fewer live bytes where these find no room.
  bool may_ballast() const;
  bool has_large_holes(const Plan& plan) const;
  bool needs_ballast() const { return ballast_; }
  void fill_with_ballast(const std::vector<TaskId>& given);
  // Whether that is so shows on the first plan, where no order is looked for.
  bool needs_sweeps(const std::vector<TaskId>& runs);
  void fill_holes(const std::vector<TaskId>& given);

  std::optional<Plan> packed;                              // the fastest that fits with its offsets
  Bytes least_packed = std::numeric_limits<Bytes>::max();  // of plans with offsets

 private:
  bool sweeps_leave_holes(const std::vector<TaskId>& runs);
  Limit sweeps_limit();
  double to_probe(const std::vector<TaskId>& runs);  // the share of the time for that
  double over_when_packed(const std::vector<TaskId>& runs, double share);
  double fewer_for(const std::vector<TaskId>& runs);
  double seconds_left() const;
  std::vector<TaskId> search_below(const Model& model, Bytes live, const std::vector<TaskId>& from,
                                   double seconds, double share, std::uint64_t again, bool anew);
  void fill_with_fewer(std::vector<TaskId> from);
  Bytes try_to_pack(Plan plan, const std::vector<TaskId>& runs, bool late, bool hopeful, bool again = false);

  Of of_;
  bool can_arrange_, looked_ = false;  // the latter: whether dives pay, which it depends on
  std::uint64_t tries_ = 0;            // to arrange, each with other random numbers
  bool holes_ = false;                 // packing is far from the live bytes
  bool ballast_ = false;               // the same, where the order stays as it is
  double fewer_ = 0;                   // live bytes, of the arena, with which offsets are looked for first
};

}  // namespace tidemark::plan
