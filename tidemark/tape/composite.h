// Functions of <cmath> that are made of others, for Vars, Duals and Numbers alike. The special functions of C++17 (beta, Bessel, ...) have no formulas
// here: Tape::statement takes their derivatives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "tidemark/tape/dual.h"
#include "tidemark/tape/number.h"
#include "tidemark/tape/trace.h"
#include "tidemark/tape/var.h"

namespace tidemark::tape {

template <typename T>
struct IsDual : std::false_type {};
template <typename R, int W>
struct IsDual<DualOf<R, W>> : std::true_type {};
template <typename T>
concept Differentiated = Term<T> || IsDual<T>::value || IsNumber<T>::value;

template <typename T>
auto number_of(const T& x) {
  if constexpr (IsNumber<T>::value) {
    x.look();
    return x.value;
  } else if constexpr (IsDual<T>::value) {
    return math::plain(x);
  } else {
    return plain_value(x);
  }
}

// Values are those of <cmath> to the last bit: a step must come to one state whether it is taped or not.
struct Fma {
  template <typename T>
  static T value(T a, T b, T c) {
    return std::fma(a, b, c);
  }
  template <typename T>
  static std::array<T, 3> partials(const T& a, const T& b, const T&, const T&) {
    return {b, a, T(1)};
  }
};
struct Lerp {
  template <typename T>
  static T value(T a, T b, T t) {
    return std::lerp(a, b, t);
  }
  template <typename T>
  static std::array<T, 3> partials(const T& a, const T& b, const T& t, const T&) {
    return {T(1) - t, t, b - a};
  }
};
struct Hypot3 {
  template <typename T>
  static T value(T a, T b, T c) {
    return std::hypot(a, b, c);
  }
  template <typename T>
  static std::array<T, 3> partials(const T& a, const T& b, const T& c, const T& y) {
    if (math::plain(y) == 0) return {T(0), T(0), T(0)};
    return {a / y, b / y, c / y};
  }
};
template <typename F, typename T>
T ternary_value(const T& a, const T& b, const T& c) {
  if constexpr (std::floating_point<T>) {
    return F::value(a, b, c);
  } else if constexpr (IsDual<T>::value) {
    T y(ternary_value<F>(a.value, b.value, c.value));
    const auto partials = F::partials(a.value, b.value, c.value, y.value);
    for (std::size_t w = 0; w < y.tangent.size(); ++w)
      y.tangent[w] = partials[0] * a.tangent[w] + partials[1] * b.tangent[w] + partials[2] * c.tangent[w];
    return y;
  } else {
    no_op("a function of three numbers");
  }
}

// A node of expressions, as Unary and Binary are.
template <typename F, typename A, typename B, typename C>
struct Ternary {
  using Real = typename A::Real;
  static constexpr int leaves = A::leaves + B::leaves + C::leaves;
  A a;
  B b;
  C c;
  Real value;

  Ternary(const A& x, const B& y, const C& z)
      : a(x), b(y), c(z), value(ternary_value<F>(x.value, y.value, z.value)) {}
  template <int At, int N, typename Off>
  TIDEMARK_INLINE void push(const Real& m, const Off& off, Leaves<Real, N>& out) const {
    const std::array<Real, 3> partials = F::partials(a.value, b.value, c.value, value);
    if constexpr (A::leaves > 0) a.template push<At>(m * partials[0], off, out);
    if constexpr (B::leaves > 0) b.template push<At + A::leaves>(m * partials[1], off, out);
    if constexpr (C::leaves > 0) c.template push<At + A::leaves + B::leaves>(m * partials[2], off, out);
  }
};
template <typename F, typename A, typename B, typename C>
struct IsNode<Ternary<F, A, B, C>> : std::true_type {};

template <typename R, typename T>
auto node_or_constant(const T& x) {
  if constexpr (Term<T>)
    return node(x);
  else
    return constant<R>(x);
}
template <typename F, typename A, typename B, typename C>
auto ternary(const A& a, const B& b, const C& c) {
  using Chosen = std::conditional_t<Differentiated<A>, A, std::conditional_t<Differentiated<B>, B, C>>;
  if constexpr (Term<Chosen>) {
    using R = RealOf<Chosen>;
    return Ternary<F, decltype(node_or_constant<R>(a)), decltype(node_or_constant<R>(b)),
                   decltype(node_or_constant<R>(c))>(node_or_constant<R>(a), node_or_constant<R>(b),
                                                     node_or_constant<R>(c));
  } else if constexpr (IsNumber<Chosen>::value) {
    using R = decltype(Chosen::value);
    return Chosen::result(F::value(R(number_of(a)), R(number_of(b)), R(number_of(c))));
  } else {
    return ternary_value<F>(Chosen(a), Chosen(b), Chosen(c));
  }
}
#define TIDEMARK_TERNARY(name, F)                                         \
  template <typename A, typename B, typename C>                           \
    requires(Differentiated<A> || Differentiated<B> || Differentiated<C>) \
  TIDEMARK_INLINE auto name(const A& a, const B& b, const C& c) {         \
    return ternary<F>(a, b, c);                                           \
  }
TIDEMARK_TERNARY(fma, Fma)
TIDEMARK_TERNARY(hypot, Hypot3)
TIDEMARK_TERNARY(lerp, Lerp)
#undef TIDEMARK_TERNARY

// Functions of a number and a constant that only shift the number.
template <typename Self>
struct Shift {
  template <typename T>
  static T value(const T& a, const T& b) {
    if constexpr (std::floating_point<T>) {
      return Self::of(a, b);
    } else if constexpr (IsDual<T>::value) {
      T y = a;
      y.value = value(a.value, b.value);
      return y;
    } else {
      no_op("nextafter or modf");
    }
  }
  template <typename T>
  static T left(const T& m, const T&, const T&, const T&) {
    return m;
  }
  template <typename T>
  static T right(const T&, const T&, const T&, const T&) {
    return T(0);
  }
};
struct NextAfter : Shift<NextAfter> {
  template <typename T>
  static T of(T a, T b) {
    return std::nextafter(a, b);
  }
};
struct Fraction : Shift<Fraction> {
  template <typename T>
  static T of(T a, T) {
    T whole;
    return std::modf(a, &whole);
  }
};
template <typename F, typename X, typename Y>
TIDEMARK_INLINE auto shifted(const X& x, const Y& constant_) {
  if constexpr (Term<X>) {
    const auto c = constant<RealOf<X>>(constant_);
    return Binary<F, NodeOf<X>, std::remove_const_t<decltype(c)>>(node(x), c);
  } else if constexpr (IsNumber<X>::value) {
    return X::result(F::value(number_of(x), decltype(X::value)(constant_)));
  } else {
    return F::value(x, X(constant_));
  }
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
  using std::trunc;
  *whole = trunc(number_of(x));
  return shifted<Fraction>(x, 0.0);
}
template <Differentiated X, typename Y>
TIDEMARK_INLINE auto nextafter(const X& x, const Y& towards) {
  return shifted<NextAfter>(x, number_of(towards));
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
