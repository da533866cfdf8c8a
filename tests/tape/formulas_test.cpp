// Every function of <cmath>, on the tape, forward, and twice: against differences and against each other.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tidemark/base/random.h"
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

// 1 / 0.1 rounds to 10, but 0.1 is above a tenth: it goes in nine times.
TEST(Formulas, RemaindersCountWithoutTheRoundingOfTheQuotient) {
  const auto slope = [](auto f, double a, double b) {
    Tape tape;
    const Tape::Recording recording(tape);
    const Var x = tape.input(a), y = tape.input(b);
    tape.reverse(f(x, y));
    EXPECT_EQ(tape.adjoint(x), 1);
    return tape.adjoint(y);
  };
  const auto mod = [](const Var& x, const Var& y) -> Var { return fmod(x, y); };
  const auto rest = [](const Var& x, const Var& y) -> Var { return remainder(x, y); };
  EXPECT_EQ(slope(mod, 1, 0.1), -9);
  EXPECT_EQ(slope(mod, -1, 0.1), 9);
  EXPECT_EQ(slope(mod, 7, HUGE_VAL), 0);
  EXPECT_EQ(slope(rest, 0.35, 0.1), -3);  // 0.35 is below 3.5 times 0.1
  EXPECT_EQ(slope(rest, 7.5, 2), -4);
}

TEST(Formulas, FunctionsOfThreeNumbersAgreeWithDifferences) {
  const auto check = [](auto f) {
    for (const auto& at : {std::array{0.7, 1.9, -0.4}, {2.5, -0.8, 1.3}, {-5.3, 1.7, 0.6}}) {
      Tape tape;
      const Tape::Recording recording(tape);
      const std::array<Var, 3> x{tape.input(at[0]), tape.input(at[1]), tape.input(at[2])};
      const Var y = f(x[0], x[1], x[2]), part = f(x[0], at[1], x[2]);
      EXPECT_EQ(y.value(), f(at[0], at[1], at[2]));
      EXPECT_EQ(part.value(), y.value());
      const Dual d = f(Dual(at[0], {2.0}), Dual(at[1], {3.0}), Dual(at[2], {5.0}));
      EXPECT_EQ(d.value, y.value());
      EXPECT_EQ(f(at[0], Dual(at[1], {1.0}), at[2]).value, y.value());
      std::array<double, 3> slopes{};
      for (std::size_t i = 0; i < 3; ++i) {
        auto up = at, down = at;
        up[i] += 1e-6, down[i] -= 1e-6;
        slopes[i] = (f(up[0], up[1], up[2]) - f(down[0], down[1], down[2])) / 2e-6;
      }
      tape.reverse(y);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(tape.adjoint(x[i]), slopes[i], 1e-8);
      EXPECT_NEAR(d.tangent[0], 2 * slopes[0] + 3 * slopes[1] + 5 * slopes[2], 1e-7);
      tape.reverse(part);
      EXPECT_NEAR(tape.adjoint(x[0]), slopes[0], 1e-8);
      EXPECT_EQ(tape.adjoint(x[1]), 0);
    }
  };
  check([](const auto& a, const auto& b, const auto& c) {
    using std::fma;
    return fma(a, b, c);
  });
  check([](const auto& a, const auto& b, const auto& c) {
    using std::lerp;
    return lerp(a, b, c);
  });
  check([](const auto& a, const auto& b, const auto& c) {
    using std::hypot;
    return hypot(a, b, c);
  });
}

