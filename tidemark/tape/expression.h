// Expression templates over Vars: an expression holds its value and, by value, its operands; assigned to a Var it
// becomes one statement. Safe with `auto`: nothing refers to anything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "tidemark/tape/formulas.h"
#include "tidemark/tape/recorder.h"

namespace tidemark::tape {

// Keys and partials of an expression's leaves, in the order of reading.
template <typename R, int N>
struct Leaves {
  Key keys[N];
  R partials[N];
};

// Every node: `using Real`, `leaves`, `value`, and `push`, which passes a multiplier down to the leaves; `off` (a bool, or a
// trace's Decision) is the side that a min or max did not take.
template <typename R>
struct Leaf {
  using Real = R;
  static constexpr int leaves = 1;
  R value;
  Key key;

  template <int At, int N, typename Off>
  TIDEMARK_INLINE void push(const R& m, const Off& off, Leaves<R, N>& out) const {
    out.keys[At] = key;
    out.partials[At] = choose(off, R(0), m);
  }
};

template <typename R>
struct Constant {
  using Real = R;
  static constexpr int leaves = 0;
  R value;

  template <int At, int N, typename Off>
  TIDEMARK_INLINE void push(const R&, const Off&, Leaves<R, N>&) const {}
};

template <typename F, typename X>
struct Unary {
  using Real = typename X::Real;
  static constexpr int leaves = X::leaves;
  X x;
  Real value;

  TIDEMARK_INLINE explicit Unary(const X& of) : x(of), value(F::value(of.value)) {}
  template <int At, int N, typename Off>
  TIDEMARK_INLINE void push(const Real& m, const Off& off, Leaves<Real, N>& out) const {
    x.template push<At>(F::scale(m, x.value, value), off, out);
  }
};

template <typename F, typename A, typename B>
struct Binary {
  using Real = typename A::Real;
  static constexpr int leaves = A::leaves + B::leaves;
  A a;
  B b;
  Real value;

  TIDEMARK_INLINE Binary(const A& l, const B& r) : a(l), b(r), value(F::value(l.value, r.value)) {}
  template <int At, int N, typename Off>
  TIDEMARK_INLINE void push(const Real& m, const Off& off, Leaves<Real, N>& out) const {
    if constexpr (requires { F::takes_right(a.value, b.value); }) {
      const auto right = F::takes_right(a.value, b.value);
      if constexpr (A::leaves > 0) a.template push<At>(m, off || right, out);
      if constexpr (B::leaves > 0) b.template push<At + A::leaves>(m, off || !right, out);
    } else {
      if constexpr (A::leaves > 0) a.template push<At>(F::left(m, a.value, b.value, value), off, out);
      if constexpr (B::leaves > 0)
        b.template push<At + A::leaves>(F::right(m, a.value, b.value, value), off, out);
    }
  }
};

// Adds up the partials of leaves that the compiler can see to be one variable: `u * u` is one argument, at no
// cost. Leaves may also turn out to be the same only when running.
template <typename R, int N>
struct Merge {
  R sums[N];
  bool gone[N];

  TIDEMARK_INLINE explicit Merge(const Leaves<R, N>& in) { from<0>(in); }

  template <int J, int I>
  TIDEMARK_INLINE bool repeats(const Leaves<R, N>& in) {
    if constexpr (I < J) {
      const bool same = in.keys[I] == in.keys[J];
      if (__builtin_constant_p(same) && same && !gone[I]) {
        sums[I] = sums[I] + in.partials[J];
        return true;
      }
      return repeats<J, I + 1>(in);
    } else {
      return false;
    }
  }
  template <int J>
  TIDEMARK_INLINE void from(const Leaves<R, N>& in) {
    if constexpr (J < N) {
      sums[J] = in.partials[J];
      gone[J] = repeats<J, 0>(in);
      from<J + 1>(in);
    }
  }
  // Whether leaves that are left are the same.
  template <int J = 1, int I = 0>
  TIDEMARK_INLINE bool meet(const Leaves<R, N>& in) const {
    if constexpr (J >= N) {
      return false;
    } else if constexpr (I == J) {
      return meet<J + 1, 0>(in);
    } else {
      if (rare(!gone[I] && !gone[J] && in.keys[I] == in.keys[J])) return true;
      return meet<J, I + 1>(in);
    }
  }
};

}  // namespace tidemark::tape
