// One formula per function, for every place that computes it: kernels, the tape and emitted code. Branch-free
// where a vectoriser is to take it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

namespace tidemark::scalar {

template <typename T>
inline T square(T x) {
  return x * x;
}
template <typename T>
inline T abs(T x) {
  if constexpr (std::floating_point<T>)
    return std::fabs(x);
  else
    return x < 0 ? static_cast<T>(-x) : x;
}
// -1, 0 or 1; NaN stays NaN.
template <typename T>
inline T sign(T x) {
  if constexpr (std::floating_point<T>)
    return x != x ? x : static_cast<T>((x > 0) - (x < 0));
  else
    return static_cast<T>((x > 0) - (x < 0));
}
// NaN in either argument wins, as in NumPy.
template <typename T>
inline T minimum(T a, T b) {
  if constexpr (std::floating_point<T>)
    return (a < b || a != a) ? a : b;
  else
    return a < b ? a : b;
}
template <typename T>
inline T maximum(T a, T b) {
  if constexpr (std::floating_point<T>)
    return (a > b || a != a) ? a : b;
  else
    return a > b ? a : b;
}
template <typename T>
inline T sqrt(T x) {
  return std::sqrt(x);
}
template <typename T>
inline T rsqrt(T x) {
  return T(1) / std::sqrt(x);
}
template <typename T>
inline T relu(T x) {
  return x < T(0) ? T(0) : x;
}
template <typename T>
inline T exp(T x) {
  return std::exp(x);
}
template <typename T>
inline T expm1(T x) {
  return std::expm1(x);
}
template <typename T>
inline T log(T x) {
  return std::log(x);
}
template <typename T>
inline T log1p(T x) {
  return std::log1p(x);
}
template <typename T>
inline T sin(T x) {
  return std::sin(x);
}
template <typename T>
inline T cos(T x) {
  return std::cos(x);
}
template <typename T>
inline T tan(T x) {
  return std::tan(x);
}
template <typename T>
inline T tanh(T x) {
  return std::tanh(x);
}
template <typename T>
inline T erf(T x) {
  return std::erf(x);
}
template <typename T>
inline T pow(T a, T b) {
  return std::pow(a, b);
}
template <typename T>
inline T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}
template <typename T>
inline T silu(T x) {
  return x / (T(1) + exp(-x));
}
template <typename T>
inline T softplus(T x) {
  return maximum(x, T(0)) + log1p(exp(-abs(x)));
}
template <typename T>
inline T gelu(T x) {
  return T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752440)));
}
template <typename T>
inline T gelu_tanh(T x) {
  return T(0.5) * x * (T(1) + tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
}
template <typename T>
inline T floor(T x) {
  return std::floor(x);
}
// Half to even, whatever the rounding mode's name says: the default mode is assumed everywhere.
template <typename T>
inline T round(T x) {
  return std::nearbyint(x);
}

}  // namespace tidemark::scalar
