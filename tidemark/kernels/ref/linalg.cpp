// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/linalg.h"

#include <cmath>
#include <cstring>

#include "tidemark/base/error.h"

namespace tidemark::kernels {
namespace {

struct Extents {
  std::int64_t batch = 1, n = 0, m = 0;  // matrices n x n, right sides n x m
};

Extents extents_of(const KernelSpec& spec) {
  const Shape& a = spec.in[0].type.shape;
  Extents e{.n = a[-1]};
  for (int i = 0; i + 2 < a.rank(); ++i) e.batch *= a[i];
  if (spec.in.size() > 1) e.m = spec.in[1].type.shape[-1];
  return e;
}

// f.template operator()<T>() for the two types that these kernels know; null for the others.
template <typename F>
std::unique_ptr<Kernel> for_floats(const KernelSpec& spec, F&& f) {
  switch (spec.in[0].type.dtype) {
    case DType::f64: return f.template operator()<double>();
    case DType::f32: return f.template operator()<float>();
    default: return nullptr;
  }
}

// L of (A + A^T) / 2 = L L^T, row by row (Cholesky–Banachiewicz).
template <typename T>
void factor(const T* a, T* l, std::int64_t n, std::int64_t which) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = (static_cast<double>(a[i * n + j]) + static_cast<double>(a[j * n + i])) / 2;
      for (std::int64_t k = 0; k < j; ++k) sum -= static_cast<double>(l[i * n + k]) * static_cast<double>(l[j * n + k]);
      if (i == j) {
        if (!(sum > 0)) fail(Error::Kind::data, "[cholesky] matrix {} is not positive definite: pivot {} is {}", which, i, sum);
        l[i * n + i] = static_cast<T>(std::sqrt(sum));
      } else {
        l[i * n + j] = static_cast<T>(sum / static_cast<double>(l[j * n + j]));
      }
    }
    for (std::int64_t j = i + 1; j < n; ++j) l[i * n + j] = 0;
  }
}

// x holds b and becomes op(A)^-1 b; `forward`: rows from the first to the last.
template <typename T>
void substitute(const T* a, T* x, const Extents& e, bool forward, bool transpose, bool unit, std::int64_t which) {
  for (std::int64_t step = 0; step < e.n; ++step) {
    const std::int64_t i = forward ? step : e.n - 1 - step;
    const T pivot = unit ? T(1) : a[i * e.n + i];
    if (pivot == T(0)) fail(Error::Kind::data, "[triangular_solve] matrix {} is singular: its diagonal is 0 at {}", which, i);
    for (std::int64_t c = 0; c < e.m; ++c) {
      double sum = static_cast<double>(x[i * e.m + c]);
      for (std::int64_t before = 0; before < step; ++before) {
        const std::int64_t k = forward ? before : e.n - 1 - before;
        sum -= static_cast<double>(transpose ? a[k * e.n + i] : a[i * e.n + k]) * static_cast<double>(x[k * e.m + c]);
      }
      x[i * e.m + c] = static_cast<T>(sum / static_cast<double>(pivot));
    }
  }
}

// Gaussian elimination with partial pivoting on a copy of A, applied to x as it goes.
template <typename T>
void eliminate(double* a, T* x, const Extents& e, std::int64_t which) {
  for (std::int64_t k = 0; k < e.n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < e.n; ++i) {
      if (std::abs(a[i * e.n + k]) > std::abs(a[pivot * e.n + k])) pivot = i;
    }
    if (!(std::abs(a[pivot * e.n + k]) > 0)) fail(Error::Kind::data, "[solve] matrix {} is singular: no pivot in column {}", which, k);
    if (pivot != k) {
      for (std::int64_t j = 0; j < e.n; ++j) std::swap(a[k * e.n + j], a[pivot * e.n + j]);
      for (std::int64_t c = 0; c < e.m; ++c) std::swap(x[k * e.m + c], x[pivot * e.m + c]);
    }
    for (std::int64_t i = k + 1; i < e.n; ++i) {
      const double factor = a[i * e.n + k] / a[k * e.n + k];
      if (factor == 0) continue;
      for (std::int64_t j = k + 1; j < e.n; ++j) a[i * e.n + j] -= factor * a[k * e.n + j];
      for (std::int64_t c = 0; c < e.m; ++c) x[i * e.m + c] = static_cast<T>(static_cast<double>(x[i * e.m + c]) - factor * static_cast<double>(x[k * e.m + c]));
    }
  }
  for (std::int64_t i = e.n - 1; i >= 0; --i) {
    for (std::int64_t c = 0; c < e.m; ++c) {
      double sum = static_cast<double>(x[i * e.m + c]);
      for (std::int64_t j = i + 1; j < e.n; ++j) sum -= a[i * e.n + j] * static_cast<double>(x[j * e.m + c]);
      x[i * e.m + c] = static_cast<T>(sum / a[i * e.n + i]);
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> cholesky(const KernelSpec& spec) {
  const Extents e = extents_of(spec);
  return for_floats(spec, [&]<typename T>() {
    return make_kernel(0, [e](const Operands& o) {
      for (std::int64_t b = 0; b < e.batch; ++b) factor(o.input<T>(0) + b * e.n * e.n, o.output<T>(0) + b * e.n * e.n, e.n, b);
    });
  });
}

std::unique_ptr<Kernel> triangular_solve(const KernelSpec& spec) {
  const Extents e = extents_of(spec);
  const bool lower = spec.attrs.flag("lower"), transpose = spec.attrs.flag("transpose"), unit = spec.attrs.flag("unit_diagonal");
  return for_floats(spec, [&]<typename T>() {
    return make_kernel(0, [=](const Operands& o) {
      const std::int64_t right = e.n * e.m;
      if (o.in[1] != o.out[0] && e.batch * right > 0) std::memcpy(o.out[0], o.in[1], static_cast<std::size_t>(e.batch * right) * sizeof(T));
      for (std::int64_t b = 0; b < e.batch; ++b) {
        substitute(o.input<T>(0) + b * e.n * e.n, o.output<T>(0) + b * right, e, lower != transpose, transpose, unit, b);
      }
    });
  });
}

std::unique_ptr<Kernel> lu_solve(const KernelSpec& spec) {
  const Extents e = extents_of(spec);
  return for_floats(spec, [&]<typename T>() {
    return make_kernel(e.n * e.n * static_cast<Bytes>(sizeof(double)), [e](const Operands& o) {
      const std::int64_t right = e.n * e.m;
      if (o.in[1] != o.out[0] && e.batch * right > 0) std::memcpy(o.out[0], o.in[1], static_cast<std::size_t>(e.batch * right) * sizeof(T));
      auto* copy = static_cast<double*>(o.workspace);
      for (std::int64_t b = 0; b < e.batch; ++b) {
        const T* a = o.input<T>(0) + b * e.n * e.n;
        for (std::int64_t i = 0; i < e.n * e.n; ++i) copy[i] = static_cast<double>(a[i]);
        eliminate(copy, o.output<T>(0) + b * right, e, b);
      }
    });
  });
}

}  // namespace tidemark::kernels
