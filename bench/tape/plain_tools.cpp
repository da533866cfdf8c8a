// The primal, and adjoints written by hand: the marks that every tool is measured against.
// SPDX-License-Identifier: Apache-2.0
#include "bench/tape/problems.h"

namespace problems {
namespace {

Sample burgers_primal(const Burgers& p) {
  Sample s;
  std::vector<double> u = p.start();
  const double start = cpu_seconds();
  s.value = burgers_energy(p, u);
  s.seconds = cpu_seconds() - start;
  return s;
}

Sample gmm_primal(const Gmm& g) {
  Sample s;
  const double start = cpu_seconds();
  s.value = gmm_objective(g, g.parameters);
  s.seconds = cpu_seconds() - start;
  return s;
}

// Stores every state, then steps back; the flux is differentiated by hand.
Sample burgers_hand(const Burgers& p) {
  Sample s;
  const auto n = static_cast<std::size_t>(p.cells);
  const auto steps = static_cast<std::size_t>(p.steps);
  static std::vector<double> states;
  states.resize(n * steps);
  std::vector<double> u = p.start(), flux(n), flux_bar(n, 0.0), u_bar(n);
  const double start = cpu_seconds();
  for (std::size_t t = 0; t < steps; ++t) {
    std::copy(u.begin(), u.end(), states.begin() + static_cast<std::ptrdiff_t>(t * n));
    burgers_step(u, flux, p.ratio);
  }
  double energy = 0;
  for (const double v : u) energy += v * v;
  const double middle = cpu_seconds();
  for (std::size_t i = 0; i < n; ++i) u_bar[i] = 2 * u[i];
  for (std::size_t t = steps; t-- > 0;) {
    const double* at = states.data() + t * n;
    std::fill(flux_bar.begin(), flux_bar.end(), 0.0);
    for (std::size_t i = 1; i + 1 < n; ++i) {
      flux_bar[i] -= p.ratio * u_bar[i];
      flux_bar[i - 1] += p.ratio * u_bar[i];
    }
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const double l = at[i], r = at[i + 1], bar = flux_bar[i];
      const double al = std::abs(l), ar = std::abs(r), speed = std::max(al, ar);
      double dl = 0.5 * l + 0.5 * speed, dr = 0.5 * r - 0.5 * speed;
      const double slope = -0.5 * (r - l);
      if (al < ar)
        dr += r > 0 ? slope : r < 0 ? -slope : 0;
      else
        dl += l > 0 ? slope : l < 0 ? -slope : 0;
      u_bar[i] += bar * dl;
      u_bar[i + 1] += bar * dr;
    }
  }
  const double end = cpu_seconds();
  s.seconds = end - start;
  s.sweep = end - middle;
  s.value = energy;
  s.gradient = u_bar;
  s.tape_bytes = static_cast<double>(states.size() * sizeof(double));
  s.statements = 2.0 * p.cells * p.steps;
  return s;
}

}  // namespace

Tool plain_tool() { return {"primal", burgers_primal, gmm_primal}; }
Tool hand_tool() { return {"by hand", burgers_hand, nullptr}; }

}  // namespace problems
