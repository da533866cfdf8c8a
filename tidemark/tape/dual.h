// Forward mode: a number and its derivatives in W directions, by the same formulas as the tape's. The tape takes it as
// its scalar too (Tape<Dual>), which gives Hessian products.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>

#include "tidemark/tape/formulas.h"

namespace tidemark::tape {

template <typename R, int W = 1>
struct DualOf {
  R value{};
  std::array<R, W> tangent{};

  DualOf() = default;
  template <typename T>
    requires std::convertible_to<T, R>
  constexpr DualOf(const T& v) : value(static_cast<R>(v)) {}
  constexpr DualOf(const R& v, const std::array<R, W>& t) : value(v), tangent(t) {}

  template <typename T>
  DualOf& operator+=(const T& b) {
    return *this = *this + b;
  }
  template <typename T>
  DualOf& operator-=(const T& b) {
    return *this = *this - b;
  }
  template <typename T>
  DualOf& operator*=(const T& b) {
    return *this = *this * b;
  }
  template <typename T>
  DualOf& operator/=(const T& b) {
    return *this = *this / b;
  }
};

// A zero tangent contributes nothing, even through an infinite derivative, as a zero adjoint does.
template <typename R, typename Derivative>
TIDEMARK_INLINE R times(const R& tangent, const Derivative& derivative) {
  return math::plain(tangent) == 0 ? R(0) : derivative(tangent);
}
template <typename F, typename R, int W>
TIDEMARK_INLINE DualOf<R, W> through(const DualOf<R, W>& x) {
  DualOf<R, W> y(F::value(x.value));
  for (int w = 0; w < W; ++w)
    y.tangent[w] = times(x.tangent[w], [&](const R& m) { return F::scale(m, x.value, y.value); });
  return y;
}
template <typename F, typename R, int W>
TIDEMARK_INLINE DualOf<R, W> through(const DualOf<R, W>& a, const DualOf<R, W>& b) {
  DualOf<R, W> y(F::value(a.value, b.value));
  for (int w = 0; w < W; ++w)
    y.tangent[w] = times(a.tangent[w], [&](const R& m) { return F::left(m, a.value, b.value, y.value); }) +
                   times(b.tangent[w], [&](const R& m) { return F::right(m, a.value, b.value, y.value); });
  return y;
}
// A plain number has no tangent: the other side's derivative is not even computed.
template <typename F, typename R, int W>
TIDEMARK_INLINE DualOf<R, W> through_left(const DualOf<R, W>& a, const R& b) {
  DualOf<R, W> y(F::value(a.value, b));
  for (int w = 0; w < W; ++w)
    y.tangent[w] = times(a.tangent[w], [&](const R& m) { return F::left(m, a.value, b, y.value); });
  return y;
}
template <typename F, typename R, int W>
TIDEMARK_INLINE DualOf<R, W> through_right(const R& a, const DualOf<R, W>& b) {
  DualOf<R, W> y(F::value(a, b.value));
  for (int w = 0; w < W; ++w)
    y.tangent[w] = times(b.tangent[w], [&](const R& m) { return F::right(m, a, b.value, y.value); });
  return y;
}

#define TIDEMARK_BINARY(name, F)                                                    \
  template <typename R, int W>                                                      \
  TIDEMARK_INLINE DualOf<R, W> name(const DualOf<R, W>& a, const DualOf<R, W>& b) { \
    return through<F>(a, b);                                                        \
  }                                                                                 \
  template <typename R, int W, typename T>                                          \
    requires std::convertible_to<T, R>                                              \
  TIDEMARK_INLINE DualOf<R, W> name(const DualOf<R, W>& a, const T& b) {            \
    return through_left<F>(a, static_cast<R>(b));                                   \
  }                                                                                 \
  template <typename T, typename R, int W>                                          \
    requires std::convertible_to<T, R>                                              \
  TIDEMARK_INLINE DualOf<R, W> name(const T& a, const DualOf<R, W>& b) {            \
    return through_right<F>(static_cast<R>(a), b);                                  \
  }
#define TIDEMARK_BINARY_OF_EQUALS(name, F)
#define TIDEMARK_UNARY(name, F)                              \
  template <typename R, int W>                               \
  TIDEMARK_INLINE DualOf<R, W> name(const DualOf<R, W>& x) { \
    return through<F>(x);                                    \
  }
#define TIDEMARK_COMPARE(op)                                                       \
  template <typename R, int W>                                                     \
  TIDEMARK_INLINE bool operator op(const DualOf<R, W>& a, const DualOf<R, W>& b) { \
    return a.value op b.value;                                                     \
  }                                                                                \
  template <typename R, int W, typename T>                                         \
    requires std::convertible_to<T, R>                                             \
  TIDEMARK_INLINE bool operator op(const DualOf<R, W>& a, const T& b) {            \
    return a.value op static_cast<R>(b);                                           \
  }                                                                                \
  template <typename T, typename R, int W>                                         \
    requires std::convertible_to<T, R>                                             \
  TIDEMARK_INLINE bool operator op(const T& a, const DualOf<R, W>& b) {            \
    return static_cast<R>(a) op b.value;                                           \
  }
#define TIDEMARK_ROUND(name)                         \
  template <typename R, int W>                       \
  TIDEMARK_INLINE auto name(const DualOf<R, W>& x) { \
    return std::name(math::plain(x));                \
  }
#include "tidemark/tape/function_list.h"
#undef TIDEMARK_BINARY
#undef TIDEMARK_BINARY_OF_EQUALS
#undef TIDEMARK_UNARY
#undef TIDEMARK_COMPARE
#undef TIDEMARK_ROUND

}  // namespace tidemark::tape

namespace tidemark {
using Dual = tape::DualOf<double>;
using Dual32 = tape::DualOf<float>;
}  // namespace tidemark
