// Inequalities of a bound from several moments, found where a solution breaks them. In the stages i to j somebody needs a value: it was stored at moment i, or
// one of its makers runs in these stages; which needs what it reads, and so on back to makers whose runs are counted in each stage:
//   demand <= sum of stored(i, v) on the way + sum over its ends m and the stages l of run(l, l, m).
// A sum of the rows need, keep, sum and first of docs/proofs.md in which every run(i, j, t) cancels out. Part of stages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tidemark/plan/stage_columns.h"

namespace tidemark::plan {

struct StagePath {
  struct Hop {
    TaskId maker;
    BufferId through;  // of what it reads, the value that is followed back; -1: its runs count
    double times;     // on so many ways
  };
  int i, j;
  TaskId
      task;  // the demand: it reads `value`, if it runs there (of several stages: first runs there); -1: `value` is stored at moment j + 1, or an output at the end
  BufferId value;
  std::vector<Hop> hops;
};

class StagePaths {
 public:
  explicit StagePaths(const StageColumns& columns);

  // Those that `x`, by column, breaks by more than `least`, at most so many for each range of stages, the most broken first.
  std::vector<StagePath> broken(const std::vector<double>& x, double least, std::size_t most);

 private:
  struct Demand {
    double amount;  // by which it is not met
    TaskId task;
    BufferId value;
  };
  void look_at(int i, int j, double least, std::size_t most, std::vector<StagePath>& out);
  std::vector<Demand> unmet(int i, int j, double least);
  double first_in(int i, int j, TaskId t) const;
  double supply(int i, BufferId v) const;
  StagePath followed(int i, int j, const Demand& demand) const;

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  double value(int column) const;

  const StageColumns& c_;
  const Values& v_;
  const std::vector<double>* x_ = nullptr;
  bool wide_ = false;  // demands of first runs that may be in any of several stages are looked at
  std::vector<std::vector<double>> runs_;  // by stage and task: of all stages up to this one
  // Of one range: the most that may come of a task, and the value it reads that says so, or -1: its own runs do.
  std::vector<double> most_, raised_;
  std::vector<BufferId> through_;
};

}  // namespace tidemark::plan
