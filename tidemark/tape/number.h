// Numbers that record nothing but are computed as a tape would: by its formulas, with constants of its precision. Plain steps on floats run
// on them, for a float in C++ becomes a double beside a double. Watched ones also tell which numbers of a state a function
// reads and which it assigns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tidemark/tape/formulas.h"

namespace tidemark::tape {

// Nobody looks.
struct Blind {
  TIDEMARK_INLINE void look() const {}
  TIDEMARK_INLINE void renew() {}
};

// Every value has a number of its own: those that came into the function at hand have numbers in a row.
struct Watch {
  std::uint64_t last = 0;              // given out
  std::uint64_t first = 1, count = 0;  // of those that came in
  std::vector<bool>* uses = nullptr;   // which of them were read
};
[[gnu::tls_model("initial-exec")]] constinit inline thread_local Watch watch;
struct Seeing {
  std::uint64_t number = 0;  // 0: a constant
  TIDEMARK_INLINE static void look_at(std::uint64_t number) {
    if (const std::uint64_t i = number - watch.first; i < watch.count) (*watch.uses)[i] = true;
  }
  TIDEMARK_INLINE void look() const { look_at(number); }
  TIDEMARK_INLINE void renew() { number = ++watch.last; }
};

template <typename R, typename Eye>
struct NumberOf : Eye {
  R value{};

  NumberOf() = default;
  template <typename T>
    requires std::is_arithmetic_v<T>
  TIDEMARK_INLINE NumberOf(const T& v) : value(static_cast<R>(v)) {}  // NOLINT: implicit by design
  TIDEMARK_INLINE static NumberOf result(R v) {
    NumberOf y(v);
    y.renew();
    return y;
  }

  template <typename T>
  TIDEMARK_INLINE NumberOf& operator+=(const T& b) {
    return *this = *this + b;
  }
  template <typename T>
  TIDEMARK_INLINE NumberOf& operator-=(const T& b) {
    return *this = *this - b;
  }
  template <typename T>
  TIDEMARK_INLINE NumberOf& operator*=(const T& b) {
    return *this = *this * b;
  }
  template <typename T>
  TIDEMARK_INLINE NumberOf& operator/=(const T& b) {
    return *this = *this / b;
  }
  NumberOf& operator++() { return *this += R(1); }
  NumberOf& operator--() { return *this -= R(1); }
};

template <typename R>
using Number = NumberOf<R, Blind>;
template <typename R>
using Watched = NumberOf<R, Seeing>;
static_assert(sizeof(Number<float>) == sizeof(float));

template <typename T>
struct IsNumber : std::false_type {};
template <typename R, typename E>
struct IsNumber<NumberOf<R, E>> : std::true_type {};

// What a step on `Real`s runs on where it is not taped.
template <typename Real>
using PlainOf = std::conditional_t<std::same_as<Real, double>, double, Number<Real>>;

#define TIDEMARK_BINARY(name, F)                                                          \
  template <typename R, typename E>                                                       \
  TIDEMARK_INLINE NumberOf<R, E> name(const NumberOf<R, E>& a, const NumberOf<R, E>& b) { \
    a.look(), b.look();                                                                   \
    return NumberOf<R, E>::result(F::value(a.value, b.value));                            \
  }                                                                                       \
  template <typename R, typename E, typename T>                                           \
    requires std::is_arithmetic_v<T>                                                      \
  TIDEMARK_INLINE NumberOf<R, E> name(const NumberOf<R, E>& a, const T& b) {              \
    a.look();                                                                             \
    return NumberOf<R, E>::result(F::value(a.value, static_cast<R>(b)));                  \
  }                                                                                       \
  template <typename T, typename R, typename E>                                           \
    requires std::is_arithmetic_v<T>                                                      \
  TIDEMARK_INLINE NumberOf<R, E> name(const T& a, const NumberOf<R, E>& b) {              \
    b.look();                                                                             \
    return NumberOf<R, E>::result(F::value(static_cast<R>(a), b.value));                  \
  }
#define TIDEMARK_BINARY_OF_EQUALS(name, F)
#define TIDEMARK_UNARY(name, F)                                  \
  template <typename R, typename E>                              \
  TIDEMARK_INLINE NumberOf<R, E> name(const NumberOf<R, E>& x) { \
    x.look();                                                    \
    return NumberOf<R, E>::result(F::value(x.value));            \
  }
#define TIDEMARK_COMPARE(op)                                                           \
  template <typename R, typename E>                                                    \
  TIDEMARK_INLINE bool operator op(const NumberOf<R, E>& a, const NumberOf<R, E>& b) { \
    a.look(), b.look();                                                                \
    return a.value op b.value;                                                         \
  }                                                                                    \
  template <typename R, typename E, typename T>                                        \
    requires std::is_arithmetic_v<T>                                                   \
  TIDEMARK_INLINE bool operator op(const NumberOf<R, E>& a, const T& b) {              \
    a.look();                                                                          \
    return a.value op b;                                                               \
  }                                                                                    \
  template <typename T, typename R, typename E>                                        \
    requires std::is_arithmetic_v<T>                                                   \
  TIDEMARK_INLINE bool operator op(const T& a, const NumberOf<R, E>& b) {              \
    b.look();                                                                          \
    return a op b.value;                                                               \
  }
#define TIDEMARK_ROUND(name)                           \
  template <typename R, typename E>                    \
  TIDEMARK_INLINE auto name(const NumberOf<R, E>& x) { \
    x.look();                                          \
    return std::name(x.value);                         \
  }
#include "tidemark/tape/function_list.h"
#undef TIDEMARK_BINARY
#undef TIDEMARK_BINARY_OF_EQUALS
#undef TIDEMARK_UNARY
#undef TIDEMARK_COMPARE
#undef TIDEMARK_ROUND

template <typename R, typename E>
TIDEMARK_INLINE NumberOf<R, E> operator+(const NumberOf<R, E>& x) {
  return x;
}

}  // namespace tidemark::tape
