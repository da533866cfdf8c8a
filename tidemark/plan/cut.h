// The cut model: the least time that the rest of any plan costs, seen from the moment a task first runs, when
// a byte stored at that moment has a price. One minimum cut for each price. Used by bound, and by solve for
// its first plans.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tidemark/plan/certificate.h"
#include "tidemark/plan/mincut.h"
#include "tidemark/plan/values.h"

namespace tidemark::plan {

// A minimum cut at one price.
struct Cut {
  TaskId moment = -1;
  double price = 0;    // seconds a byte
  double seconds = 0;  // the bound it proves: no plan for the budget is faster; infinity: there is none
  double extra = 0;    // what this choice runs beyond the floor, in seconds
  Bytes bytes = 0;     // live at the moment with this choice, all that must be there counted
  std::vector<BufferId> away;    // in a tier at the moment, and fetched later
  std::vector<BufferId> stored;  // beside what the task reads and writes
  std::vector<TaskId> again;     // what runs after the moment though it has run before
};

// Why the bound holds for any order and every feature: docs/proofs.md. In short: at the moment, what is live
// fits the budget; each value read later was live then, or one of its makers runs after. What has surely run
// before and runs after is a second run, beyond the floor of one run for each task.
class TIDEMARK_API CutModel {
 public:
  // `moment` must be sole. The model refers to `values`.
  CutModel(const Values& values, TaskId moment);

  const Moment& facts() const { return moment_; }
  // The choice with the fewest bytes at the moment, whatever it costs: above the budget, no plan exists. The
  // proof's multipliers are bytes.
  Cut least_stored(Certificate::Leaf* proof = nullptr);

  // The values that may be stored or not. A branch decides some of them: -1 open, 0 not stored, 1 stored.
  std::span<const BufferId> free_values() const { return free_; }
  bool can_decide(BufferId value) const;  // and is open
  void decide(BufferId value, int decision);

  // With tiers: by how much their streams count instead of the runs. Without, what can be moved costs nothing and no
  // cut proves more than the floor.
  void set_links(std::vector<Certificate::Link> links);

  Cut cut(double price, Bytes budget);
  struct Wanted {
    // The cuts next to the best price, if asked for: of those that store more than the budget allows, and of those that do not.
    Cut *more = nullptr, *less = nullptr;
    Certificate::Leaf* leaf = nullptr;  // the proof of the best, likewise
    double price = 0;                   // to begin with, where one is known to be good
    double near = 1e-9;                 // to what any price can give, as a part of what it adds: near enough
  };
  // The price with the best bound, by intersecting tangents of the concave function of the price. Stops early where the bound is `enough`.
  Cut best(Bytes budget, double enough, const Wanted& wanted);
  int cuts_made() const { return cuts_made_; }
  // Ends flows early, once for all: their multipliers are proofs all the same, their cuts are not the least.
  void limit_work(std::int64_t arcs, const Limit* limit = nullptr) { flow_.limit_work(arcs, limit); }
  // As much work again as was done so far, whatever the clock says: for what came to its end before.
  void allow_again() { flow_.allow_again(); }
  bool complete() const { return flow_.complete(); }

  // The flow of the last cut as a leaf of a certificate; its decisions in no order of a tree.
  Certificate::Leaf leaf(double price) const;

 private:
  class Builder;
  Cut chosen(double price) const;
  // Where several makers share a floor: part of it is charged for the run that makes `value` for `reader`,
  // which surely runs before the moment or is the moment itself; so that another run after it is beyond the
  // floor.
  struct Shared {
    TaskId duty;
    TaskId reader;
    BufferId value;
    double seconds;
  };
  struct Need {
    BufferId value;
    int node, to, edge;
    bool storable;
    int decision;
  };
  struct Run {
    TaskId task;
    int node, edge;
    double seconds;
  };
  struct Demand {
    TaskId reader;
    BufferId value;
    int edge;
  };

  MinCut::Flow capacity_of(const Run& run) const;
  // Beside what is surely stored.
  bool fits(const Need& need) const {
    return values_.size[static_cast<std::size_t>(need.value)] <= budget_ - forced_ - decided_;
  }
  // In a tier rather than stored, at this price.
  bool is_away(const Need& need, double price) const;

  const Values& values_;
  Moment moment_;
  MinCut flow_;
  double scale_;
  std::vector<int> need_of_;  // by value into needs_, -1 for none
  std::vector<Need> needs_;
  std::vector<Run> runs_;
  std::vector<Demand> demands_;
  std::vector<BufferId> free_;
  std::vector<Shared> shared_;
  Bytes forced_ = 0, decided_ = 0;
  Bytes budget_ = std::numeric_limits<Bytes>::max();  // asked for last
  bool has_unmakeable_ = false;
  bool movable_ = false;  // there are tiers
  std::vector<Certificate::Link> links_;
  std::vector<Units> away_;             // by value
  double weight_after_ = 1, base_ = 0;  // of runs after the moment; what is sure to be spent
  double base_before_ = 0, base_after_ = 0, base_open_ = 0;  // by when it is spent, in seconds
  double most_extra_ = 0;
  int cuts_made_ = 0;
};

}  // namespace tidemark::plan
