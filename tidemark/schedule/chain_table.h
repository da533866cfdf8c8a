// The dynamic program behind `chain`: the least forward time to reverse any part of a chain of unequal links
// with any amount of memory. Links are steps, or short runs of them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tidemark/schedule/schedule.h"

namespace tidemark::schedule {

// Sizes are in units of memory. `reverse[m]` is the time to reverse the link alone when the state it begins
// in is stored and m units are free beside it; infinity where they are too few.
struct Link {
  float forward = 0;
  std::int32_t state = 0, tape = 0;
  std::vector<float> reverse;
};

// With m units free,
//   C(s, t, m)  reverses links [s, t), state s stored (its units not among the m),
//   D(s, t, m)  the same with state s at hand, but not stored:
//   D(s, t, m) = min(C(s, t, m - state_s), forward_s + D(s + 1, t, m - tape_s)),   D(t, t, m) = 0,
//   C(s, t, m) = min(forward_s + D(s + 1, t, m + state_s - tape_s),
//                    min over s < x < t of forward(s..x) + D(x, t, m) + C(s, x, m)).
// So a state once stored stays until its last use (persistent schedules), and what is kept of a step beside
// states is its adjoint data. The chains of Beaumont, Herrmann, Pallez & Shilova, "Optimal memory-aware
// backpropagation of deep join networks" and rotor (2019-20), with units as in Maddison's mixed schedules.
// For a fixed m the last line is a product of matrices in (min, +), and is computed like one: in tiles that
// stay in registers.
class ChainTable {
 public:
  static constexpr float kNever = 1e30f;

  // Time links^3 / 6 * (units + 1), memory 2 links^2 (units + 1) bytes.
  ChainTable(std::vector<Link> links, std::int32_t units, const Watch& watch = {});

  std::int32_t links() const { return n_; }
  const Link& link(std::int32_t i) const { return links_[static_cast<std::size_t>(i)]; }
  float stored(std::int32_t s, std::int32_t t, std::int64_t m) const;
  float unstored(std::int32_t s, std::int32_t t, std::int64_t m);
  // The x that C takes, or s where it tapes link s.
  std::int32_t split(std::int32_t s, std::int32_t t, std::int64_t m);
  // Whether D stores state s (else it tapes link s).
  bool stores(std::int32_t s, std::int32_t t, std::int64_t m);

 private:
  static constexpr std::int32_t kLane = 8;     // units side by side in memory
  static constexpr std::int32_t kColumns = 4;  // t at a time
  static constexpr std::int32_t kRows = 2;     // s at a time

  std::size_t at(std::int32_t block, std::int32_t s, std::int32_t t) const {
    return (static_cast<std::size_t>(block) * pairs_ + row_[static_cast<std::size_t>(s)] +
            static_cast<std::size_t>(t)) *
           kLane;
  }
  std::size_t panel(std::int32_t block, std::int32_t s) const {
    return (static_cast<std::size_t>(block) * static_cast<std::size_t>(n_ + 1) +
            static_cast<std::size_t>(s)) *
           kLane;
  }
  void solve_columns(std::int32_t first, std::int32_t last);
  void multiply(std::int32_t s, std::int32_t rows, std::int32_t first);
  void finish(std::int32_t s, std::int32_t t, std::int32_t first, std::int32_t top, float* sum);
  void fill_column(std::int32_t s, std::int32_t t);
  float forward(std::int32_t s, std::int32_t x) const {
    return static_cast<float>(before_[static_cast<std::size_t>(x)] - before_[static_cast<std::size_t>(s)]);
  }

  std::vector<Link> links_;
  std::int32_t n_, units_, blocks_;
  std::vector<double> before_;  // forward time of links [0, i)
  std::vector<std::size_t> row_;
  std::size_t pairs_;
  std::vector<float> c_;               // C by block of units, s, t
  std::vector<std::vector<float>> d_;  // D of the columns under way, by column: block, s
  std::vector<float> sums_, forward_;  // of one tile: sums by row, column, unit; forward times by row
  // D(., t, .) for one t, filled from the right as it is asked for: rows of units_ + 1.
  std::int32_t column_t_ = -1, column_from_ = 0;
  std::vector<float> column_;
};

}  // namespace tidemark::schedule
