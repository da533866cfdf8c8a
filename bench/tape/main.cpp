// bench_tape [rounds]: the gradient of Burgers' final energy and of ADBench's Gaussian mixture, as a tape, the mixture compiled too,
// beside the tools that were found when configuring. Tools take turns, so that a busy machine slows all alike; CPU seconds, medians.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>

#include "bench/tape/problems.h"
#include "tidemark/base/random.h"

namespace problems {

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Gmm make_gmm(int d, int k, int n) {
  Gmm g{.d = d, .k = k, .n = n, .x = {}, .parameters = {}};
  tidemark::Rng rng(7);
  g.x.resize(static_cast<std::size_t>(n * d));
  for (double& v : g.x) v = rng.uniform();
  g.parameters.resize(static_cast<std::size_t>(k * (1 + d + g.triangle())));
  for (double& v : g.parameters) v = rng.uniform();
  return g;
}

double gmm_constant(const Gmm& g) {
  const int d = g.d, p = d + g.m + 1;
  double multivariate = 0.25 * d * (d - 1) * std::log(3.141592653589793);
  for (int j = 1; j <= d; ++j) multivariate += std::lgamma(0.5 * (p + 1 - j));
  return -g.n * d * 0.5 * std::log(6.283185307179586) -
         g.k * (p * d * (std::log(g.gamma) - 0.5 * std::log(2.0)) - multivariate);
}

}  // namespace problems

namespace {

using problems::Sample;
using problems::Tool;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Row {
  const char* name;
  Sample sample;
  double first = 0;
  std::vector<double> seconds, sweeps;
};

// The largest difference from the gradient of `mark`, relative to its largest entry.
double distance(const std::vector<double>& a, const std::vector<double>& mark) {
  double d = 0, scale = 0;
  for (std::size_t i = 0; i < mark.size(); ++i) {
    d = std::max(d, std::abs(a[i] - mark[i]));
    scale = std::max(scale, std::abs(mark[i]));
  }
  return d / scale;
}

template <typename Problem>
void compare(const char* title, const Problem& problem, Sample (*Tool::*run)(const Problem&), int rounds) {
  std::vector<std::pair<Row, Sample (*)(const Problem&)>> rows;
  for (const Tool& t : {problems::plain_tool(), problems::hand_tool(), problems::tidemark_tool(),
                        problems::compiled_tool(), problems::codipack_tool(), problems::codipack_reuse_tool(),
                        problems::adept_tool(), problems::adolc_tool()})
    if (t.*run != nullptr) rows.push_back({{t.name, {}, 0, {}, {}}, t.*run});
  for (int r = 0; r <= rounds; ++r)
    for (auto& [row, f] : rows) {
      row.sample = f(problem);
      if (r == 0) {
        row.first = row.sample.seconds;
      } else {
        row.seconds.push_back(row.sample.seconds);
        row.sweeps.push_back(row.sample.sweep);
      }
    }
  const Row* ours = nullptr;
  for (const auto& [row, f] : rows)
    if (std::string(row.name) == "tidemark") ours = &row;
  fmt::print("{}\n{:28} {:>9} {:>9} {:>9} {:>9} {:>10} {:>12} {:>9} {:>9}\n", title, "", "median", "least",
             "sweep", "first", "statements", "B/statement", "ours is", "differs");
  for (const auto& [row, f] : rows) {
    // Round by round, so that what slows the machine slows both.
    std::vector<double> ratios;
    for (std::size_t i = 0; i < row.seconds.size(); ++i) ratios.push_back(ours->seconds[i] / row.seconds[i]);
    fmt::print("{:28} {:6.2f} ms {:6.2f} ms {:6.2f} ms {:6.2f} ms", row.name, 1e3 * median(row.seconds),
               1e3 * *std::min_element(row.seconds.begin(), row.seconds.end()), 1e3 * median(row.sweeps),
               1e3 * row.first);
    if (row.sample.statements > 0)
      fmt::print(" {:10} {:12.1f}", static_cast<long>(row.sample.statements),
                 row.sample.tape_bytes / row.sample.statements);
    else
      fmt::print(" {:>10} {:>12}", "", "");
    fmt::print(" {:7.2f} x", median(ratios));
    if (!row.sample.gradient.empty())
      fmt::print(" {:9.1e}", distance(row.sample.gradient, ours->sample.gradient));
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  compare("Burgers, 1000 cells, 1000 steps", problems::Burgers{}, &Tool::burgers, rounds);
  compare("Gaussian mixture, d = 10, K = 25, n = 1000", problems::make_gmm(10, 25, 1000), &Tool::gmm, rounds);
}
