// Every function of <cmath>, on the tape, forward, and twice: against differences and against each other.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tidemark/tape/tape.h"

namespace tidemark {
namespace {

struct Unary {
  std::string name;
  std::vector<double> at;
  std::function<double(double)> plain;
  std::function<Var(const Var&)> taped;
  std::function<Dual(const Dual&)> dual;
  std::function<DualVar(const DualVar&)> second;
};

// One lambda body for all four scalars.
#define UNARY(name, ...)                                                                            \
  Unary {                                                                                           \
    #name, {__VA_ARGS__}, [](double x) { return std::name(x); },                                    \
        [](const Var& x) -> Var { return name(x); }, [](const Dual& x) -> Dual { return name(x); }, \
        [](const DualVar& x) -> DualVar { return name(x); }                                         \
  }

std::vector<Unary> unary_functions() {
  return {UNARY(sqrt, 0.3, 2.5),       UNARY(cbrt, 0.3, -2.5),  UNARY(exp, -1.2, 0.7),
          UNARY(exp2, -1.2, 0.7),      UNARY(expm1, -1.2, 0.7), UNARY(log, 0.4, 3.0),
          UNARY(log2, 0.4, 3.0),       UNARY(log10, 0.4, 3.0),  UNARY(log1p, -0.4, 3.0),
          UNARY(sin, -1.2, 4.0),       UNARY(cos, -1.2, 4.0),   UNARY(tan, -1.2, 0.7),
          UNARY(asin, -0.6, 0.3),      UNARY(acos, -0.6, 0.3),  UNARY(atan, -1.6, 0.3),
          UNARY(sinh, -1.6, 0.3),      UNARY(cosh, -1.6, 0.3),  UNARY(tanh, -1.6, 0.3),
          UNARY(asinh, -1.6, 0.3),     UNARY(acosh, 1.6, 3.0),  UNARY(atanh, -0.6, 0.3),
          UNARY(erf, -0.6, 1.3),       UNARY(erfc, -0.6, 1.3),  UNARY(tgamma, 0.7, 3.2, -0.4),
          UNARY(lgamma, 0.7, 3.2, 12), UNARY(abs, -0.6, 1.3),   UNARY(fabs, -0.6, 1.3)};
}

TEST(Formulas, UnaryFunctionsAgreeWithDifferences) {
  for (const Unary& f : unary_functions()) {
    for (const double at : f.at) {
      SCOPED_TRACE(f.name + " at " + std::to_string(at));
      Tape tape;
      const Tape::Recording recording(tape);
      const Var x = tape.input(at);
      const Var y = f.taped(x);
      tape.reverse(y);
      EXPECT_EQ(y.value(), f.plain(at));
      const double h = 1e-5, slope = (f.plain(at + h) - f.plain(at - h)) / (2 * h);
      EXPECT_NEAR(tape.adjoint(x), slope, 1e-8 * (1 + std::abs(slope)));
      // The same formula, so the same bits.
      const Dual d = f.dual(Dual(at, {1.0}));
      EXPECT_EQ(d.value, y.value());
      EXPECT_EQ(d.tangent[0], tape.adjoint(x));
    }
  }
}

TEST(Formulas, TapeOverDualGivesSecondDerivatives) {
  for (const Unary& f : unary_functions()) {
    for (const double at : f.at) {
      SCOPED_TRACE(f.name + " at " + std::to_string(at));
      DualTape tape;
      const DualTape::Recording recording(tape);
      const DualVar x = tape.input(Dual(at, {1.0}));
      tape.reverse(f.second(x));
      const Dual a = tape.adjoint(x);
      const auto slope = [&](double v) { return f.dual(Dual(v, {1.0})).tangent[0]; };
      EXPECT_NEAR(a.value, slope(at), 1e-13 * (1 + std::abs(slope(at))));
      const double h = 1e-5, curve = (slope(at + h) - slope(at - h)) / (2 * h);
      EXPECT_NEAR(a.tangent[0], curve, 1e-7 * (1 + std::abs(curve)));
    }
  }
}

#define BINARY(name)                                                               \
  {                                                                                \
    const auto plain = [](double a, double b) { return std::name(a, b); };         \
    for (const auto& [a, b] : {std::pair{0.7, 1.9}, {2.5, 0.8}, {5.3, 1.7}}) {     \
      SCOPED_TRACE(#name);                                                         \
      Tape tape;                                                                   \
      const Tape::Recording recording(tape);                                       \
      const Var x = tape.input(a), y = tape.input(b);                              \
      const Var both = name(x, y), left = name(x, b), right = name(a, y);          \
      EXPECT_EQ(both.value(), plain(a, b));                                        \
      const double h = 1e-6;                                                       \
      const double dx = (plain(a + h, b) - plain(a - h, b)) / (2 * h);             \
      const double dy = (plain(a, b + h) - plain(a, b - h)) / (2 * h);             \
      tape.reverse(both);                                                          \
      EXPECT_NEAR(tape.adjoint(x), dx, 1e-8 * (1 + std::abs(dx)));                 \
      EXPECT_NEAR(tape.adjoint(y), dy, 1e-8 * (1 + std::abs(dy)));                 \
      const Dual d = name(Dual(a, {2.0}), Dual(b, {3.0}));                         \
      EXPECT_NEAR(d.tangent[0], 2 * tape.adjoint(x) + 3 * tape.adjoint(y), 1e-12); \
      tape.reverse(left);                                                          \
      EXPECT_NEAR(tape.adjoint(x), dx, 1e-8 * (1 + std::abs(dx)));                 \
      EXPECT_EQ(tape.adjoint(y), 0);                                               \
      tape.reverse(right);                                                         \
      EXPECT_NEAR(tape.adjoint(y), dy, 1e-8 * (1 + std::abs(dy)));                 \
    }                                                                              \
  }

TEST(Formulas, BinaryFunctionsAgreeWithDifferences){BINARY(pow) BINARY(atan2) BINARY(hypot) BINARY(min)
                                                        BINARY(max) BINARY(fmin) BINARY(fmax) BINARY(fdim)
                                                            BINARY(fmod) BINARY(remainder) BINARY(copysign)}

TEST(Formulas, CornersHaveTheDerivativeOfOneSide) {
  Tape tape;
  const Tape::Recording recording(tape);
  const auto slope = [&](double at, auto f) {
    const Var x = tape.input(at);
    const Var y = f(x);
    tape.reverse(y);
    return tape.adjoint(x);
  };
  EXPECT_EQ(slope(0.0, [](const Var& x) { return abs(x); }), 0.0);
  EXPECT_EQ(slope(0.0, [](const Var& x) { return pow(x, 2.0); }), 0.0);
  EXPECT_EQ(slope(0.0, [](const Var& x) { return pow(x, 0.0); }), 0.0);
  EXPECT_EQ(slope(0.0, [](const Var& x) { return hypot(x, 0.0); }), 0.0);
  EXPECT_EQ(slope(2.0, [](const Var& x) { return max(x, 2.0); }), 1.0);
  // A side not taken gives nothing, not 0 * infinity.
  EXPECT_EQ(slope(0.0, [](const Var& x) { return max(sqrt(x), 1.0); }), 0.0);
  const double nan = std::nan("");
  EXPECT_EQ(slope(3.0, [&](const Var& x) { return fmax(x, nan); }), 1.0);
}

TEST(Formulas, ComparisonsAndRoundingsLookAtTheValue) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(1.25), y = tape.input(2.0);
  EXPECT_TRUE(x < y && x <= 1.25 && 2.0 >= x + 0.5 && y > x * 1.0 && x == 1.25 && x != y);
  EXPECT_EQ(floor(x), 1.0);
  EXPECT_EQ(ceil(x * 1.0), 2.0);
  EXPECT_TRUE(isfinite(x));
  EXPECT_EQ(tape.counts().statements, 0);
}

}  // namespace
}  // namespace tidemark
