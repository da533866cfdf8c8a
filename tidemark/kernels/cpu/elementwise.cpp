// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/elementwise.h"

#include <cstring>

#include "tidemark/base/scalar.h"
#include "tidemark/kernels/cpu/tile.h"

namespace tidemark::kernels::tiles {
namespace {

// The lambdas are stateless, so their type alone names the loop. An output may be one of the inputs, never a
// shifted one: iterations are independent.
template <typename T, typename F>
void loop1(const TileArgs& a) {
  const auto* x = static_cast<const T*>(a.in[0]);
  using R = decltype(F{}(T{}));
  auto* y = static_cast<R*>(a.out);
  const std::int64_t n = a.n;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = F{}(x[i]);
}
template <typename T, typename F>
void loop2(const TileArgs& a) {
  const auto* x = static_cast<const T*>(a.in[0]);
  const auto* z = static_cast<const T*>(a.in[1]);
  using R = decltype(F{}(T{}, T{}));
  auto* y = static_cast<R*>(a.out);
  const std::int64_t n = a.n;
  // A number is kept in a register of the processor: its tile would only push others out of the cache.
  if (std::is_floating_point_v<T> && a.uniform == 1 && n > 0) {
    const T c = x[0];
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = F{}(c, z[i]);
  } else if (std::is_floating_point_v<T> && a.uniform == 2 && n > 0) {
    const T c = z[0];
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = F{}(x[i], c);
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = F{}(x[i], z[i]);
  }
}
// A vector loop for arguments that the short formula covers; the few others again, by the whole one.
template <typename Short, typename Whole>
void trig_loop(const TileArgs& a) {
  const auto* x = static_cast<const float*>(a.in[0]);
  auto* y = static_cast<float*>(a.out);
  const std::int64_t n = a.n;
  alignas(64) float copy[kTile];  // y may be x
  std::memcpy(copy, x, static_cast<std::size_t>(n) * sizeof(float));
  int large = 0;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = Short{}(copy[i]);
    large |= static_cast<int>(!(std::fabs(copy[i]) < scalar::f32::kTrigLimit));
  }
  if (large == 0) return;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(std::fabs(copy[i]) < scalar::f32::kTrigLimit)) y[i] = Whole{}(copy[i]);
  }
}
template <typename Short, typename Whole>
TileFunction trig(DType d, Short, Whole) {
  return d == DType::f32 ? trig_loop<Short, Whole> : d == DType::f64 ? loop1<double, Whole> : nullptr;
}
template <typename T>
void where_loop(const TileArgs& a) {
  const auto* c = static_cast<const std::uint8_t*>(a.in[0]);
  const auto* x = static_cast<const T*>(a.in[1]);
  const auto* z = static_cast<const T*>(a.in[2]);
  auto* y = static_cast<T*>(a.out);
  const std::int64_t n = a.n;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? x[i] : z[i];
}
template <typename T>
void clamp_loop(const TileArgs& a) {
  const auto* x = static_cast<const T*>(a.in[0]);
  auto* y = static_cast<T*>(a.out);
  const auto low = static_cast<T>(a.params[0]), high = static_cast<T>(a.params[1]);
  const std::int64_t n = a.n;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = x[i] < low ? low : x[i];  // NaN passes both
    y[i] = v > high ? high : v;
  }
}
template <typename T>
void full_loop(const TileArgs& a) {
  auto* y = static_cast<T*>(a.out);
  const auto v = static_cast<T>(a.params[0]);
  for (std::int64_t i = 0; i < a.n; ++i) y[i] = v;
}
template <typename T>
void cast_loop(const TileArgs& a) {
  const auto to = static_cast<DType>(static_cast<int>(a.params[0]));
  convert_function(dtype_of<T>(), to == DType::boolean ? to : compute_dtype(to))(a.in[0], a.out, a.n);
}

