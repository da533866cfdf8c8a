// Neural ODE: a small network is the right side of a differential equation, integrated by an adaptive Runge-Kutta pair, so that the number of
// steps is known only at the end. The network is trained so that the solution ends where it should, in 64 KB. Returns 1 if it does not.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "picture.h"
#include "tidemark/base/random.h"
#include "tidemark/tape/checkpointed.h"

using namespace tidemark;

constexpr std::size_t kHidden = 8;
constexpr double kEnd = 4.0, kTolerance = 1e-4;

template <typename T>
struct Solution {
  std::array<T, 2> x{};
  double time = 0, step = 0.1;  // the step size is a decision, not a value to differentiate
};
template <typename T>
struct Network {
  std::array<T, 2 * kHidden> in{}, out{};
  std::array<T, kHidden> bias{};
};

template <typename T>
std::array<T, 2> slope(const std::array<T, 2>& x, const Network<T>& net) {
  using std::tanh;
  std::array<T, 2> y{T(0.0), T(0.0)};
  for (std::size_t h = 0; h < kHidden; ++h) {
    const T a = tanh(net.in[2 * h] * x[0] + net.in[2 * h + 1] * x[1] + net.bias[h]);
    for (std::size_t i = 0; i < 2; ++i) y[i] += net.out[2 * h + i] * a;
  }
  return y;
}

int main(int argc, char** argv) {
  // Heun's method; Euler's, inside it, says how large the error is. A step that is too long is tried again.
  const auto step = [](auto& s, const auto& net, std::int64_t) {
    const auto k1 = slope(s.x, net);
    for (double h = std::min(s.step, kEnd - s.time);; h *= 0.5) {
      auto euler = s.x;
      for (std::size_t i = 0; i < 2; ++i) euler[i] = s.x[i] + h * k1[i];
      const auto k2 = slope(euler, net);
      double error = 0;
      for (std::size_t i = 0; i < 2; ++i)
        error = std::max(error, 0.5 * h * std::abs(tape::plain_value(k2[i]) - tape::plain_value(k1[i])));
      if (error > kTolerance) continue;
      for (std::size_t i = 0; i < 2; ++i) s.x[i] = s.x[i] + 0.5 * h * (k1[i] + k2[i]);
      s.time += h;
      s.step = h * std::clamp(0.9 * std::sqrt(kTolerance / (error + 1e-12)), 0.5, 2.0);
      return;
    }
  };
  const auto misfit = [](const auto& s, const auto&) {
    return (s.x[0] - 0.2) * (s.x[0] - 0.2) + (s.x[1] + 0.7) * (s.x[1] + 0.7);
  };

  Rng rng(1);
  Network<double> net;
  for (auto* weights : {&net.in, &net.out})
    for (double& w : *weights) w = 1.2 * (rng.uniform() - 0.5);
  double misfit_now = 0;
  for (int round = 0; round < 60; ++round) {
    const auto g = checkpointed(step, misfit, Solution<double>{{1.0, 0.5}}, net,
                                While{[](const auto& s, std::int64_t) { return s.time < kEnd - 1e-12; }},
                                {.memory = 64'000});
    misfit_now = g.value;
    if (round % 20 == 0)
      std::printf("round %2d: misfit %.2e; %s\n", round, g.value, g.report.explain().c_str());
    for (std::size_t i = 0; i < 2 * kHidden; ++i) {
      net.in[i] -= 0.05 * g.parameters.in[i];
      net.out[i] -= 0.05 * g.parameters.out[i];
    }
    for (std::size_t h = 0; h < kHidden; ++h) net.bias[h] -= 0.05 * g.parameters.bias[h];
  }
  std::printf("misfit %.2e after 60 rounds\n", misfit_now);
  if (argc > 1) {
    Solution<double> s{{1.0, 0.5}};
    Picture p(420, 320, "the path from (1, 0.5) to (0.2, -0.7); a dot for each step");
    const auto at = [](double x, double y) { return std::pair(60 + 240 * x, 140 - 180 * y); };
    std::vector<std::pair<double, double>> path{at(s.x[0], s.x[1])};
    for (std::int64_t i = 0; s.time < kEnd - 1e-12; ++i) {
      step(s, net, i);
      path.push_back(at(s.x[0], s.x[1]));
    }
    p.curve(path, "#c22");
    for (const auto& [x, y] : path) p.dot(x, y, 2.5, "#c22");
    p.dot(at(0.2, -0.7).first, at(0.2, -0.7).second, 4, "#2a2");
    p.write(argv[1]);
  }
  return misfit_now < 1e-3 ? 0 : 1;
}
