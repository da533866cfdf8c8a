// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/fft.h"

#include <cmath>
#include <numbers>

namespace tidemark::kernels {
namespace {

using Complex = std::pair<double, double>;  // plain data: no hidden NaN handling in products

Complex operator*(Complex a, Complex b) { return {a.first * b.first - a.second * b.second, a.first * b.second + a.second * b.first}; }
Complex operator+(Complex a, Complex b) { return {a.first + b.first, a.second + b.second}; }
Complex operator-(Complex a, Complex b) { return {a.first - b.first, a.second - b.second}; }
Complex conj(Complex a) { return {a.first, -a.second}; }

Complex root(std::int64_t k, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Radix 2, decimation in time (Cooley & Tukey 1965); n a power of two.
struct PowerOfTwo {
  explicit PowerOfTwo(std::int64_t length) : n(length) {
    for (std::int64_t k = 0; k < n / 2; ++k) roots.push_back(root(k, n));
    reversed.resize(static_cast<std::size_t>(n), 0);
    for (std::int64_t i = 1; i < n; ++i) reversed[static_cast<std::size_t>(i)] = (reversed[static_cast<std::size_t>(i / 2)] | (i % 2 ? n : 0)) / 2;
  }
  void run(Complex* x) const {
    for (std::int64_t i = 0; i < n; ++i) {
      if (i < reversed[static_cast<std::size_t>(i)]) std::swap(x[i], x[reversed[static_cast<std::size_t>(i)]]);
    }
    for (std::int64_t half = 1; half < n; half *= 2) {
      const std::int64_t step = n / (2 * half);
      for (std::int64_t first = 0; first < n; first += 2 * half) {
        for (std::int64_t k = 0; k < half; ++k) {
          const Complex odd = roots[static_cast<std::size_t>(k * step)] * x[first + k + half];
          const Complex even = x[first + k];
          x[first + k] = even + odd;
          x[first + k + half] = even - odd;
        }
      }
    }
  }
  std::int64_t n;
  std::vector<Complex> roots;
  std::vector<std::int64_t> reversed;
};

// Any length as a convolution of a power of two (Bluestein 1970): jk = (j² + k² - (k - j)²) / 2.
struct AnyLength {
  explicit AnyLength(std::int64_t length) : n(length), inner(padded(length)) {
    chirp.resize(static_cast<std::size_t>(n));
    kernel.assign(static_cast<std::size_t>(inner.n), Complex{0, 0});
    for (std::int64_t k = 0; k < n; ++k) {
      // k² modulo 2n keeps the angle exact for long transforms.
      chirp[static_cast<std::size_t>(k)] = root(static_cast<std::int64_t>(static_cast<__int128>(k) * k % (2 * n)), 2 * n);
      kernel[static_cast<std::size_t>(k)] = conj(chirp[static_cast<std::size_t>(k)]);
      if (k > 0) kernel[static_cast<std::size_t>(inner.n - k)] = conj(chirp[static_cast<std::size_t>(k)]);
    }
    inner.run(kernel.data());
  }
  static std::int64_t padded(std::int64_t n) {
    std::int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
  }
  void run(Complex* x, Complex* work) const {
    for (std::int64_t k = 0; k < inner.n; ++k) work[k] = k < n ? x[k] * chirp[static_cast<std::size_t>(k)] : Complex{0, 0};
    inner.run(work);
    // The inverse transform is the forward one of the conjugate.
    for (std::int64_t k = 0; k < inner.n; ++k) work[k] = conj(work[k] * kernel[static_cast<std::size_t>(k)]);
    inner.run(work);
    const double scale = 1.0 / static_cast<double>(inner.n);
    for (std::int64_t k = 0; k < n; ++k) {
      const Complex y = conj(work[k]) * chirp[static_cast<std::size_t>(k)];
      x[k] = {y.first * scale, y.second * scale};
    }
  }
  std::int64_t n;
  PowerOfTwo inner;
  std::vector<Complex> chirp, kernel;
};

template <typename T, typename Transform>
std::unique_ptr<Kernel> rows(const KernelSpec& spec, std::int64_t work, Transform transform) {
  const std::int64_t n = spec.in[0].type.shape[-1];
  const std::int64_t count = n > 0 ? spec.in[0].type.shape.numel() / n : 0;
  const bool inverse = spec.attrs.flag("inverse");
  return make_kernel((n + work) * static_cast<Bytes>(sizeof(Complex)), [=](const Operands& o) {
    auto* x = static_cast<Complex*>(o.workspace);
    // The inverse by swapping the parts on the way in and out.
    const std::size_t re = inverse ? 1 : 0, im = inverse ? 0 : 1;
    const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t k = 0; k < n; ++k) x[k] = {static_cast<double>(o.input<T>(re)[r * n + k]), static_cast<double>(o.input<T>(im)[r * n + k])};
      transform(x, x + n);
      for (std::int64_t k = 0; k < n; ++k) {
        o.output<T>(re)[r * n + k] = static_cast<T>(x[k].first * scale);
        o.output<T>(im)[r * n + k] = static_cast<T>(x[k].second * scale);
      }
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> fft(const KernelSpec& spec) {
  const std::int64_t n = spec.in[0].type.shape[-1];
  const auto with = [&]<typename T>() -> std::unique_ptr<Kernel> {
    if (n > 0 && (n & (n - 1)) != 0) {
      AnyLength any(n);
      const std::int64_t work = any.inner.n;
      return rows<T>(spec, work, [any = std::move(any)](Complex* x, Complex* w) { any.run(x, w); });
    }
    return rows<T>(spec, 0, [power = PowerOfTwo(n)](Complex* x, Complex*) { power.run(x); });
  };
  switch (spec.in[0].type.dtype) {
    case DType::f64: return with.operator()<double>();
    case DType::f32: return with.operator()<float>();
    default: return nullptr;
  }
}

}  // namespace tidemark::kernels
