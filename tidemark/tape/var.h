// Var: a number that a tape follows. Operators and functions build expressions; an assignment records one
// statement on the recording of this thread. Values that depend on no input record nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "tidemark/tape/expression.h"

namespace tidemark::tape {

// The recording under way on this thread; set by BasicTape::Recording.
template <typename Real>
[[gnu::tls_model("initial-exec")]] constinit inline thread_local Recorder<Real>* current = nullptr;

inline constexpr int kMergeLimit = 12;

template <typename Real, int N>
TIDEMARK_INLINE Key record(const Leaves<Real, N>& in) {
  static_assert(N <= static_cast<int>(kMaxArguments),
                "an expression of so many terms: assign a part of it first");
  if constexpr (N <= kMergeLimit) {
    const Merge<Real, N> merged(in);
    Recorder<Real>* recorder = current<Real>;
    if (!rare(recorder == nullptr) && !merged.meet(in)) {
      // What a run expects is active: its arguments were.
      if (Key key; recorder->template append_expected<N>(in.keys, merged.sums, merged.gone, key)) [[likely]]
        return key;
      return recorder->template append_other<N>(in.keys, merged.sums, merged.gone);
    }
  }
  const Leaves<Real, N> copy = in;  // so that the leaves of the usual path never need memory
  return record_rest(copy.keys, copy.partials, static_cast<std::uint32_t>(N));
}

template <typename R>
class Active;

template <typename T>
struct IsNode : std::false_type {};
template <typename R>
struct IsNode<Leaf<R>> : std::true_type {};
template <typename F, typename X>
struct IsNode<Unary<F, X>> : std::true_type {};
template <typename F, typename A, typename B>
struct IsNode<Binary<F, A, B>> : std::true_type {};
template <typename T>
struct IsActive : std::false_type {};
template <typename R>
struct IsActive<Active<R>> : std::true_type {};

template <typename T>
concept Node = IsNode<T>::value;
template <typename T>
concept Term = IsNode<T>::value || IsActive<T>::value;

template <typename R>
class Active {
 public:
  using Real = R;

  Active() = default;
  // A passive value.
  template <typename T>
    requires std::is_arithmetic_v<T> || std::same_as<T, R>
  TIDEMARK_INLINE Active(const T& value) : value_(static_cast<R>(value)) {}
  TIDEMARK_INLINE Active(const R& value, Key key) : value_(value), key_(key) {}
  template <Node E>
    requires std::same_as<typename E::Real, R>
  TIDEMARK_INLINE Active(const E& e) : value_(e.value), key_(key_for(e)) {}
  template <Node E>
    requires std::same_as<typename E::Real, R>
  TIDEMARK_INLINE Active& operator=(const E& e) {
    const Key key = key_for(e);
    value_ = e.value;
    key_ = key;
    return *this;
  }

  const R& value() const { return value_; }
  Key key() const { return key_; }
  bool active() const { return index_of(key_) != 0; }

  template <typename T>
  TIDEMARK_INLINE Active& operator+=(const T& b) {
    return *this = *this + b;
  }
  template <typename T>
  TIDEMARK_INLINE Active& operator-=(const T& b) {
    return *this = *this - b;
  }
  template <typename T>
  TIDEMARK_INLINE Active& operator*=(const T& b) {
    return *this = *this * b;
  }
  template <typename T>
  TIDEMARK_INLINE Active& operator/=(const T& b) {
    return *this = *this / b;
  }
  Active& operator++() { return *this += R(1); }
  Active& operator--() { return *this -= R(1); }

 private:
  template <typename E>
  TIDEMARK_INLINE static Key key_for(const E& e) {
    Leaves<R, E::leaves> leaves;
    e.template push<0>(R(1), false, leaves);
    return record(leaves);
  }

