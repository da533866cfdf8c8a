// One name per function for every scalar of the tape: base/scalar.h's formula (or libm's) for floating-point
// numbers, argument-dependent lookup for numbers that carry derivatives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <numbers>

#include "tidemark/base/scalar.h"

#define TIDEMARK_INLINE [[gnu::always_inline]] inline

namespace tidemark::tape::math {

#define TIDEMARK_MATH_1(name, from)       \
  template <typename T>                   \
  TIDEMARK_INLINE T name(const T& x) {    \
    if constexpr (std::floating_point<T>) \
      return from::name(x);               \
    else                                  \
      return name(x);                     \
  }
#define TIDEMARK_MATH_2(name, from)                \
  template <typename T>                            \
  TIDEMARK_INLINE T name(const T& a, const T& b) { \
    if constexpr (std::floating_point<T>)          \
      return from::name(a, b);                     \
    else                                           \
      return name(a, b);                           \
  }
TIDEMARK_MATH_1(fabs, std)
TIDEMARK_MATH_1(sqrt, scalar)
TIDEMARK_MATH_1(exp, scalar)
TIDEMARK_MATH_1(expm1, scalar)
TIDEMARK_MATH_1(log, scalar)
TIDEMARK_MATH_1(log1p, scalar)
TIDEMARK_MATH_1(sin, scalar)
TIDEMARK_MATH_1(cos, scalar)
TIDEMARK_MATH_1(tan, scalar)
TIDEMARK_MATH_1(tanh, scalar)
TIDEMARK_MATH_1(erf, scalar)
TIDEMARK_MATH_1(sigmoid, scalar)
TIDEMARK_MATH_1(exp2, std)
TIDEMARK_MATH_1(log2, std)
TIDEMARK_MATH_1(log10, std)
TIDEMARK_MATH_1(cbrt, std)
TIDEMARK_MATH_1(asin, std)
TIDEMARK_MATH_1(acos, std)
TIDEMARK_MATH_1(atan, std)
TIDEMARK_MATH_1(sinh, std)
TIDEMARK_MATH_1(cosh, std)
TIDEMARK_MATH_1(asinh, std)
TIDEMARK_MATH_1(acosh, std)
TIDEMARK_MATH_1(atanh, std)
TIDEMARK_MATH_1(erfc, std)
TIDEMARK_MATH_1(tgamma, std)
TIDEMARK_MATH_1(lgamma, std)
TIDEMARK_MATH_2(pow, scalar)
TIDEMARK_MATH_2(atan2, std)
TIDEMARK_MATH_2(hypot, std)
TIDEMARK_MATH_2(fmod, std)
TIDEMARK_MATH_2(remainder, std)
#undef TIDEMARK_MATH_1
#undef TIDEMARK_MATH_2

// The number without its derivatives: what comparisons and roundings look at. A symbol (trace.h) stays one.
template <typename T>
TIDEMARK_INLINE auto plain(const T& x) {
  if constexpr (std::floating_point<T>)
    return x;
  else if constexpr (requires { x.symbolic(); })
    return x.symbolic();
  else
    return plain(x.value);
}

// The logarithmic derivative of the gamma function: reflection, recurrence up to 6 and the asymptotic series
// there (Abramowitz & Stegun 6.3.7, 6.3.5, 6.3.18). In T's own arithmetic, so that it can be differentiated.
template <typename T>
T digamma(const T& at) {
  using R = decltype(plain(at));
  T x = at, sum = T(R(0));
  if (plain(x) <= R(0)) {
    const T scaled = x * T(std::numbers::pi_v<R>);
    sum = sum - T(std::numbers::pi_v<R>) / tan(scaled);
    x = T(R(1)) - x;
  }
  while (plain(x) < R(10)) {
    sum = sum - T(R(1)) / x;
    x = x + T(R(1));
  }
  const T w = T(R(1)) / (x * x);
  const T tail =
      w *
      (T(R(1.0 / 12)) -
       w * (T(R(1.0 / 120)) -
            w * (T(R(1.0 / 252)) - w * (T(R(1.0 / 240)) - w * (T(R(1.0 / 132)) - w * T(R(691.0 / 32760)))))));
  return sum + log(x) - T(R(0.5)) / x - tail;
}

}  // namespace tidemark::tape::math

namespace tidemark::tape {

// a or b. What asks in an `if` instead is a branch, which a trace guards.
template <typename T>
TIDEMARK_INLINE T choose(bool condition, const T& a, const T& b) {
  return condition ? a : b;
}

}  // namespace tidemark::tape
