// One formula per function, for every place that computes it: kernels, the tape and emitted code. Branch-free
// where a vectoriser is to take it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

namespace tidemark::formulas {

// f32 without branches, calls or tables, so that loops over them become vector loops: argument reduction as in
// Cody & Waite (1980), polynomials fitted for the least maximal relative error. Errors, measured by
// tests/base/scalar_test.cpp: at most 2.5 units in the last place; infinities, NaN and subnormals as in libm.
namespace f32 {

// The integer nearest to x (|x| < 2^22), as a float and as an int: adding 1.5 * 2^23 leaves no fraction bits.
struct Nearest {
  float value;
  std::int32_t integer;
};
inline Nearest nearest(float x) {
  constexpr float kMagic = 12582912.0f;
  const float t = x + kMagic;
  return {t - kMagic,
          static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(t) - std::bit_cast<std::uint32_t>(kMagic))};
}
// 2^k for -127 < k < 128.
inline float pow2(std::int32_t k) { return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23); }

inline constexpr float kLog2e = 1.44269504088896341f;
// ln 2 in two parts; the first has 9 bits, so that its product with an exponent is exact.
inline constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
inline float exp_tail(float r) {
  float p = 1.984603863e-04f;
  p = p * r + 1.394269869e-03f;
  p = p * r + 8.333394001e-03f;
  p = p * r + 4.166633601e-02f;
  p = p * r + 1.666666633e-01f;
  return p * r + 5.000000050e-01f;
}

inline float exp(float x) {
  float z = x < -104.0f ? -104.0f : x;  // NaN passes
  z = z > 89.0f ? 89.0f : z;
  const auto [n, k] = nearest(z * kLog2e);
  const float r = (z - n * kLn2High) - n * kLn2Low;
  const float y = (exp_tail(r) * (r * r) + r) + 1.0f;
  // In two factors: the result may be subnormal or infinite where one power of two is neither.
  const std::int32_t half = k >> 1;
  return y * pow2(half) * pow2(k - half);
}

inline float expm1(float x) {
  float z = x < -18.0f ? -18.0f : x;
  z = z > 89.0f ? 89.0f : z;
  const auto [n, k] = nearest(z * kLog2e);
  const float r = (z - n * kLn2High) - n * kLn2Low;
  const float p = exp_tail(r) * (r * r) + r;  // e^r - 1
  const float s = pow2(k - 1);
  return (s * p + (s - 0.5f)) * 2.0f;
}

inline float log(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool small = x < std::numeric_limits<float>::min();
  const auto bits = std::bit_cast<std::uint32_t>(small ? x * 8388608.0f : x);
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
  const auto e = static_cast<std::int32_t>(bits - 0x3f3504f3u) >> 23;
  const float f = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(e) << 23)) - 1.0f;
  const float n = static_cast<float>(e) - (small ? 23.0f : 0.0f);
  float p = 6.746601236e-02f;
  p = p * f - 1.167564126e-01f;
  p = p * f + 1.188817462e-01f;
  p = p * f - 1.240559143e-01f;
  p = p * f + 1.421955091e-01f;
  p = p * f - 1.666799567e-01f;
  p = p * f + 2.000211873e-01f;
  p = p * f - 2.500000960e-01f;
  p = p * f + 3.333331260e-01f;
  const float z = f * f;
  float y = p * f * z + n * kLn2Low;
  y = (f + (y - 0.5f * z)) + n * kLn2High;
  y = x < kInfinity ? y : x;  // infinity and NaN
  y = x > 0.0f ? y : x == 0.0f ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  return y;
}

// log(u) for the rounded u = 1 + x, and what the rounding lost.
inline float log1p(float x) {
  const float u = 1.0f + x;
  const bool ordinary = u > 0.0f && u < std::numeric_limits<float>::infinity();
  const float lost = (x - (u - 1.0f)) / u;
  return log(u) + (ordinary ? lost : 0.0f);
}

inline float tanh(float x) {
  float a = std::fabs(x);
  a = a > 10.0f ? 10.0f : a;
  const float t = expm1(a + a);
  return std::copysign(t / (t + 2.0f), x);
}

// |x| < 1: an odd polynomial; beyond, 1 - erfc with the logarithm of erfc as a polynomial about 2.5.
inline float erf(float x) {
  const float a = std::fabs(x);
  const float t = x * x;
  float s = 7.853857698e-05f;
  s = s * t - 8.010192518e-04f;
  s = s * t + 5.188327560e-03f;
  s = s * t - 2.685381187e-02f;
  s = s * t + 1.128358515e-01f;
  s = s * t - 3.761262582e-01f;
  s = s * t + 1.128379166e+00f;
  float c = a > 4.1f ? 4.1f : a;
  c -= 2.5f;
  float q = -2.168681491e-05f;
  q = q * c + 6.181665109e-05f;
  q = q * c - 4.309150581e-04f;
  q = q * c + 2.166522698e-03f;
  q = q * c - 1.085349944e-02f;
  q = q * c - 9.438918401e-01f;
  q = q * c - 5.352680614e+00f;
  q = q * c - 7.806815304e+00f;
  const float large = std::copysign(1.0f - exp(q), x);
  return a < 1.0f ? s * x : large;
}

