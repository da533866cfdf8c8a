// The type that sums of a dtype are kept in by plain kernels: wider than the storage, so that the reference
// is the more exact of the two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "tidemark/base/half.h"

namespace tidemark::kernels {

template <typename T>
struct AccumulatorOf {
  using type = std::conditional_t<std::is_integral_v<T>, T, double>;
};
template <typename T>
using Accumulator = typename AccumulatorOf<T>::type;

// A stored element as a number and back.
template <typename T>
auto load(T x) {
  if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>)
    return static_cast<float>(x);
  else
    return x;
}
template <typename T, typename U>
T store(U x) {
  if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>)
    return T(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

}  // namespace tidemark::kernels
