// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/fold.h"

#include <limits>

#include "tidemark/base/scalar.h"

namespace tidemark::kernels {
namespace {

struct Sum {
  template <typename T>
  static constexpr T identity() {
    return T(0);
  }
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <typename T>
  static constexpr T identity() {
    return T(1);
  }
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct Max {
  template <typename T>
  static constexpr T identity() {
    if constexpr (std::is_floating_point_v<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  template <typename T>
  static T apply(T a, T b) {
    return scalar::maximum(a, b);
  }
};
struct Min {
  template <typename T>
  static constexpr T identity() {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  template <typename T>
  static T apply(T a, T b) {
    return scalar::minimum(a, b);
  }
};

// Lanes of integers narrower than the accumulator would overflow in sums: they are widened at once.
template <typename T, typename F>
using Lane = std::conditional_t<std::is_floating_point_v<T>, T, std::int64_t>;

template <typename T, typename F>
struct Loops {
  using L = Lane<T, F>;
  using A = Accumulator<T>;

  static void identity_lanes(void* lanes, std::int64_t n) {
    auto* l = static_cast<L*>(lanes);
    for (std::int64_t j = 0; j < n; ++j) l[j] = F::template identity<L>();
  }
  static void add_lanes(void* lanes, const void* x, std::int64_t n) {
    auto* l = static_cast<L*>(lanes);
    const auto* p = static_cast<const T*>(x);
    if (n >= kFoldLanes) {
      L local[kFoldLanes];
      for (std::int64_t j = 0; j < kFoldLanes; ++j) local[j] = l[j];
      for (; n >= kFoldLanes; n -= kFoldLanes, p += kFoldLanes) {
#pragma GCC unroll 64
        for (std::int64_t j = 0; j < kFoldLanes; ++j) local[j] = F::apply(local[j], static_cast<L>(p[j]));
      }
      for (std::int64_t j = 0; j < kFoldLanes; ++j) l[j] = local[j];
    }
    for (std::int64_t j = 0; j < n; ++j) l[j] = F::apply(l[j], static_cast<L>(p[j]));
  }
  static void add_row(void* row, const void* x, std::int64_t n) {
    auto* r = static_cast<L*>(row);
    const auto* p = static_cast<const T*>(x);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j) r[j] = F::apply(r[j], static_cast<L>(p[j]));
  }
  static void identity(void* accumulators, std::int64_t n) {
    auto* a = static_cast<A*>(accumulators);
    for (std::int64_t j = 0; j < n; ++j) a[j] = F::template identity<A>();
  }
  static void close_lanes(void* accumulator, const void* lanes, std::int64_t used) {
    const auto* l = static_cast<const L*>(lanes);
    A tree[kFoldLanes];
    std::int64_t width = kFoldLanes;
    while (width / 2 >= used && width > 1)
      width /= 2;  // lanes past `used` hold the identity: adding it changes nothing
    for (std::int64_t j = 0; j < width; ++j) tree[j] = static_cast<A>(l[j]);
    for (std::int64_t half = width / 2; half > 0; half /= 2) {
      for (std::int64_t j = 0; j < half; ++j) tree[j] = F::apply(tree[j], tree[j + half]);
    }
    auto* a = static_cast<A*>(accumulator);
    *a = F::apply(*a, tree[0]);
  }
  static void widen(void* accumulators, const void* row, std::int64_t n) {
    auto* a = static_cast<A*>(accumulators);
    const auto* r = static_cast<const L*>(row);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j) a[j] = F::apply(a[j], static_cast<A>(r[j]));
  }
  static void combine(void* accumulators, const void* other, std::int64_t n) {
    auto* a = static_cast<A*>(accumulators);
    const auto* b = static_cast<const A*>(other);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j) a[j] = F::apply(a[j], b[j]);
  }
  static constexpr FoldFunctions functions{identity_lanes, add_lanes, add_row, identity,
                                           close_lanes,    widen,     combine, sizeof(L)};
};

template <typename F>
const FoldFunctions& by_dtype(DType d) {
  switch (d) {
    case DType::f64:
      return Loops<double, F>::functions;
    case DType::f32:
      return Loops<float, F>::functions;
    case DType::i64:
      return Loops<std::int64_t, F>::functions;
    case DType::i32:
      return Loops<std::int32_t, F>::functions;
    default:
      return Loops<std::uint8_t, F>::functions;
  }
}

}  // namespace

const FoldFunctions& fold_functions(DType compute, Fold fold) {
  switch (fold) {
    case Fold::max:
      return by_dtype<Max>(compute);
    case Fold::min:
      return by_dtype<Min>(compute);
    case Fold::prod:
      return by_dtype<Prod>(compute);
    default:
      return by_dtype<Sum>(compute);
  }
}

}  // namespace tidemark::kernels
