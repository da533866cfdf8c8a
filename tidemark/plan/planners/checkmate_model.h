// The Checkmate formulation as rows and columns, solver aside: stages in which each task runs for the first time, R (runs),
// S (kept from stage to stage), FREE and U (memory). Jain, Jain, Nrusimha, Gholami, Abbeel, Keutzer, Stoica & Gonzalez,
// "Checkmate: breaking the memory wall with optimal tensor rematerialization", MLSys 2020.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {

// Differences from the paper: kept are buffers, not tasks; FREE is bounded by each of its hazards alone instead of by their
// sum, so that it need not be integer and the relaxation is tighter; what no later task can need is left out.
class CheckmateModel {
 public:
  // Throws Error(unsupported) in `name` for what the formulation has no words for.
  CheckmateModel(const char* name, const Outline& outline);
  // Rows and columns that build would make, at most.
  double size_estimate() const;
  // Sizes in units of the budget.
  // False: the time was up before it was done.
  bool build(Bytes budget, const Limit& limit);

  int columns() const { return static_cast<int>(cost_.size()); }
  int rows() const { return static_cast<int>(row_upper_.size()); }

  struct Runs {
    std::vector<std::vector<char>> at_stage;  // [stage][place]: runs
  };
  // Rounds R of a solution; for integer ones.
  std::vector<Step> runs(const std::vector<double>& values) const;
  // Keeps what S says beyond `threshold`, then the fewest runs that S allows (the paper's two-phase rounding).
  std::vector<Step> two_phase(const std::vector<double>& values, double threshold) const;

  // For the solver: minimise cost x, row_lower <= A x <= row_upper, A by rows.
  std::vector<double> cost_, lower_, upper_;
  std::vector<char> integer_;
  std::vector<double> row_lower_, row_upper_;
  std::vector<int> start_, index_;
  std::vector<double> value_;
  double offset_ = 0;  // seconds of the first runs

 private:
  int column(double cost, double lower, double upper, bool integer);
  void row(double lower, double upper, const std::vector<std::pair<int, double>>& terms);
  int& r(int stage, int place) {
    return r_[static_cast<std::size_t>(stage) * n_ + static_cast<std::size_t>(place)];
  }
  int r(int stage, int place) const {
    return r_[static_cast<std::size_t>(stage) * n_ + static_cast<std::size_t>(place)];
  }
  int& s(int stage, std::size_t value) {
    return s_[static_cast<std::size_t>(stage) * values_.size() + value];
  }
  int s(int stage, std::size_t value) const {
    return s_[static_cast<std::size_t>(stage) * values_.size() + value];
  }
  void memory_of_stage(int stage, double scale, double base);

  const Outline& o_;
  std::size_t n_;
  // A buffer that some task makes and that is not resident.
  struct Value {
    BufferId buffer;
    int maker;               // place
    int needed;              // the last stage in which it can be of use; n for outputs
    std::vector<int> users;  // places
  };
  std::vector<Value> values_;
  std::vector<std::vector<std::size_t>> reads_, writes_;  // by place: values
  std::vector<int> r_, s_;                                // columns, or -1: known to be 0
};

}  // namespace tidemark::plan::named
