// Linear systems and fixed points: their adjoints against those of the computation written out.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/implicit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/base/random.h"

namespace tidemark {
namespace {

TEST(Implicit, LinearSystemsAgreeWithElimination) {
  Rng rng(3);
  for (const std::size_t n : {1u, 2u, 5u}) {
    Tape tape;
    const Tape::Recording recording(tape);
    std::vector<Var> a, b;
    for (std::size_t i = 0; i < n * n; ++i) a.push_back(tape.input(rng.uniform() - 0.5));
    for (std::size_t i = 0; i < n; ++i) b.push_back(tape.input(rng.uniform()));
    const std::vector<Var> y = solve_linear(tape, a, b);
    Var sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += y[i] * y[i] * static_cast<double>(i + 1);
    // Taped elimination, without exchanges.
    std::vector<Var> m = a, x = b;
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = k + 1; i < n; ++i) {
        const Var f = m[i * n + k] / m[k * n + k];
        for (std::size_t j = k; j < n; ++j) m[i * n + j] -= f * m[k * n + j];
        x[i] -= f * x[k];
      }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) x[i] -= m[i * n + j] * x[j];
      x[i] /= m[i * n + i];
    }
    Var plain = 0.0;
    for (std::size_t i = 0; i < n; ++i) plain += x[i] * x[i] * static_cast<double>(i + 1);
    EXPECT_NEAR(sum.value(), plain.value(), 1e-9 * std::abs(plain.value()));
    tape.reverse(plain);
    std::vector<double> expected;
    for (const auto* v : {&a, &b})
      for (const Var& e : *v) expected.push_back(tape.adjoint(e));
    tape.reverse(sum);
    std::size_t i = 0;
    for (const auto* v : {&a, &b})
      for (const Var& e : *v) {
        EXPECT_NEAR(tape.adjoint(e), expected[i], 1e-7 * (1 + std::abs(expected[i])));
        ++i;
      }
  }
  Tape tape;
  EXPECT_THROW(solve_linear(tape, {tape.input(0.0)}, {tape.input(1.0)}), Error);
}

TEST(Implicit, FixedPointsHaveTheDerivativeOfTheSolution) {
  // y0 = cos(p0 y1), y1 = 0.5 sin(y0) + p1.
  const auto f = [](const auto& y, const auto& p) {
    using T = std::remove_cvref_t<decltype(y[0])>;
    using std::cos;
    using std::sin;
    return std::vector<T>{T(cos(p[0] * y[1])), T(0.5 * sin(y[0]) + p[1])};
  };
  const auto solution = [&](double p0, double p1) {
    std::vector<double> y{0.0, 0.0}, p{p0, p1};
    for (int i = 0; i < 400; ++i) y = f(y, p);
    return y[0] + 3 * y[1];
  };
  Tape tape;
  const Tape::Recording recording(tape);
  const Var p0 = tape.input(0.6), p1 = tape.input(0.2);
  const Var q0 = p0 * 1.0;  // the parameters may be results themselves
  const std::vector<Var> y = fixed_point(tape, f, {0.0, 0.0}, {q0, p1});
  const Var z = y[0] + 3.0 * y[1];
  EXPECT_LE(tape.counts().statements, 4);  // no trace of the iterations
  tape.reverse(z);
  EXPECT_NEAR(z.value(), solution(0.6, 0.2), 1e-11);
  const double h = 1e-6;
  EXPECT_NEAR(tape.adjoint(p0), (solution(0.6 + h, 0.2) - solution(0.6 - h, 0.2)) / (2 * h), 1e-8);
  EXPECT_NEAR(tape.adjoint(p1), (solution(0.6, 0.2 + h) - solution(0.6, 0.2 - h)) / (2 * h), 1e-8);
  // However small the seed, its gradient is in proportion.
  const double slope = tape.adjoint(p0);
  tape.reverse(z, 1e-30);
  EXPECT_NEAR(tape.adjoint(p0) / slope, 1e-30, 1e-38);
  const auto away = [](const auto& y, const auto&) {
    using T = std::remove_cvref_t<decltype(y[0])>;
    return std::vector<T>{T(2.0 * y[0] + 1.0)};
  };
  EXPECT_THROW(fixed_point(tape, away, {1.0}, {}, {.iterations = 50}), Error);
}

}  // namespace
}  // namespace tidemark
