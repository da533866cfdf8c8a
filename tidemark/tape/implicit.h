// Results that are defined by an equation and not by the way there: linear systems and fixed points. The tape gets the result as one
// external function; its adjoint solves one linear equation and never looks at iterations (implicit function theorem).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/tape/state.h"

namespace tidemark {
namespace tape {

// LU factors with row exchanges, for one matrix and its transpose.
template <typename Real>
class Factors {
 public:
  Factors(std::vector<Real> a, std::size_t n) : a_(std::move(a)), row_(n), n_(n) {
    for (std::size_t i = 0; i < n; ++i) row_[i] = i;
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
      if (!(std::abs(at(pivot, k)) > 0))
        fail(Error::Kind::data, "[solve_linear] a matrix of {} rows vs rank {}", n, k);
      std::swap(row_[k], row_[pivot]);
      for (std::size_t i = k + 1; i < n; ++i) {
        const Real f = at(i, k) /= at(k, k);
        for (std::size_t j = k + 1; j < n; ++j) at(i, j) -= f * at(k, j);
      }
    }
  }
  std::vector<Real> solve(const std::vector<Real>& b) const {
    std::vector<Real> x(n_);
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
  std::vector<Real> solve_transposed(std::vector<Real> b) const {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < i; ++j) b[i] -= at(j, i) * b[j];
      b[i] /= at(i, i);
    }
    for (std::size_t i = n_; i-- > 0;)
      for (std::size_t j = i + 1; j < n_; ++j) b[i] -= at(j, i) * b[j];
    std::vector<Real> x(n_);
    for (std::size_t i = 0; i < n_; ++i) x[row_[i]] = b[i];
    return x;
  }

 private:
  Real& at(std::size_t i, std::size_t j) { return a_[row_[i] * n_ + j]; }
  Real at(std::size_t i, std::size_t j) const { return a_[row_[i] * n_ + j]; }
  std::vector<Real> a_;
  std::vector<std::size_t> row_;
  std::size_t n_;
};

}  // namespace tape

// y with A y = b; A by rows. The adjoint is one solve with the transposed factors: A' l = y_bar, b_bar += l, A_bar -= l y'.
template <typename Real>
std::vector<tape::Active<Real>> solve_linear(tape::BasicTape<Real>& tape,
                                             std::type_identity_t<std::vector<tape::Active<Real>>> a,
                                             std::type_identity_t<std::vector<tape::Active<Real>>> b) {
  const std::size_t n = b.size();
  if (a.size() != n * n)
    fail(Error::Kind::usage, "[solve_linear] {} numbers of a matrix vs {} of a right side", a.size(), n);
  std::vector<Real> matrix, right;
  for (const tape::Active<Real>& v : a) matrix.push_back(v.value());
  for (const tape::Active<Real>& v : b) right.push_back(v.value());
  auto factors = std::make_shared<const tape::Factors<Real>>(std::move(matrix), n);
  std::vector<Real> y = factors->solve(right);
  return tape.external(std::span<const Real>(y),
                       [factors, y, a = std::move(a), b = std::move(b)](
                           std::span<const tape::Active<Real>> out, tape::Adjoints<Real>& adjoints) {
                         std::vector<Real> bar;
                         for (const tape::Active<Real>& v : out) bar.push_back(adjoints.get(v));
                         const std::vector<Real> l = factors->solve_transposed(std::move(bar));
                         for (std::size_t i = 0; i < y.size(); ++i) {
                           adjoints.add(b[i], l[i]);
                           for (std::size_t j = 0; j < y.size(); ++j)
                             adjoints.add(a[i * y.size() + j], -l[i] * y[j]);
                         }
                       });
}

struct FixedPointOptions {
  // Largest change of a number, relative to 1 + its size; negative: 1e-13 for doubles, 1e-5 for floats.
  double tolerance = -1;
  int iterations = 10'000;
};

// y = f(y, p) by iteration from `start`; f is called with vectors of plain numbers and of Vars. Only f at the solution is taped. The adjoint iterates
// l = y_bar + (df/dy)' l, which converges as the iteration itself does (Christianson, 1994), and adds (df/dp)' l to p.
template <typename Real, typename F>
std::vector<tape::Active<Real>> fixed_point(tape::BasicTape<Real>& tape, const F& f,
                                            std::type_identity_t<std::vector<Real>> start,
                                            std::type_identity_t<std::vector<tape::Active<Real>>> p,
                                            FixedPointOptions options = {}) {
  using Scalar = tape::Active<Real>;
  using Plain = tape::PlainOf<Real>;
  if (options.tolerance < 0) options.tolerance = std::same_as<Real, double> ? 1e-13 : 1e-5;
  // `scale`: of numbers that count.
  const auto settled = [options](const std::vector<Real>& a, const std::vector<Real>& b, Real scale) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= options.tolerance * (scale + std::abs(b[i])))) return false;
    return true;
  };
  std::vector<Real> y = std::move(start), next(y.size());
  std::vector<Plain> parameters;
  for (const Scalar& v : p) parameters.push_back(v.value());
  for (int i = 0;; ++i) {
    const std::vector<Plain> made = f(std::vector<Plain>(y.begin(), y.end()), std::as_const(parameters));
    if (made.size() != y.size())
      fail(Error::Kind::usage, "[fixed_point] {} numbers in vs {} out", y.size(), made.size());
    tape::convert(made, next);
    const bool there = settled(next, y, Real(1));
    std::swap(y, next);
    if (there) break;
    if (i == options.iterations)
      fail(Error::Kind::data, "[fixed_point] {} iterations vs no convergence to {}", i, options.tolerance);
  }
  // What the adjoint sweeps again and again: f once, at the solution, on a tape of its own.
  struct Inner {
    tape::BasicTape<Real> tape{tape::TapeOptions{.chunk = 64_KiB}};
    std::vector<Scalar> y, p, next;
  };
  auto inner = std::make_shared<Inner>();
  {
    const typename tape::BasicTape<Real>::Recording recording(inner->tape);
    for (const Real v : y) inner->y.push_back(inner->tape.input(v));
    for (const Scalar& v : p) inner->p.push_back(inner->tape.input(v.value()));
    inner->next = f(std::as_const(inner->y), std::as_const(inner->p));
  }
  return tape.external(
      std::span<const Real>(y), [inner, options, settled, p = std::move(p)](std::span<const Scalar> out,
                                                                            tape::Adjoints<Real>& adjoints) {
        std::vector<Real> bar, l(out.size(), Real(0));
        for (const Scalar& v : out) bar.push_back(adjoints.get(v));
        Real largest = 0;
        for (const Real v : bar) largest = std::max(largest, std::abs(v));
        const auto sweep = [&] {
          inner->tape.begin_sweep();
          for (std::size_t i = 0; i < l.size(); ++i)
            if (inner->next[i].active()) inner->tape.seed(inner->next[i], l[i]);
          inner->tape.sweep();
        };
        for (int i = 0;; ++i) {
          sweep();
          std::vector<Real> next = bar;
          for (std::size_t k = 0; k < next.size(); ++k) next[k] += inner->tape.adjoint(inner->y[k]);
          const bool there = settled(next, l, largest);
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
