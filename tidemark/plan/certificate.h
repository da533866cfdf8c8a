// A lower bound on time in a form that can be confirmed without solving anything: non-negative multipliers of
// inequalities that hold for every plan. docs/proofs.md lists the inequalities. Made by bound, confirmed by
// verify_proof. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tidemark/plan/values.h"

namespace tidemark::plan {

// Time in whole units, a power of two of seconds, so that all sums are exact.
using Units = std::int64_t;

// Stage i lies between moments i and i + 1; moment 0 is the start, moment k + 1 the end. The unknowns are
// run(i, j, t): task t runs in one of the stages i to j; and stored(i, v): value v is live at moment i.
struct Certificate {
  struct Decision {
    std::int32_t moment;
    BufferId value;
    bool stored;
  };
  struct Need {  // run(i, j, task) <= stored(i, value) + sum over its makers m of run(i, j, m)
    std::int32_t i, j;
    TaskId task;
    BufferId value;
    Units y;
  };
  struct Keep {  // stored(at, value) <= stored(i, value) + the same sum; at = k + 1: an output
    std::int32_t i, j, at;
    BufferId value;
    Units y;
  };
  struct Parts {  // run(first of ends, last - 1, task) <= sum over neighbours a, b of run(a, b - 1, task)
    TaskId task;
    Units y;
    std::vector<std::int32_t> ends;
  };
  // With tiers and one moment: the parts of kWhole by which the streams of a tier count, instead of the runs: the one
  // that copies in after the moment, the one that copies out before it.
  struct Link {
    std::int64_t read = 0, write = 0;
  };
  static constexpr std::int64_t kWhole = 1 << 20;
  static constexpr Units kMost = Units{1} << 60;  // the largest number of a row that the verifier takes
  // One leaf of the branching, from "not stored" to "stored" in the order of the list.
  struct Leaf {
    std::vector<Decision> decisions;
    bool impossible =
        false;  // no plan has these decisions: the multipliers are bytes, the price 1, runs cost nothing
    std::vector<double> prices;  // seconds a byte at each moment
    std::vector<Need> need;
    std::vector<Keep> keep;
    std::vector<Parts> parts;
    std::vector<Link> links;  // one for each tier, or none: all zero
  };
  // One case of several, from "`first` before `then`" to the opposite in the order of the list: the plans it is about.
  struct Case {
    Order order;
    bool turned;  // `then` before `first`
    Order holds() const { return turned ? Order{order.then, order.first} : order; }
  };
  std::vector<Case> orders;
  std::vector<TaskId> moments;  // each surely runs before the next
  int unit_exponent = 0;        // a unit is 2^unit_exponent seconds
  std::vector<Leaf> leaves;

  double unit() const;
};
std::vector<Order> held_orders(const std::vector<Certificate::Case>& orders);

// The unit that suits a problem: its floor is some 2^50 of them.
TIDEMARK_API int unit_exponent_for(double floor_seconds);

// Rounded down, and no more than the verifier takes.
Units units(double seconds, int unit_exponent, Units most = Certificate::kMost);

// What it costs at least to have a value in a tier at the moment and to fetch it later, where links count; by value.
TIDEMARK_API std::vector<Units> away_costs(const Values& values, const std::vector<Certificate::Link>& links,
                                           int unit_exponent);
// The part of kWhole by which runs count before the moment and after it.
TIDEMARK_API std::pair<std::int64_t, std::int64_t> run_weights(const std::vector<Certificate::Link>& links);

// What the certificate's leaves prove, in seconds: the least of them.
class TIDEMARK_API Evaluation {
 public:
  // Where what holds at the moments is known already.
  Evaluation(const Values& values, std::vector<Moment> facts, int unit_exponent, Bytes budget);
  Evaluation(const Values& values, const std::vector<TaskId>& moments, int unit_exponent, Bytes budget);
  double seconds(const Certificate::Leaf& leaf) const;
  bool chain() const { return chain_; }

  // Bounds of the unknowns, from what holds in every plan; both 1 or both 0 where it is certain.
  std::pair<int, int> run_range(int i, int j, TaskId t) const;
  std::pair<int, int> stored_range(int i, BufferId v) const {
    return stored_range(i, v, i == 0 || i == stages() ? 0 : room(i));
  }
  // Where that much of the budget is left beside what is surely stored: what is larger is not stored.
  std::pair<int, int> stored_range(int i, BufferId v, Bytes room) const;
  Bytes room(int i) const { return room_[static_cast<std::size_t>(i - 1)]; }

  const std::vector<Moment>& facts() const { return facts_; }
  int stages() const { return static_cast<int>(facts_.size()) + 1; }
  // Required work that takes time, and it is open in which stage it is first done.
  bool first_is_open(TaskId t) const { return first_is_open_[static_cast<std::size_t>(t)]; }
  Units cost(TaskId t) const { return cost_[static_cast<std::size_t>(t)]; }

 private:
  const Values& values_;
  int unit_exponent_;
  Bytes budget_;
  std::vector<Moment> facts_;
  std::vector<Bytes> room_;  // at each: left of the budget beside the task's run and what it reads
  enum class Stored : std::uint8_t { never, perhaps, always };
  std::vector<std::vector<Stored>> stored_;  // at each, by value, whatever the room
  std::vector<Units> cost_;
  std::vector<bool> first_is_open_;
  bool chain_ = true;
};

}  // namespace tidemark::plan
