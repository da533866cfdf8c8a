// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/norm.h"

#include <algorithm>

#include "tidemark/kernels/cpu/rows.h"
#include "tidemark/kernels/for_floats.h"

namespace tidemark::kernels {
namespace {

struct Rows {
  std::int64_t count, length;
  int threads;
};
Rows rows_of(const KernelSpec& spec, std::size_t input) {
  const Shape& s = spec.in[input].type.shape;
  std::int64_t count = 1;
  for (int a = 0; a + 1 < s.rank(); ++a) count *= s[a];
  return {count, s[-1], spec.threads};
}

template <typename S, bool Centred, bool Affine>
void forward(const Operands& o, const Rows& r, double epsilon) {
  using C = Compute<S>;
  const std::int64_t n = r.length;
  const S* scale = Affine ? o.input<S>(1) : nullptr;
  const S* shift = Affine && Centred ? o.input<S>(2) : nullptr;
  parallel_for(r.threads, r.count, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const S* x = o.input<S>(0) + i * n;
      S* y = o.output<S>(0) + i * n;
      C mean = 0;
      if constexpr (Centred) {
        mean = static_cast<C>(row_sum<C>(n, [&](std::int64_t j) { return widen(x[j]); }) /
                              static_cast<double>(n));
        o.output<C>(1)[i] = mean;
      }
      const double square = row_sum<C>(n, [&](std::int64_t j) {
        const C d = widen(x[j]) - mean;
        return d * d;
      });
      const C rstd = static_cast<C>(1 / std::sqrt(square / static_cast<double>(n) + epsilon));
      o.output<C>(Centred ? 2 : 1)[i] = rstd;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < n; ++j) {
        C v = (widen(x[j]) - mean) * rstd;
        if constexpr (Affine) v *= widen(scale[j]);
        if constexpr (Affine && Centred) v += widen(shift[j]);
        y[j] = S(v);
      }
    }
  });
}

// Gradients of scale and shift are sums over rows: at most kChunks partial rows, folded in order.
constexpr std::int64_t kChunks = 16;
std::int64_t chunk_rows(const Rows& r) {
  return std::max<std::int64_t>(1, (r.count + kChunks - 1) / kChunks);
}
std::int64_t chunk_count(const Rows& r) {
  return r.count == 0 ? 0 : (r.count + chunk_rows(r) - 1) / chunk_rows(r);
}

template <typename S, bool Centred, bool Affine>
void backward(const Operands& o, const Rows& r) {
  using C = Compute<S>;
  const std::int64_t n = r.length;
  const S* ct = o.input<S>(0);
  const S* scale = Affine ? o.input<S>(2) : nullptr;
  const C* means = Centred ? o.input<C>(Affine ? 3 : 2) : nullptr;
  const C* rstds = o.input<C>(2 + (Affine ? 1 : 0) + (Centred ? 1 : 0));
  const std::int64_t rows = chunk_rows(r), chunks = chunk_count(r);
  auto* partial = static_cast<C*>(o.workspace);  // [chunk][scale, shift][n]
  parallel_for(r.threads, chunks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t c = first; c < last; ++c) {
      C* dscale = Affine ? partial + c * 2 * n : nullptr;
      C* dshift = Affine ? dscale + n : nullptr;
      if constexpr (Affine) {
        for (std::int64_t j = 0; j < 2 * n; ++j) dscale[j] = 0;
      }
      for (std::int64_t i = c * rows; i < std::min(r.count, (c + 1) * rows); ++i) {
        const S* x = o.input<S>(1) + i * n;
        const S* g = ct + i * n;
        S* dx = o.output<S>(0) + i * n;
        const C mean = Centred ? means[i] : C(0);
        const C rstd = rstds[i];
        const auto scaled = [&](std::int64_t j) {
          if constexpr (Affine)
            return widen(g[j]) * widen(scale[j]);
          else
            return widen(g[j]);
        };
        C a = 0;
        if constexpr (Centred) a = static_cast<C>(row_sum<C>(n, scaled) / static_cast<double>(n));
        const C b = static_cast<C>(
            row_sum<C>(n, [&](std::int64_t j) { return scaled(j) * ((widen(x[j]) - mean) * rstd); }) /
            static_cast<double>(n));
        if constexpr (Affine) {
#pragma GCC ivdep
          for (std::int64_t j = 0; j < n; ++j) dscale[j] += widen(g[j]) * ((widen(x[j]) - mean) * rstd);
          if constexpr (Centred) {
#pragma GCC ivdep
            for (std::int64_t j = 0; j < n; ++j) dshift[j] += widen(g[j]);
          }
        }
#pragma GCC ivdep
        for (std::int64_t j = 0; j < n; ++j) {
          const C xhat = (widen(x[j]) - mean) * rstd;
          dx[j] = S(rstd * ((scaled(j) - a) - xhat * b));
        }
      }
    }
  });
  if constexpr (Affine) {
    S* dscale = o.output<S>(1);
    S* dshift = Centred ? o.output<S>(2) : nullptr;
    constexpr std::int64_t kColumns = 256;
    parallel_for(r.threads, n, kColumns, [&](std::int64_t begin, std::int64_t end) {
      double s[kColumns] = {}, t[kColumns] = {};
      for (std::int64_t c = 0; c < chunks; ++c) {
        const C *const scales = partial + c * 2 * n + begin, *const shifts = scales + n;
#pragma GCC ivdep
        for (std::int64_t j = 0; j < end - begin; ++j) {
          s[j] += static_cast<double>(scales[j]);
          t[j] += static_cast<double>(shifts[j]);
        }
      }
      for (std::int64_t j = 0; j < end - begin; ++j) {
        dscale[begin + j] = S(static_cast<C>(s[j]));
        if constexpr (Centred) dshift[begin + j] = S(static_cast<C>(t[j]));
      }
    });
  }
}

template <typename F>
void by_kind(NormKind kind, F f) {
  if (kind.centred)
    kind.affine ? f.template operator()<true, true>() : f.template operator()<true, false>();
  else
    kind.affine ? f.template operator()<false, true>() : f.template operator()<false, false>();
}

}  // namespace

std::unique_ptr<Kernel> norm_forward(const KernelSpec& spec, NormKind kind) {
  const double epsilon = spec.attrs.number("epsilon");
  return for_floats(
      spec.in[0].type.dtype, 0, [r = rows_of(spec, 0), epsilon, kind]<typename S>(const Operands& o) {
        by_kind(kind, [&]<bool Centred, bool Affine>() { forward<S, Centred, Affine>(o, r, epsilon); });
      });
}

std::unique_ptr<Kernel> norm_backward(const KernelSpec& spec, NormKind kind) {
  const Rows r = rows_of(spec, 1);
  const Bytes partial = kind.affine ? chunk_count(r) * 2 * r.length * 8 : 0;
  return for_floats(spec.in[0].type.dtype, partial, [r, kind]<typename S>(const Operands& o) {
    by_kind(kind, [&]<bool Centred, bool Affine>() { backward<S, Centred, Affine>(o, r); });
  });
}

}  // namespace tidemark::kernels
