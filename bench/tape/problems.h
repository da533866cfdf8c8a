// What bench_tape differentiates, as templates over the scalar: one source for every tool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace problems {

// Burgers' equation in one dimension with Rusanov's flux: explicit steps, two statements a cell.
struct Burgers {
  int cells = 1000, steps = 1000;
  double ratio = 0.2;  // time step over cell width

  std::vector<double> start() const {
    std::vector<double> u(static_cast<std::size_t>(cells));
    for (int i = 0; i < cells; ++i)
      u[static_cast<std::size_t>(i)] = 0.3 + std::sin(6.283185307179586 * i / cells);
    return u;
  }
};

template <typename T>
void burgers_step(std::vector<T>& u, std::vector<T>& flux, double ratio) {
  using std::fabs;
  using std::max;
  const std::size_t n = u.size();
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const T &l = u[i], &r = u[i + 1];
    flux[i] = 0.25 * (l * l + r * r) - 0.5 * max(fabs(l), fabs(r)) * (r - l);
  }
  for (std::size_t i = 1; i + 1 < n; ++i) u[i] = u[i] - ratio * (flux[i] - flux[i - 1]);
}

template <typename T>
T burgers_energy(const Burgers& p, std::vector<T>& u) {
  std::vector<T> flux(u.size());
  for (int s = 0; s < p.steps; ++s) burgers_step(u, flux, p.ratio);
  T energy = 0.0;
  for (const T& v : u) energy += v * v;
  return energy;
}

// The Gaussian mixture objective of ADBench (Srajer, Kukelova & Fitzgibbon, 2018): the negative logarithm of a
// mixture's likelihood with a Wishart prior.
struct Gmm {
  int d = 10, k = 25, n = 1000;
  double gamma = 1.0;
  int m = 0;
  std::vector<double> x;           // n rows of d
  std::vector<double> parameters;  // k weights, k means of d, k triangles of d (d + 1) / 2
  int triangle() const { return d * (d + 1) / 2; }
};
Gmm make_gmm(int d, int k, int n);
double gmm_constant(const Gmm& g);  // what of the objective depends on no parameter

template <typename T>
T log_sum_exp(const T* x, int n) {
  using std::exp;
  using std::log;
  int at = 0;
  for (int i = 0; i < n; ++i)
    if (x[at] < x[i]) at = i;
  const T top = x[at];
  T sum = 0.0;
  for (int i = 0; i < n; ++i) sum += exp(x[i] - top);
  return T(log(sum) + top);
}

template <typename T>
T gmm_objective(const Gmm& g, const std::vector<T>& parameters) {
  using std::exp;
  using std::log;
  const int d = g.d, k = g.k;
  const T* alphas = parameters.data();
  const T* means = alphas + k;
  const T* icf = means + k * d;
  const auto dk = static_cast<std::size_t>(d * k);
  std::vector<T> diagonal(dk), sums(static_cast<std::size_t>(k)), centred(static_cast<std::size_t>(d)),
      q(static_cast<std::size_t>(d)), terms(static_cast<std::size_t>(k));
  for (int c = 0; c < k; ++c) {
    sums[static_cast<std::size_t>(c)] = 0.0;
    for (int i = 0; i < d; ++i) {
      const T& v = icf[c * g.triangle() + i];
      sums[static_cast<std::size_t>(c)] += v;
      diagonal[static_cast<std::size_t>(c * d + i)] = exp(v);
    }
  }
  T total = 0.0;
  for (int point = 0; point < g.n; ++point) {
    const double* x = g.x.data() + point * d;
    for (int c = 0; c < k; ++c) {
      const T* lower = icf + c * g.triangle() + d;
      for (int i = 0; i < d; ++i) centred[static_cast<std::size_t>(i)] = x[i] - means[c * d + i];
      for (int i = 0; i < d; ++i)
        q[static_cast<std::size_t>(i)] =
            diagonal[static_cast<std::size_t>(c * d + i)] * centred[static_cast<std::size_t>(i)];
      for (int i = 0; i < d; ++i)
        for (int j = i + 1; j < d; ++j)
          q[static_cast<std::size_t>(j)] += *lower++ * centred[static_cast<std::size_t>(i)];
      T norm = 0.0;
      for (int i = 0; i < d; ++i) norm += q[static_cast<std::size_t>(i)] * q[static_cast<std::size_t>(i)];
      terms[static_cast<std::size_t>(c)] = alphas[c] + sums[static_cast<std::size_t>(c)] - 0.5 * norm;
    }
    total += log_sum_exp(terms.data(), k);
  }
  T prior = 0.0;
  for (int c = 0; c < k; ++c) {
    T frobenius = 0.0;
    for (int i = 0; i < d; ++i) {
      const T& v = diagonal[static_cast<std::size_t>(c * d + i)];
      frobenius += v * v;
    }
    for (int i = d; i < g.triangle(); ++i) {
      const T& v = icf[c * g.triangle() + i];
      frobenius += v * v;
    }
    prior +=
        0.5 * g.gamma * g.gamma * frobenius - static_cast<double>(g.m) * sums[static_cast<std::size_t>(c)];
  }
  return T(gmm_constant(g) + total - static_cast<double>(g.n) * log_sum_exp(alphas, k) + prior);
}

struct Sample {
  double seconds = 0;  // recording and sweep
  double sweep = 0;    // of which the sweep
  double value = 0;
  std::vector<double> gradient;
  double tape_bytes = 0;
  double statements = 0;
};

double cpu_seconds();

struct Tool {
  const char* name;
  Sample (*burgers)(const Burgers&);
  Sample (*gmm)(const Gmm&);
};
// Each in its own file; those not built in have no functions.
Tool plain_tool();  // the primal alone
Tool hand_tool();   // an adjoint written by hand
Tool tidemark_tool();
Tool compiled_tool();
Tool codipack_tool();
Tool codipack_reuse_tool();
Tool adept_tool();
Tool adolc_tool();

}  // namespace problems