// A step on doubles and the same step taped come to one state only if every function does.
TEST(Formulas, ValuesHaveTheBitsOfTheLibrary) {
  Rng rng(11);
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> corners{0.0, -0.0, 1.0, -3.0, inf, -inf, std::nan(""), 4e-310, -1e308};
  const auto draw = [&] {
    return rng.below(6) == 0 ? corners[static_cast<std::size_t>(rng.below(9))] : 6 * rng.uniform() - 3;
  };
  const auto same = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  };
  Tape tape;
  const Tape::Recording recording(tape);
  for (int i = 0; i < 2000; ++i) {
    tape.reset();
    const double a = draw(), b = draw(), c = draw();
    const Var x = tape.input(a), y = tape.input(b), z = tape.input(c);
#define SAME_1(name) EXPECT_TRUE(same(std::name(a), Var(name(x)).value())) << #name << " of " << a;
#define SAME_2(name) \
  EXPECT_TRUE(same(std::name(a, b), Var(name(x, y)).value())) << #name << " of " << a << ", " << b;
#define SAME_3(name)                                                \
  EXPECT_TRUE(same(std::name(a, b, c), Var(name(x, y, z)).value())) \
      << #name << " of " << a << ", " << b << ", " << c;
    SAME_1(abs)
    SAME_1(fabs)
    SAME_1(sqrt)
    SAME_1(cbrt)
    SAME_1(exp)
    SAME_1(exp2)
    SAME_1(expm1) SAME_1(log) SAME_1(log2) SAME_1(log10) SAME_1(log1p) SAME_1(sin) SAME_1(cos) SAME_1(tan)
        SAME_1(asin) SAME_1(acos) SAME_1(atan) SAME_1(sinh) SAME_1(cosh) SAME_1(tanh) SAME_1(asinh)
            SAME_1(acosh) SAME_1(atanh) SAME_1(erf) SAME_1(erfc) SAME_1(tgamma) SAME_1(lgamma) SAME_1(floor)
                SAME_1(ceil) SAME_1(trunc) SAME_1(round) SAME_1(nearbyint) SAME_1(logb) SAME_2(min)
                    SAME_2(max) SAME_2(fmin) SAME_2(fmax) SAME_2(fdim) SAME_2(fmod) SAME_2(remainder)
                        SAME_2(copysign) SAME_2(pow) SAME_2(atan2) SAME_2(hypot) SAME_2(nextafter) SAME_3(fma)
                            SAME_3(lerp) SAME_3(hypot) int e = 0;
    double whole = 0;
    EXPECT_TRUE(same(std::frexp(a, &e), Var(frexp(x, &e)).value())) << a;
    EXPECT_TRUE(same(std::modf(a, &whole), Var(modf(x, &whole)).value())) << a;
    EXPECT_TRUE(same(std::ldexp(a, -1040), Var(ldexp(x, -1040)).value())) << a;
    EXPECT_TRUE(same(std::remquo(a, b, &e), Var(remquo(x, y, &e)).value())) << a << ", " << b;
  }
}

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

template <typename F>
double second_derivative(const F& f, double at) {
  DualTape tape;
  const DualTape::Recording recording(tape);
  const DualVar x = tape.input(Dual(at, {1.0}));
  const DualVar y = f(x);
  tape.reverse(y);
  return tape.adjoint(x).tangent[0];
}

