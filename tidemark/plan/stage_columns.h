// The unknowns of a bound from several moments (docs/proofs.md): run(l, l, t) for each stage l and stored(i, v) for each moment i, those of them
// that can matter, numbered as the columns of a linear program. Part of stages. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tidemark/plan/certificate.h"

namespace tidemark::plan {

class StageColumns {
 public:
  // An unknown that nothing asks for, or that is 0 or 1 in every plan, has no column.
  static constexpr int kUnseen = -1, kZero = -2, kOne = -3;
  enum class Range : std::uint8_t { zero, open, one };  // of run(i, j, t)

  // `facts` must outlive it.
  StageColumns(const Values& values, const Evaluation& facts, Bytes budget);

  int moments() const { return k_; }
  int count() const { return static_cast<int>(cost_.size()); }
  const std::vector<double>& cost() const { return cost_; }  // by column, in floors
  // Required tasks that may first run in several stages and have columns there: what these come to is at least 1.
  const std::vector<TaskId>& floors() const { return floors_; }

  int run(int stage, TaskId t) const { return run_[at(stage)][at(t)]; }
  // Whether its runs have columns, or are known: else it may run wherever it can, for nothing.
  bool asked_for(TaskId t) const { return seen_[at(t)]; }
  // Sole, and open in which stage it first runs: it has its columns, from stage 0 on.
  bool first_is_open(TaskId t) const { return run(0, t) != kUnseen; }
  int stored(int moment, BufferId v) const { return stored_[at(moment)][at(v)]; }
  // By task, of the stages i to j.
  const std::vector<Range>& ranges(int i, int j) const { return ranges_[at(i * (k_ + 1) + j)]; }
  // There at moment i in any case, or so small that keeping it is taken to cost nothing, so that nobody has to make it again; or it is not asked for there.
  bool always_there(int i, BufferId v) const { return always_there_[at(i)][at(v)]; }

  bool is_output(BufferId v) const { return is_output_[at(v)]; }
  const Values& values() const { return v_; }
  const Evaluation& facts() const { return e_; }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  void number();
  void add_runs(TaskId t);
  void add_stored(int moment, BufferId v);
  int column(double cost);
  void supply(int stage, BufferId v);
  void use(int stage, TaskId t);

  const Values& v_;
  const Evaluation& e_;
  int k_;
  std::vector<std::vector<int>> run_, stored_;
  std::vector<std::vector<Range>> ranges_;
  std::vector<std::vector<bool>> always_there_;
  std::vector<bool> is_output_;
  std::vector<double> cost_;
  std::vector<TaskId> floors_;
  // While they are numbered: unknowns bring others that may supply what they need.
  std::vector<bool> seen_;
  std::vector<std::vector<bool>> used_;
  std::vector<std::pair<int, TaskId>> runs_to_do_;
  std::vector<std::pair<int, BufferId>> stored_to_do_;
};

}  // namespace tidemark::plan
