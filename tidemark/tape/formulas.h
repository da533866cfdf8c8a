// What the tape and Dual know of each function: its value, and beside it how a multiplier passes through it.
// `scale(m, x, y)` is m dy/dx for y = f(x); `left` and `right` are the same for two arguments. Linear in m, so one
// form serves the tape (m comes from the result) and Dual (m comes from the argument).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/tape/math.h"

namespace tidemark::tape {

#define TIDEMARK_VALUE_1 \
  template <typename T>  \
  TIDEMARK_INLINE static T value(const T& x)
#define TIDEMARK_SCALE                                                                     \
  template <typename T>                                                                    \
  TIDEMARK_INLINE static T scale([[maybe_unused]] const T& m, [[maybe_unused]] const T& x, \
                                 [[maybe_unused]] const T& y)
#define TIDEMARK_VALUE_2 \
  template <typename T>  \
  TIDEMARK_INLINE static T value(const T& a, const T& b)
#define TIDEMARK_LEFT                                                                     \
  template <typename T>                                                                   \
  TIDEMARK_INLINE static T left([[maybe_unused]] const T& m, [[maybe_unused]] const T& a, \
                                [[maybe_unused]] const T& b, [[maybe_unused]] const T& y)
#define TIDEMARK_RIGHT                                                                     \
  template <typename T>                                                                    \
  TIDEMARK_INLINE static T right([[maybe_unused]] const T& m, [[maybe_unused]] const T& a, \
                                 [[maybe_unused]] const T& b, [[maybe_unused]] const T& y)

struct Add {
  TIDEMARK_VALUE_2 { return a + b; }
  TIDEMARK_LEFT { return m; }
  TIDEMARK_RIGHT { return m; }
};
struct Subtract {
  TIDEMARK_VALUE_2 { return a - b; }
  TIDEMARK_LEFT { return m; }
  TIDEMARK_RIGHT { return -m; }
};
struct Multiply {
  TIDEMARK_VALUE_2 { return a * b; }
  TIDEMARK_LEFT { return m * b; }
  TIDEMARK_RIGHT { return m * a; }
};
struct Divide {
  TIDEMARK_VALUE_2 { return a / b; }
  TIDEMARK_LEFT { return m / b; }
  TIDEMARK_RIGHT { return -m * y / b; }
};
struct Negate {
  TIDEMARK_VALUE_1 { return -x; }
  TIDEMARK_SCALE { return -m; }
};

// The derivative of the side taken; of the first where both are equal. `takes_right` marks a formula as one that selects:
// the side not taken gets an exact zero, even where its own derivative is infinite.
template <typename F>
struct Select {
  TIDEMARK_VALUE_2 { return choose(F::takes_right(a, b), b, a); }
  TIDEMARK_LEFT { return choose(F::takes_right(a, b), T(0), m); }
  TIDEMARK_RIGHT { return choose(F::takes_right(a, b), m, T(0)); }
};
struct Min : Select<Min> {
  template <typename T>
  TIDEMARK_INLINE static auto takes_right(const T& a, const T& b) {
    return math::plain(b) < math::plain(a);
  }
};
struct Max : Select<Max> {
  template <typename T>
  TIDEMARK_INLINE static auto takes_right(const T& a, const T& b) {
    return math::plain(a) < math::plain(b);
  }
};
// As fmin and fmax do, a NaN loses against a number.
struct Fmin : Select<Fmin> {
  template <typename T>
  TIDEMARK_INLINE static auto takes_right(const T& a, const T& b) {
    return math::plain(b) < math::plain(a) || math::plain(a) != math::plain(a);
  }
};
struct Fmax : Select<Fmax> {
  template <typename T>
  TIDEMARK_INLINE static auto takes_right(const T& a, const T& b) {
    return math::plain(a) < math::plain(b) || math::plain(a) != math::plain(a);
  }
};
struct Fdim {
  TIDEMARK_VALUE_2 { return choose(math::plain(a) <= math::plain(b), T(0), a - b); }
  TIDEMARK_LEFT { return choose(math::plain(a) <= math::plain(b), T(0), m); }
  TIDEMARK_RIGHT { return choose(math::plain(a) <= math::plain(b), T(0), -m); }
};
// Zero at zero: the subgradient in the middle.
struct Abs {
  TIDEMARK_VALUE_1 { return math::fabs(x); }
  TIDEMARK_SCALE { return choose(math::plain(x) > 0, m, choose(math::plain(x) < 0, -m, T(0))); }
};
struct Copysign {
  template <typename T>
  TIDEMARK_INLINE static bool flips(const T& a, const T& b) {
    using std::signbit;
    return signbit(math::plain(a)) != signbit(math::plain(b));
  }
  TIDEMARK_VALUE_2 { return flips(a, b) ? -a : a; }
  TIDEMARK_LEFT { return flips(a, b) ? -m : m; }
  TIDEMARK_RIGHT { return T(0); }
};
// a - n b with n constant but for jumps: a / b cut off, or the nearest integer. The library's remainder is exact, so n is told from it: the
// quotient itself may round across a jump.
struct Fmod {
  template <typename T>
  TIDEMARK_INLINE static auto times(const T& a, const T& b) {
    using std::fmod;
    using std::nearbyint;
    const auto x = math::plain(a), y = math::plain(b);
    return nearbyint((x - fmod(x, y)) / y);
  }
  TIDEMARK_VALUE_2 { return math::fmod(a, b); }
  TIDEMARK_LEFT { return m; }
  TIDEMARK_RIGHT { return -m * T(times(a, b)); }
};
struct Remainder {
  template <typename T>
  TIDEMARK_INLINE static auto times(const T& a, const T& b) {
    using std::nearbyint;
    using std::remainder;
    const auto x = math::plain(a), y = math::plain(b);
    return nearbyint((x - remainder(x, y)) / y);
  }
  TIDEMARK_VALUE_2 { return math::remainder(a, b); }
  TIDEMARK_LEFT { return m; }
  TIDEMARK_RIGHT { return -m * T(times(a, b)); }
};
struct Sqrt {
  TIDEMARK_VALUE_1 { return math::sqrt(x); }
  TIDEMARK_SCALE { return m / (y + y); }
};
struct Cbrt {
  TIDEMARK_VALUE_1 { return math::cbrt(x); }
  TIDEMARK_SCALE { return m / (T(3) * y * y); }
};
struct Exp {
  TIDEMARK_VALUE_1 { return math::exp(x); }
  TIDEMARK_SCALE { return m * y; }
};
struct Exp2 {
  TIDEMARK_VALUE_1 { return math::exp2(x); }
  TIDEMARK_SCALE { return m * y * T(std::numbers::ln2); }
};
struct Expm1 {
  TIDEMARK_VALUE_1 { return math::expm1(x); }
  TIDEMARK_SCALE { return m * (y + T(1)); }
};
struct Log {
  TIDEMARK_VALUE_1 { return math::log(x); }
  TIDEMARK_SCALE { return m / x; }
};
struct Log2 {
  TIDEMARK_VALUE_1 { return math::log2(x); }
  TIDEMARK_SCALE { return m / (x * T(std::numbers::ln2)); }
};
struct Log10 {
  TIDEMARK_VALUE_1 { return math::log10(x); }
  TIDEMARK_SCALE { return m / (x * T(std::numbers::ln10)); }
};
struct Log1p {
  TIDEMARK_VALUE_1 { return math::log1p(x); }
  TIDEMARK_SCALE { return m / (T(1) + x); }
};
struct Sin {
  TIDEMARK_VALUE_1 { return math::sin(x); }
  TIDEMARK_SCALE { return m * math::cos(x); }
};
struct Cos {
  TIDEMARK_VALUE_1 { return math::cos(x); }
  TIDEMARK_SCALE { return -m * math::sin(x); }
};
struct Tan {
  TIDEMARK_VALUE_1 { return math::tan(x); }
  TIDEMARK_SCALE { return m * (T(1) + y * y); }
};
struct Asin {
  TIDEMARK_VALUE_1 { return math::asin(x); }
  TIDEMARK_SCALE { return m / math::sqrt((T(1) - x) * (T(1) + x)); }
};
struct Acos {
  TIDEMARK_VALUE_1 { return math::acos(x); }
  TIDEMARK_SCALE { return -m / math::sqrt((T(1) - x) * (T(1) + x)); }
};
// Whether x x + 1 and x x - 1 are x x, to every bit of a double: from here on they are not formed, for they would overflow.
template <typename T>
TIDEMARK_INLINE bool dwarfs_one(const T& x) {
  return math::fabs(math::plain(x)) > 1e9;
}
struct Atan {
  TIDEMARK_VALUE_1 { return math::atan(x); }
  TIDEMARK_SCALE { return dwarfs_one(x) ? m / x / x : m / (T(1) + x * x); }
};
struct Sinh {
  TIDEMARK_VALUE_1 { return math::sinh(x); }
  TIDEMARK_SCALE { return m * math::cosh(x); }
};
struct Cosh {
  TIDEMARK_VALUE_1 { return math::cosh(x); }
  TIDEMARK_SCALE { return m * math::sinh(x); }
};
struct Tanh {
  TIDEMARK_VALUE_1 { return math::tanh(x); }
  TIDEMARK_SCALE { return m * (T(1) - y * y); }
};
struct Asinh {
  TIDEMARK_VALUE_1 { return math::asinh(x); }
  TIDEMARK_SCALE { return dwarfs_one(x) ? m / math::fabs(x) : m / math::sqrt(x * x + T(1)); }
};
struct Acosh {
  TIDEMARK_VALUE_1 { return math::acosh(x); }
  TIDEMARK_SCALE { return dwarfs_one(x) ? m / x : m / math::sqrt((x - T(1)) * (x + T(1))); }
};
struct Atanh {
  TIDEMARK_VALUE_1 { return math::atanh(x); }
  TIDEMARK_SCALE { return m / ((T(1) - x) * (T(1) + x)); }
};
struct Erf {
  TIDEMARK_VALUE_1 { return math::erf(x); }
  TIDEMARK_SCALE { return m * T(2 * std::numbers::inv_sqrtpi) * math::exp(-x * x); }
};
struct Erfc {
  TIDEMARK_VALUE_1 { return math::erfc(x); }
  TIDEMARK_SCALE { return -m * T(2 * std::numbers::inv_sqrtpi) * math::exp(-x * x); }
};
struct Tgamma {
  TIDEMARK_VALUE_1 { return math::tgamma(x); }
  TIDEMARK_SCALE { return m * y * math::digamma(x); }
};
struct Lgamma {
  TIDEMARK_VALUE_1 { return math::lgamma(x); }
  TIDEMARK_SCALE { return m * math::digamma(x); }
};
struct Sigmoid {
  TIDEMARK_VALUE_1 { return math::sigmoid(x); }
  TIDEMARK_SCALE { return m * y * (T(1) - y); }
};
struct Square {
  TIDEMARK_VALUE_1 { return x * x; }
  TIDEMARK_SCALE { return m * (x + x); }
};

// 0^0 = 1 and x^0 have derivative 0 in x; a base of zero has no derivative in the exponent but 0.
struct Pow {
  TIDEMARK_VALUE_2 { return math::pow(a, b); }
  TIDEMARK_LEFT { return math::plain(b) == 0 ? T(0) : m * b * math::pow(a, b - T(1)); }
  TIDEMARK_RIGHT { return math::plain(a) == 0 ? T(0) : m * y * math::log(a); }
};
struct Atan2 {
  TIDEMARK_VALUE_2 { return math::atan2(a, b); }
  TIDEMARK_LEFT { return part(m, b, a, b); }
  TIDEMARK_RIGHT { return part(-m, a, a, b); }

 private:
  // m x / (a^2 + b^2), where squares leave the range of floats without forming them.
  template <typename T>
  TIDEMARK_INLINE static T part(const T& m, const T& x, const T& a, const T& b) {
    const T sum = a * a + b * b;
    if (math::plain(sum) > 1e-30 && math::plain(sum) < 1e30) return m * (x / sum);
    const T length = math::hypot(a, b);
    return m * (x / length) / length;
  }
};
struct Hypot {
  TIDEMARK_VALUE_2 { return math::hypot(a, b); }
  TIDEMARK_LEFT { return math::plain(y) == 0 ? T(0) : m * (a / y); }
  TIDEMARK_RIGHT { return math::plain(y) == 0 ? T(0) : m * (b / y); }
};

#undef TIDEMARK_VALUE_1
#undef TIDEMARK_SCALE
#undef TIDEMARK_VALUE_2
#undef TIDEMARK_LEFT
#undef TIDEMARK_RIGHT

}  // namespace tidemark::tape