  R value_{};
  Key key_ = 0;
};

template <typename R>
TIDEMARK_INLINE Leaf<R> node(const Active<R>& x) {
  return {x.value(), x.key()};
}
template <Node E>
TIDEMARK_INLINE const E& node(const E& e) {
  return e;
}
template <typename R, typename T>
  requires std::convertible_to<T, R> && (!Term<T>)
TIDEMARK_INLINE Constant<R> constant(const T& x) {
  return {static_cast<R>(x)};
}
template <typename T>
using NodeOf = std::remove_cvref_t<decltype(node(std::declval<const T&>()))>;
template <typename T>
using RealOf = typename NodeOf<T>::Real;

// Comparisons and roundings look at the value: what they give is passive.
template <typename T>
TIDEMARK_INLINE auto plain_value(const T& x) {
  if constexpr (IsActive<T>::value)
    return math::plain(x.value());
  else if constexpr (IsNode<T>::value)
    return math::plain(x.value);
  else
    return x;
}

// A term and a term, a term and a number, a number and a term.
#define TIDEMARK_BINARY(name, F)                                                       \
  template <Term A, Term B>                                                            \
    requires std::same_as<RealOf<A>, RealOf<B>>                                        \
  TIDEMARK_INLINE auto name(const A& a, const B& b) {                                  \
    return Binary<F, NodeOf<A>, NodeOf<B>>(node(a), node(b));                          \
  }                                                                                    \
  template <Term A, typename B>                                                        \
    requires(!Term<B>) && std::convertible_to<B, RealOf<A>>                            \
  TIDEMARK_INLINE auto name(const A& a, const B& b) {                                  \
    return Binary<F, NodeOf<A>, Constant<RealOf<A>>>(node(a), constant<RealOf<A>>(b)); \
  }                                                                                    \
  template <typename A, Term B>                                                        \
    requires(!Term<A>) && std::convertible_to<A, RealOf<B>>                            \
  TIDEMARK_INLINE auto name(const A& a, const B& b) {                                  \
    return Binary<F, Constant<RealOf<B>>, NodeOf<B>>(constant<RealOf<B>>(a), node(b)); \
  }
// std::min and std::max take two terms of one type too; these are the closer match.
#define TIDEMARK_BINARY_OF_EQUALS(name, F)                                        \
  template <typename R>                                                           \
  TIDEMARK_INLINE auto name(const Active<R>& a, const Active<R>& b) {             \
    return Binary<F, Leaf<R>, Leaf<R>>(node(a), node(b));                         \
  }                                                                               \
  template <typename G, typename X>                                               \
  TIDEMARK_INLINE auto name(const Unary<G, X>& a, const Unary<G, X>& b) {         \
    return Binary<F, Unary<G, X>, Unary<G, X>>(a, b);                             \
  }                                                                               \
  template <typename G, typename X, typename Y>                                   \
  TIDEMARK_INLINE auto name(const Binary<G, X, Y>& a, const Binary<G, X, Y>& b) { \
    return Binary<F, Binary<G, X, Y>, Binary<G, X, Y>>(a, b);                     \
  }
#define TIDEMARK_UNARY(name, F)           \
  template <Term X>                       \
  TIDEMARK_INLINE auto name(const X& x) { \
    return Unary<F, NodeOf<X>>(node(x));  \
  }
#define TIDEMARK_COMPARE(op)                                 \
  template <typename A, typename B>                          \
    requires(Term<A> || Term<B>)                             \
  TIDEMARK_INLINE bool operator op(const A& a, const B& b) { \
    return plain_value(a) op plain_value(b);                 \
  }
#define TIDEMARK_ROUND(name)              \
  template <Term X>                       \
  TIDEMARK_INLINE auto name(const X& x) { \
    using std::name;                      \
    return name(plain_value(x));          \
  }
#include "tidemark/tape/function_list.h"
#undef TIDEMARK_BINARY
#undef TIDEMARK_BINARY_OF_EQUALS
#undef TIDEMARK_UNARY
#undef TIDEMARK_COMPARE
#undef TIDEMARK_ROUND

template <Term X>
TIDEMARK_INLINE X operator+(const X& x) {
  return x;
}

}  // namespace tidemark::tape

namespace tidemark {
using Var = tape::Active<double>;
using Var32 = tape::Active<float>;
}  // namespace tidemark
