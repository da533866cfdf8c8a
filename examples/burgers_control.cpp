// Burgers control: find the force that brings a flow to a wanted shape after 2000 steps, in 200 KB. All states alone would take five
// times that. Gradient descent on `checkpointed`; `burgers_control FILE.svg` draws the flow. Returns 1 if the misfit does not fall to a tenth.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstdio>

#include "picture.h"
#include "tidemark/tape/checkpointed.h"

using namespace tidemark;

template <typename T>
struct Flow {
  std::vector<T> u;
};
template <typename T>
struct Force {
  std::array<T, 8> strength{};  // of eight bumps along the line
};

int main(int argc, char** argv) {
  constexpr std::size_t n = 64;
  const auto step = [](auto& s, const auto& force, std::int64_t) {
    using T = std::remove_cvref_t<decltype(s.u[0])>;
    using std::fabs;
    using std::max;
    std::array<T, n> flux;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const T &l = s.u[i], &r = s.u[i + 1];
      flux[i] = 0.25 * (l * l + r * r) - (0.3 + 0.5 * max(fabs(l), fabs(r))) * (r - l);
    }
    for (std::size_t i = 1; i + 1 < n; ++i)
      s.u[i] = s.u[i] - 0.1 * (flux[i] - flux[i - 1]) + 0.002 * force.strength[i / 8];
  };
  const auto wanted = [](std::size_t i) {
    return 0.5 * std::sin(3.14159265 * static_cast<double>(i) / (n - 1));
  };
  const auto misfit = [&](const auto& s, const auto&) {
    std::remove_cvref_t<decltype(s.u[0])> sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += (s.u[i] - wanted(i)) * (s.u[i] - wanted(i));
    return sum;
  };

  const Flow<double> start{std::vector<double>(n, 0.0)};
  Force<double> force, direction;
  double first = 0, best = 0, rate = 0.5;
  for (int round = 0; round < 40; ++round) {
    Force<double> tried = force;
    for (std::size_t k = 0; k < tried.strength.size(); ++k) tried.strength[k] -= rate * direction.strength[k];
    const auto g = checkpointed(step, misfit, start, tried, 2000, {.memory = 200'000});
    if (round == 0) {
      first = best = g.value;
      std::printf("%s\n", g.report.explain().c_str());
    } else if (g.value > best) {
      rate *= 0.5;  // too far
      continue;
    }
    force = tried;
    direction = g.parameters;
    best = g.value;
    rate *= 1.2;
  }
  std::printf("misfit %.4f at first, %.4f after 40 rounds\n", first, best);
  if (argc > 1) {
    Flow<double> reached = start;
    for (std::int64_t i = 0; i < 2000; ++i) step(reached, force, i);
    std::vector<double> shape(n);
    for (std::size_t i = 0; i < n; ++i) shape[i] = wanted(i);
    Picture p(640, 260, "the flow after 2000 steps (red), and the shape wanted (green)");
    p.plot(shape, 20, 30, 600, 210, -0.1, 0.6, "#2a2");
    p.plot(reached.u, 20, 30, 600, 210, -0.1, 0.6, "#c22");
    p.write(argv[1]);
  }
  return best < 0.1 * first ? 0 : 1;
}
