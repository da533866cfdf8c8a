// Functions of <cmath> that are made of others, for Vars and Duals alike. The special functions of C++17 (beta, Bessel, ...) have no formulas
// here: Tape::statement takes their derivatives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "tidemark/tape/dual.h"
#include "tidemark/tape/var.h"

namespace tidemark::tape {

template <typename T>
struct IsDual : std::false_type {};
template <typename R, int W>
struct IsDual<DualOf<R, W>> : std::true_type {};
template <typename T>
concept Differentiated = Term<T> || IsDual<T>::value;

template <typename T>
auto number_of(const T& x) {
  if constexpr (IsDual<T>::value)
    return math::plain(x);
  else
    return plain_value(x);
}

template <typename A, typename B, typename C>
  requires(Differentiated<A> || Differentiated<B> || Differentiated<C>)
TIDEMARK_INLINE auto fma(const A& a, const B& b, const C& c) {
  return a * b + c;
}
template <typename A, typename B, typename C>
  requires(Differentiated<A> || Differentiated<B> || Differentiated<C>)
TIDEMARK_INLINE auto hypot(const A& a, const B& b, const C& c) {
  return hypot(hypot(a, b), c);
}
// Exact at both ends.
template <typename A, typename B, typename C>
  requires(Differentiated<A> || Differentiated<B> || Differentiated<C>)
TIDEMARK_INLINE auto lerp(const A& a, const B& b, const C& t) {
  return t * b + (1.0 - t) * a;
}

// In two factors: one of them alone may be beyond the range where the product is not.
template <Differentiated X>
TIDEMARK_INLINE auto scalbln(const X& x, long n) {
  const auto power = [](long e) { return std::scalbln(decltype(number_of(std::declval<X>()))(1), e); };
  return x * power(n / 2) * power(n - n / 2);
}
template <Differentiated X>
TIDEMARK_INLINE auto scalbn(const X& x, int n) {
  return scalbln(x, n);
}
template <Differentiated X>
TIDEMARK_INLINE auto ldexp(const X& x, int n) {
  return scalbln(x, n);
}
template <Differentiated X>
TIDEMARK_INLINE auto frexp(const X& x, int* exponent) {
  std::frexp(number_of(x), exponent);
  return scalbln(x, -*exponent);
}
// The whole part is a plain number, whatever it is stored in.
template <Differentiated X, typename Y>
TIDEMARK_INLINE auto modf(const X& x, Y* whole) {
  const auto number = std::trunc(number_of(x));
  *whole = number;
  return x - (std::isinf(number) ? decltype(number)(0) : number);
}
template <Differentiated X, typename Y>
TIDEMARK_INLINE auto nextafter(const X& x, const Y& towards) {
  const auto here = number_of(x);
  return x + (std::nextafter(here, static_cast<decltype(here)>(number_of(towards))) - here);
}
template <typename A, typename B>
  requires(Differentiated<A> || Differentiated<B>)
TIDEMARK_INLINE auto remquo(const A& a, const B& b, int* quotient) {
  std::remquo(number_of(a), number_of(b), quotient);
  return remainder(a, b);
}

// Comparisons that are quiet about NaN.
#define TIDEMARK_QUIET(name)                          \
  template <typename A, typename B>                   \
    requires(Differentiated<A> || Differentiated<B>)  \
  TIDEMARK_INLINE bool name(const A& a, const B& b) { \
    return std::name(number_of(a), number_of(b));     \
  }
TIDEMARK_QUIET(isgreater)
TIDEMARK_QUIET(isgreaterequal)
TIDEMARK_QUIET(isless)
TIDEMARK_QUIET(islessequal)
TIDEMARK_QUIET(islessgreater)
TIDEMARK_QUIET(isunordered)
#undef TIDEMARK_QUIET

}  // namespace tidemark::tape
