// A linear program whose unknowns are from 0 to 1 and whose rows are at least something, solved by HiGHS where it was found, again and again with more rows.
// Behind the bounds from several moments. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {

class LinearProgram {
 public:
  // As floating point sees it. Stopped: by the limit; the multipliers are less good but as valid.
  enum class Outcome { solved, stopped, infeasible, failed };

  // Whether this build can solve any; else all fail.
  static bool available();

  // The sum of cost times unknown is to be least. `iterations` limits each run of the simplex method. The limit must outlive it; may be null.
  LinearProgram(const std::vector<double>& cost, int iterations, const Limit* limit);
  ~LinearProgram();
  LinearProgram(const LinearProgram&) = delete;
  LinearProgram& operator=(const LinearProgram&) = delete;

  // Of a row, by column; no column twice. They count from the next run on.
  struct Entry {
    int column;
    double value;
  };
  void add_row(const std::vector<Entry>& entries, double least);
  int rows() const { return rows_; }
  int columns() const { return columns_; }

  Outcome run();
  double objective() const { return objective_; }
  const std::vector<double>& solution() const { return solution_; }  // by column
  // By row: not below 0 but for rounding. Where the outcome is infeasible: a ray, of one sign or the other.
  const std::vector<double>& multipliers() const { return multipliers_; }

  // Settles an unknown, or opens it again (-1).
  void fix(int column, int value);
  // Where the simplex method is, and where to start from: rows that came later are slack, and what is no basis is made one.
  struct Basis {
    enum class At : std::uint8_t { lower, upper, inside };
    std::vector<At> columns, rows;
  };
  Basis basis() const;
  void start_from(const Basis& basis);

 private:
  void hand_over();

  int columns_, rows_ = 0;
  // Rows that HiGHS has not been given yet.
  std::vector<int> start_, index_;
  std::vector<double> value_, least_;
  struct Close {
    void operator()(void* highs) const;
  };
  std::unique_ptr<void, Close> highs_;
  double objective_ = 0;
  std::vector<double> multipliers_, solution_;
};

}  // namespace tidemark::plan
