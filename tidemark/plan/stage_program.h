// The linear program of a bound from several moments, with the rows that bind: those of the memory and the floors, and ways (stage_paths.h) as they are found
// broken. Its multipliers are those of a certificate. Part of stages. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "tidemark/plan/linear_program.h"
#include "tidemark/plan/stage_paths.h"

namespace tidemark::plan {

struct StageProgramOptions {
  Bytes budget = 0;
  int iterations = 20'000;  // of the simplex method, in each run
  const Limit* limit = nullptr;
};

class StageProgram {
 public:
  using Outcome = LinearProgram::Outcome;

  // `moments` must be in line (Evaluation::chain).
  StageProgram(const Values& values, const std::vector<TaskId>& moments, const StageProgramOptions& options);
  // The same at other moments, beginning where `from` ended: quick where most of them are the same.
  StageProgram(const StageProgram& from, const std::vector<TaskId>& moments);

  // Until no way is broken by more than `least`, at most so many times with so many ways for each range of stages.
  struct Rounds {
    double least = 1e-5;
    int rounds = 60;
    std::size_t ways = 100;
  };
  Outcome solve(const Rounds& rounds);

  // The certificate's leaf with these multipliers, by row, and without decisions. Rows that came later count 0.
  Certificate::Leaf leaf(const std::vector<double>& multipliers) const;
  Certificate::Leaf leaf() const { return leaf(program_.multipliers()); }

  double price(int moment) const { return program_.multipliers()[at(moment - 1)]; }  // in floors a budget
  LinearProgram& program() { return program_; }
  const LinearProgram& program() const { return program_; }
  const Evaluation& facts() const { return *facts_; }
  const std::vector<TaskId>& moments() const { return moments_; }
  const StageColumns& columns() const { return columns_; }
  int unit_exponent() const { return unit_exponent_; }

  // Where the solution would need more than the budget: tasks whose first runs are worth a try as moments, with the bytes beyond, or those that
  // the run itself needs if they are fewer; most first.
  std::vector<std::pair<Bytes, TaskId>> over() const;

 private:
  enum class OpenRuns : std::uint8_t { in_turn, for_readers };
  std::vector<std::pair<Bytes, TaskId>> over(OpenRuns open) const;
  struct Row {
    enum class Kind : std::uint8_t { memory, floor, path } kind;
    std::int32_t which;  // moment, task, or place in paths_
  };
  void add_first_rows();
  void add(StagePath path);
  bool wide(const StagePath& path) const;
  int place_of(TaskId moment) const;  // from 1 on; 0: it is none

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  const Values& v_;
  StageProgramOptions o_;
  std::vector<TaskId> moments_;
  int unit_exponent_;
  std::unique_ptr<Evaluation> facts_;  // others refer to it
  StageColumns columns_;
  StagePaths finder_;
  std::vector<StagePath> paths_;
  std::vector<Row> rows_;
  LinearProgram program_;
};

}  // namespace tidemark::plan
