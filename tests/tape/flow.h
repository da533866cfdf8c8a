// Burgers' equation with viscosity and a force, as a step that loops are tried on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tidemark::flow {

template <typename T>
struct Control {
  T viscosity{};
  std::array<T, 4> force{};
};
inline const Control<double> kControl{0.05, {0.1, -0.2, 0.3, 0.05}};

// `force(k)` acts on cell k.
template <typename State, typename Parameters, typename Force>
void advance_flow(State& s, const Parameters& p, const Force& force) {
  using T = std::remove_cvref_t<decltype(s.dissipated)>;
  using std::abs;
  using std::max;
  const std::size_t n = s.u.size();
  std::vector<T> flux(n);
  for (std::size_t k = 0; k + 1 < n; ++k)
    flux[k] = 0.25 * (s.u[k] * s.u[k] + s.u[k + 1] * s.u[k + 1]) -
              (p.viscosity + 0.5 * max(abs(s.u[k]), abs(s.u[k + 1]))) * (s.u[k + 1] - s.u[k]);
  for (std::size_t k = 1; k + 1 < n; ++k) s.u[k] = s.u[k] - 0.1 * (flux[k] - flux[k - 1]) + 0.01 * force(k);
}
inline const auto flow_loss = [](const auto& s, const auto& p) {
  std::remove_cvref_t<decltype(s.dissipated)> total = s.dissipated * p.force[0];
  for (const auto& v : s.u) total += v * v;
  return total;
};
template <typename State>
State flow_start(std::size_t n) {
  State s;
  for (std::size_t i = 0; i < n; ++i) s.u.push_back(std::sin(0.4 * static_cast<double>(i)));
  return s;
}

// The time is a passive part of the state.
template <typename T>
struct Flow {
  std::vector<T> u;
  T dissipated{};
  double time = 0;
};
inline const auto flow_step = [](auto& s, const auto& p, std::int64_t i) {
  advance_flow(s, p, [&](std::size_t) { return p.force[static_cast<std::size_t>(i) % 4]; });
  s.dissipated += p.viscosity * s.u[s.u.size() / 2] * s.u[s.u.size() / 2];
  s.time += 0.1;
};
inline Flow<double> flow_start(std::size_t n = 24) { return flow_start<Flow<double>>(n); }

// The value and the whole gradient.
template <typename G>
std::vector<double> numbers_of(const G& g) {
  std::vector<double> all{g.value, g.state.dissipated, g.parameters.viscosity};
  all.insert(all.end(), g.state.u.begin(), g.state.u.end());
  all.insert(all.end(), g.parameters.force.begin(), g.parameters.force.end());
  return all;
}

}  // namespace tidemark::flow
