// Results that are defined by an equation and not by the way there: linear systems and fixed points. The tape gets the result as one
// external function; its adjoint solves one linear equation and never looks at iterations (implicit function theorem).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <memory>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/tape/tape.h"

namespace tidemark {
namespace tape {

// LU factors with row exchanges, for one matrix and its transpose.
class Factors {
 public:
  Factors(std::vector<double> a, std::size_t n) : a_(std::move(a)), row_(n), n_(n) {
    for (std::size_t i = 0; i < n; ++i) row_[i] = i;
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
      if (!(std::abs(at(pivot, k)) > 0))
        fail(Error::Kind::data, "[solve_linear] a matrix of {} rows vs rank {}", n, k);
      std::swap(row_[k], row_[pivot]);
      for (std::size_t i = k + 1; i < n; ++i) {
        const double f = at(i, k) /= at(k, k);
        for (std::size_t j = k + 1; j < n; ++j) at(i, j) -= f * at(k, j);
      }
    }
  }
  std::vector<double> solve(const std::vector<double>& b) const {
    std::vector<double> x(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      x[i] = b[row_[i]];
      for (std::size_t j = 0; j < i; ++j) x[i] -= at(i, j) * x[j];
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t j = i + 1; j < n_; ++j) x[i] -= at(i, j) * x[j];
      x[i] /= at(i, i);
    }
    return x;
  }
  std::vector<double> solve_transposed(std::vector<double> b) const {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < i; ++j) b[i] -= at(j, i) * b[j];
      b[i] /= at(i, i);
    }
    for (std::size_t i = n_; i-- > 0;)
      for (std::size_t j = i + 1; j < n_; ++j) b[i] -= at(j, i) * b[j];
    std::vector<double> x(n_);
    for (std::size_t i = 0; i < n_; ++i) x[row_[i]] = b[i];
    return x;
  }

 private:
  double& at(std::size_t i, std::size_t j) { return a_[row_[i] * n_ + j]; }
  double at(std::size_t i, std::size_t j) const { return a_[row_[i] * n_ + j]; }
  std::vector<double> a_;
  std::vector<std::size_t> row_;
  std::size_t n_;
};

}  // namespace tape

// y with A y = b; A by rows. The adjoint is one solve with the transposed factors: A' l = y_bar, b_bar += l, A_bar -= l y'.
inline std::vector<Var> solve_linear(Tape& tape, std::vector<Var> a, std::vector<Var> b) {
  const std::size_t n = b.size();
  if (a.size() != n * n)
    fail(Error::Kind::usage, "[solve_linear] {} numbers of a matrix vs {} of a right side", a.size(), n);
  std::vector<double> matrix, right;
  for (const Var& v : a) matrix.push_back(v.value());
  for (const Var& v : b) right.push_back(v.value());
  auto factors = std::make_shared<const tape::Factors>(std::move(matrix), n);
  std::vector<double> y = factors->solve(right);
  return tape.external(y, [factors, y, a = std::move(a), b = std::move(b)](std::span<const Var> out,
                                                                           tape::Adjoints<double>& adjoints) {
    std::vector<double> bar;
    for (const Var& v : out) bar.push_back(adjoints.get(v));
    const std::vector<double> l = factors->solve_transposed(std::move(bar));
    for (std::size_t i = 0; i < y.size(); ++i) {
      adjoints.add(b[i], l[i]);
      for (std::size_t j = 0; j < y.size(); ++j) adjoints.add(a[i * y.size() + j], -l[i] * y[j]);
    }
  });
}

struct FixedPointOptions {
  double tolerance = 1e-13;  // largest change of a number, relative to 1 + its size
  int iterations = 10'000;
};

// y = f(y, p) by iteration from `start`; f is called with vectors of double and of Var. Only f at the solution is taped. The adjoint iterates
// l = y_bar + (df/dy)' l, which converges as the iteration itself does (Christianson, 1994), and adds (df/dp)' l to p.
template <typename F>
std::vector<Var> fixed_point(Tape& tape, const F& f, std::vector<double> start, std::vector<Var> p,
                             const FixedPointOptions& options = {}) {
  const auto settled = [options](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= options.tolerance * (1 + std::abs(b[i])))) return false;
    return true;
  };
  std::vector<double> parameters, y = std::move(start);
  for (const Var& v : p) parameters.push_back(v.value());
  for (int i = 0;; ++i) {
    std::vector<double> next = f(std::as_const(y), std::as_const(parameters));
    if (next.size() != y.size())
      fail(Error::Kind::usage, "[fixed_point] {} numbers in vs {} out", y.size(), next.size());
    const bool there = settled(next, y);
    y = std::move(next);
    if (there) break;
    if (i == options.iterations)
      fail(Error::Kind::data, "[fixed_point] {} iterations vs no convergence to {}", i, options.tolerance);
  }
  // What the adjoint sweeps again and again: f once, at the solution, on a tape of its own.
  struct Inner {
    Tape tape{tape::TapeOptions{.chunk = 64_KiB}};
    std::vector<Var> y, p, next;
  };
  auto inner = std::make_shared<Inner>();
  {
    const Tape::Recording recording(inner->tape);
    for (const double v : y) inner->y.push_back(inner->tape.input(v));
    for (const double v : parameters) inner->p.push_back(inner->tape.input(v));
    inner->next = f(std::as_const(inner->y), std::as_const(inner->p));
  }
  return tape.external(y, [inner, options, settled, p = std::move(p)](std::span<const Var> out,
                                                                      tape::Adjoints<double>& adjoints) {
    std::vector<double> bar, l(out.size(), 0.0);
    for (const Var& v : out) bar.push_back(adjoints.get(v));
    const auto sweep = [&] {
      inner->tape.begin_sweep();
      for (std::size_t i = 0; i < l.size(); ++i)
        if (inner->next[i].active()) inner->tape.seed(inner->next[i], l[i]);
      inner->tape.sweep();
    };
    for (int i = 0;; ++i) {
      sweep();
      std::vector<double> next = bar;
      for (std::size_t k = 0; k < next.size(); ++k) next[k] += inner->tape.adjoint(inner->y[k]);
      const bool there = settled(next, l);
      l = std::move(next);
      if (there) break;
      if (i == options.iterations)
        fail(Error::Kind::data, "[fixed_point] {} iterations of the adjoint vs no convergence to {}", i,
             options.tolerance);
    }
    sweep();
    for (std::size_t i = 0; i < p.size(); ++i) adjoints.add(p[i], inner->tape.adjoint(inner->p[i]));
  });
}

}  // namespace tidemark