template <typename F>
TileFunction floats(DType d, F) {
  return d == DType::f32 ? loop1<float, F> : d == DType::f64 ? loop1<double, F> : nullptr;
}
template <typename F>
TileFunction numbers(DType d, F) {
  return d == DType::i64   ? loop1<std::int64_t, F>
         : d == DType::i32 ? loop1<std::int32_t, F>
         : d == DType::u8  ? loop1<std::uint8_t, F>
                           : floats(d, F{});
}
template <typename F>
TileFunction floats2(DType d, F) {
  return d == DType::f32 ? loop2<float, F> : d == DType::f64 ? loop2<double, F> : nullptr;
}
template <typename F>
TileFunction numbers2(DType d, F) {
  return d == DType::i64   ? loop2<std::int64_t, F>
         : d == DType::i32 ? loop2<std::int32_t, F>
                           : floats2(d, F{});
}
template <typename F>
TileFunction all2(DType d, F) {
  return d == DType::u8 ? loop2<std::uint8_t, F> : numbers2(d, F{});
}

using Byte = std::uint8_t;

}  // namespace

TileFunction add(DType d) {
  return all2(d, [](auto a, auto b) { return static_cast<decltype(a)>(a + b); });
}
TileFunction sub(DType d) {
  return all2(d, [](auto a, auto b) { return static_cast<decltype(a)>(a - b); });
}
TileFunction mul(DType d) {
  return all2(d, [](auto a, auto b) { return static_cast<decltype(a)>(a * b); });
}
// Integers: towards zero; by zero gives 0, since a kernel cannot stop.
TileFunction div(DType d) {
  return all2(d, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_floating_point_v<T>)
      return a / b;
    else
      return static_cast<T>(b == 0 ? 0 : b == static_cast<T>(-1) ? T(0) - a : a / b);
  });
}
TileFunction pow(DType d) {
  return floats2(d, [](auto a, auto b) { return scalar::pow(a, b); });
}
TileFunction minimum(DType d) {
  return all2(d, [](auto a, auto b) { return scalar::minimum(a, b); });
}
TileFunction maximum(DType d) {
  return all2(d, [](auto a, auto b) { return scalar::maximum(a, b); });
}
TileFunction equal(DType d) {
  return all2(d, [](auto a, auto b) { return static_cast<Byte>(a == b); });
}
TileFunction not_equal(DType d) {
  return all2(d, [](auto a, auto b) { return static_cast<Byte>(a != b); });
}
TileFunction less(DType d) {
  return all2(d, [](auto a, auto b) { return static_cast<Byte>(a < b); });
}
TileFunction less_equal(DType d) {
  return all2(d, [](auto a, auto b) { return static_cast<Byte>(a <= b); });
}
TileFunction logical_and(DType d) {
  using F = decltype([](Byte a, Byte b) { return static_cast<Byte>(a & b); });
  return d == DType::u8 ? loop2<Byte, F> : nullptr;
}
TileFunction logical_or(DType d) {
  using F = decltype([](Byte a, Byte b) { return static_cast<Byte>(a | b); });
  return d == DType::u8 ? loop2<Byte, F> : nullptr;
}
TileFunction logical_not(DType d) {
  using F = decltype([](Byte a) { return static_cast<Byte>(a ^ 1); });
  return d == DType::u8 ? loop1<Byte, F> : nullptr;
}
TileFunction where(DType d) {
  switch (d) {
    case DType::f64:
      return where_loop<double>;
    case DType::f32:
      return where_loop<float>;
    case DType::i64:
      return where_loop<std::int64_t>;
    case DType::i32:
      return where_loop<std::int32_t>;
    default:
      return where_loop<Byte>;
  }
}
TileFunction clamp(DType d) {
  switch (d) {
    case DType::f64:
      return clamp_loop<double>;
    case DType::f32:
      return clamp_loop<float>;
    case DType::i64:
      return clamp_loop<std::int64_t>;
    case DType::i32:
      return clamp_loop<std::int32_t>;
    default:
      return clamp_loop<Byte>;
  }
}
TileFunction neg(DType d) {
  return numbers(d, [](auto x) { return static_cast<decltype(x)>(-x); });
}
TileFunction abs(DType d) {
  return numbers(d, [](auto x) { return scalar::abs(x); });
}
TileFunction sign(DType d) {
  return numbers(d, [](auto x) { return scalar::sign(x); });
}
TileFunction square(DType d) {
  return numbers(d, [](auto x) { return scalar::square(x); });
}
TileFunction relu(DType d) {
  return numbers(d, [](auto x) { return scalar::relu(x); });
}
TileFunction sqrt(DType d) {
  return floats(d, [](auto x) { return scalar::sqrt(x); });
}
TileFunction rsqrt(DType d) {
  return floats(d, [](auto x) { return scalar::rsqrt(x); });
}
TileFunction exp(DType d) {
  return floats(d, [](auto x) { return scalar::exp(x); });
}
TileFunction expm1(DType d) {
  return floats(d, [](auto x) { return scalar::expm1(x); });
}
TileFunction log(DType d) {
  return floats(d, [](auto x) { return scalar::log(x); });
}
TileFunction log1p(DType d) {
  return floats(d, [](auto x) { return scalar::log1p(x); });
}
TileFunction sin(DType d) {
  return trig(
      d, [](float x) { return scalar::f32::sin(x); }, [](auto x) { return scalar::sin(x); });
}
TileFunction cos(DType d) {
  return trig(
      d, [](float x) { return scalar::f32::cos(x); }, [](auto x) { return scalar::cos(x); });
}
TileFunction tan(DType d) {
  return trig(
      d, [](float x) { return scalar::f32::tan(x); }, [](auto x) { return scalar::tan(x); });
}
TileFunction tanh(DType d) {
  return floats(d, [](auto x) { return scalar::tanh(x); });
}
TileFunction sigmoid(DType d) {
  return floats(d, [](auto x) { return scalar::sigmoid(x); });
}
TileFunction erf(DType d) {
  return floats(d, [](auto x) { return scalar::erf(x); });
}
TileFunction gelu(DType d) {
  return floats(d, [](auto x) { return scalar::gelu(x); });
}
TileFunction gelu_tanh(DType d) {
  return floats(d, [](auto x) { return scalar::gelu_tanh(x); });
}
TileFunction gelu_slope(DType d) {
  return floats(d, [](auto x) { return scalar::gelu_slope(x); });
}
TileFunction gelu_tanh_slope(DType d) {
  return floats(d, [](auto x) { return scalar::gelu_tanh_slope(x); });
}
TileFunction silu(DType d) {
  return floats(d, [](auto x) { return scalar::silu(x); });
}
TileFunction softplus(DType d) {
  return floats(d, [](auto x) { return scalar::softplus(x); });
}
TileFunction floor(DType d) {
  return floats(d, [](auto x) { return scalar::floor(x); });
}
TileFunction round(DType d) {
  return floats(d, [](auto x) { return scalar::round(x); });
}
TileFunction copy(DType d) {
  const auto same = [](auto x) { return x; };
  return d == DType::u8 ? loop1<Byte, decltype(same)> : numbers(d, same);
}
TileFunction full(DType d) {
  switch (d) {
    case DType::f64:
      return full_loop<double>;
    case DType::f32:
      return full_loop<float>;
    case DType::i64:
      return full_loop<std::int64_t>;
    case DType::i32:
      return full_loop<std::int32_t>;
    default:
      return full_loop<Byte>;
  }
}
TileFunction cast(DType d) {
  switch (d) {
    case DType::f64:
      return cast_loop<double>;
    case DType::f32:
      return cast_loop<float>;
    case DType::i64:
      return cast_loop<std::int64_t>;
    case DType::i32:
      return cast_loop<std::int32_t>;
    default:
      return cast_loop<Byte>;
  }
}

}  // namespace tidemark::kernels::tiles