// Where squares of the arguments, or products with what arrives from behind, leave the range of numbers and the derivative does not.
TEST(Formulas, DerivativesOfLargeAndSmallNumbersAreInRange) {
  const auto slope = [](auto f, double at, double seed) {
    Tape tape;
    const Tape::Recording recording(tape);
    const Var x = tape.input(at);
    const Var y = f(x);
    tape.reverse(y, seed);
    const Dual d = f(Dual(at, {seed}));
    EXPECT_EQ(d.tangent[0], tape.adjoint(x));
    return tape.adjoint(x);
  };
  const auto near = [](double got, double want) {
    EXPECT_NEAR(got / want, 1, 1e-15) << got << " vs " << want;
  };
  const auto arc_tangent = [](const auto& x) { return std::remove_cvref_t<decltype(x)>(atan(x)); };
  const auto arc_sinh = [](const auto& x) { return std::remove_cvref_t<decltype(x)>(asinh(x)); };
  const auto arc_cosh = [](const auto& x) { return std::remove_cvref_t<decltype(x)>(acosh(x)); };
  EXPECT_EQ(slope(arc_tangent, -1e155, 1), 1 / 1e155 / 1e155);  // 1e-310
  near(arc_tangent(Dual(-1e200, {1e250})).tangent[0], 1e-150);
  near(slope(arc_tangent, 1e-200, 1), 1);
  near(slope(arc_tangent, 2e9, 1), 1 / (4e18 + 1));
  near(slope(arc_sinh, -1e200, 1), 1e-200);
  near(slope(arc_sinh, 1e-200, 1), 1);
  near(slope(arc_sinh, -2e9, 1), 5e-10);
  near(slope(arc_cosh, 1e200, 1), 1e-200);
  near(slope(arc_cosh, 2e9, 1), 5e-10);
  // d2/dx2 asinh(x) = -x / (x^2 + 1)^1.5, and so on.
  near(second_derivative(arc_sinh, -1e100), 1e-200);
  near(second_derivative(arc_cosh, 1e100), -1e-200);
  near(second_derivative(arc_tangent, 1e100), -2e-300);

  const auto slopes = [](auto f, double a, double b, double seed) {
    Tape tape;
    const Tape::Recording recording(tape);
    const Var x = tape.input(a), y = tape.input(b);
    const Var z = f(x, y);
    tape.reverse(z, seed);
    EXPECT_EQ(Dual(f(Dual(a, {seed}), Dual(b))).tangent[0], tape.adjoint(x));
    EXPECT_EQ(Dual(f(Dual(a), Dual(b, {seed}))).tangent[0], tape.adjoint(y));
    return std::pair(tape.adjoint(x), tape.adjoint(y));
  };
  const auto angle = [](const auto& a, const auto& b) {
    return std::remove_cvref_t<decltype(a)>(atan2(a, b));
  };
  const auto length = [](const auto& a, const auto& b) {
    return std::remove_cvref_t<decltype(a)>(hypot(a, b));
  };
  for (const double scale : {1e-200, 1e-15, 1.0, 1e15, 1e200}) {
    const auto [da, db] = slopes(angle, 3 * scale, -4 * scale, 1);
    near(da, -4 / (25 * scale));
    near(db, -3 / (25 * scale));
    const auto [la, lb] = slopes(length, 3 * scale, -4 * scale, 1e200);
    near(la, 0.6e200);
    near(lb, -0.8e200);
  }
  const auto [da, db] = slopes(angle, 1e-200, 1e200, 1e300);
  near(da, 1e100);
  EXPECT_EQ(db, 0);

  Tape32 tape;
  const Tape32::Recording recording(tape);
  const Var32 x = tape.input(3e25f), y = tape.input(4e25f);
  tape.reverse(Var32(atan2(x, y)));
  EXPECT_NEAR(tape.adjoint(x) / 1.6e-26f, 1, 1e-6);
  tape.reverse(Var32(asinh(x)));
  EXPECT_NEAR(tape.adjoint(x) * 3e25f, 1, 1e-6);
}

// A zero tangent contributes nothing, even through a derivative that is infinite or none.
TEST(Formulas, WhatHasNoTangentLeavesSecondDerivativesAlone) {
  EXPECT_EQ(second_derivative([](const DualVar& x) { return DualVar(pow(x, 2.0)); }, -2), 2);
  EXPECT_EQ(second_derivative([](const DualVar& x) { return DualVar(pow(x, 3)); }, -2), -12);
  EXPECT_EQ(second_derivative([](const DualVar& x) { return DualVar(x * x + x * sqrt(DualVar(0.0))); }, 2),
            2);
  EXPECT_EQ(pow(Dual(-2.0, {1.0}), Dual(2.0)).tangent[0], -4);
  EXPECT_EQ(sqrt(Dual(0.0)).tangent[0], 0);
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