// x = q (pi / 2) + r, |r| <= pi / 4, exactly enough in double for |x| < kTrigLimit.
inline constexpr float kTrigLimit = 2147483648.0f;
struct Quadrant {
  double r;
  std::int64_t q;
};
inline Quadrant quadrant(float x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  const auto d = static_cast<double>(x);
  const double t = d * 0x1.45f306dc9c883p-1 + kMagic;
  const double n = t - kMagic;
  return {((d - n * 0x1.921fbp+0) - n * 0x1.5110bp-22) - n * 0x1.18469898cc517p-44,
          std::bit_cast<std::int64_t>(t)};
}
inline double sin_quarter(double r) {
  const double z = r * r;
  return r + r * z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 - z / 39916800))));
}
inline double cos_quarter(double r) {
  const double z = r * r;
  return 1 + z * (-0.5 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 - z / 3628800))));
}
inline float sin(float x) {
  const auto [r, q] = quadrant(x);
  const double v = (q & 1) != 0 ? cos_quarter(r) : sin_quarter(r);
  return static_cast<float>((q & 2) != 0 ? -v : v);
}
inline float cos(float x) {
  const auto [r, q] = quadrant(x);
  const double v = (q & 1) != 0 ? sin_quarter(r) : cos_quarter(r);
  return static_cast<float>(((q + 1) & 2) != 0 ? -v : v);
}
inline float tan(float x) {
  const auto [r, q] = quadrant(x);
  const double s = sin_quarter(r), c = cos_quarter(r);
  return static_cast<float>((q & 1) != 0 ? -c / s : s / c);
}

}  // namespace f32

template <typename T>
inline T square(T x) {
  return static_cast<T>(x * x);
}
template <typename T>
inline T abs(T x) {
  if constexpr (std::floating_point<T>)
    return std::fabs(x);
  else
    return x < T(0) ? static_cast<T>(T(0) - x) : x;
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
  if constexpr (std::is_same_v<T, float>)
    return f32::exp(x);
  else
    return std::exp(x);
}
template <typename T>
inline T expm1(T x) {
  if constexpr (std::is_same_v<T, float>)
    return f32::expm1(x);
  else
    return std::expm1(x);
}
template <typename T>
inline T log(T x) {
  if constexpr (std::is_same_v<T, float>)
    return f32::log(x);
  else
    return std::log(x);
}
template <typename T>
inline T log1p(T x) {
  if constexpr (std::is_same_v<T, float>)
    return f32::log1p(x);
  else
    return std::log1p(x);
}
template <typename T>
inline T sin(T x) {
  if constexpr (std::is_same_v<T, float>)
    return std::fabs(x) < f32::kTrigLimit ? f32::sin(x) : std::sin(x);
  else
    return std::sin(x);
}
template <typename T>
inline T cos(T x) {
  if constexpr (std::is_same_v<T, float>)
    return std::fabs(x) < f32::kTrigLimit ? f32::cos(x) : std::cos(x);
  else
    return std::cos(x);
}
template <typename T>
inline T tan(T x) {
  if constexpr (std::is_same_v<T, float>)
    return std::fabs(x) < f32::kTrigLimit ? f32::tan(x) : std::tan(x);
  else
    return std::tan(x);
}
template <typename T>
inline T tanh(T x) {
  if constexpr (std::is_same_v<T, float>)
    return f32::tanh(x);
  else
    return std::tanh(x);
}
template <typename T>
inline T erf(T x) {
  if constexpr (std::is_same_v<T, float>)
    return f32::erf(x);
  else
    return std::erf(x);
}
template <typename T>
inline T pow(T a, T b) {
  return std::pow(a, b);
}
template <typename T>
inline T sigmoid(T x) {
  const T z = exp(-abs(x));  // never overflows
  const T y = T(1) / (T(1) + z);
  return x < T(0) ? z * y : y;
}
template <typename T>
inline T silu(T x) {
  return x * sigmoid(x);
}
template <typename T>
inline T softplus(T x) {
  return maximum(x, T(0)) + log1p(exp(-abs(x)));
}
template <typename T>
inline T gelu(T x) {
  return T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752440)));
}
// And its derivative.
template <typename T>
inline T gelu_slope(T x) {
  return T(0.5) * (T(1) + erf(x * T(0.70710678118654752440))) +
         x * (T(0.39894228040143267794) * exp(T(-0.5) * x * x));
}
// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
template <typename T>
inline T gelu_tanh(T x) {
  return x / (T(1) + exp(T(-1.5957691216057307117) * (x + T(0.044715) * x * x * x)));
}
template <typename T>
inline T gelu_tanh_slope(T x) {
  const T s = T(1) / (T(1) + exp(T(-1.5957691216057307117) * (x + T(0.044715) * x * x * x)));
  return s + x * (s * (T(1) - s)) * (T(1.5957691216057307117) + T(0.21406444881780073) * x * x);
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
// Towards zero; beyond the integers their ends, NaN 0: C++ leaves these undefined.
template <std::integral To, std::floating_point From>
inline To to_integer(From x) {
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  // The first value too large: a power of two, so exact in every float type.
  constexpr From high = static_cast<From>(To{1} << (std::numeric_limits<To>::digits - 1)) * From(2);
  if (x != x) return 0;
  if (x <= low) return std::numeric_limits<To>::min();
  return x >= high ? std::numeric_limits<To>::max() : static_cast<To>(x);
}

}  // namespace tidemark::formulas

// Their short name where they are used; in tidemark itself that is a function on Tensors.
namespace tidemark::kernels {
namespace scalar = formulas;
}
namespace tidemark::tape {
namespace scalar = formulas;
}
