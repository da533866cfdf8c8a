// Adjoints as a person writes them, to measure against.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

// Burgers' equation in one dimension with Rusanov's flux and fixed ends: explicit steps, two statements a cell.
struct Burgers {
  std::int64_t cells = 1000, steps = 1000;
  double ratio = 0.2;  // time step over cell width
  std::vector<double> start() const;
};

// The energy of the last state (the sum of its squares) and its gradient by the first one. With `slots` < steps the states are kept
// by revolve and made again.
struct HandAdjoint {
  explicit HandAdjoint(const Burgers& problem, std::int64_t slots);
  double run(const std::vector<double>& start, std::vector<double>& gradient);

 private:
  void step(const double* u, double* next);
  void back(const double* u, double* adjoint);
  Burgers p_;
  std::int64_t slots_;
  std::vector<double> states_, flux_, flux_adjoint_, working_;
  std::vector<std::int64_t> kept_;
};

}  // namespace bench
