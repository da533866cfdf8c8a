// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/softmax.h"

#include "tidemark/kernels/cpu/bad_index.h"
#include "tidemark/kernels/cpu/rows.h"
#include "tidemark/kernels/for_floats.h"

namespace tidemark::kernels {
namespace {

struct Rows {
  std::int64_t count, length;
  int threads;
};
Rows rows_of(const KernelSpec& spec, std::size_t input = 0) {
  const Shape& s = spec.in[input].type.shape;
  const std::int64_t length = s[-1];
  std::int64_t count = 1;
  for (int a = 0; a + 1 < s.rank(); ++a) count *= s[a];
  return {count, length, spec.threads};
}
template <typename F>
void each_row(const Rows& r, F f) {
  parallel_for(r.threads, r.count, row_grain(r.length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// The greatest of a row (0 where all are -infinity, so that differences are no NaN) and sum(exp(x - max)).
template <typename S>
struct RowScale {
  Compute<S> max;
  double sum;
};
template <typename S>
RowScale<S> row_scale(const S* x, std::int64_t n) {
  using C = Compute<S>;
  C m = row_max<C>(n, [&](std::int64_t j) { return widen(x[j]); });
  if (m == -std::numeric_limits<C>::infinity()) m = 0;
  return {m, row_sum<C>(n, [&](std::int64_t j) { return scalar::exp(widen(x[j]) - m); })};
}

}  // namespace

std::unique_ptr<Kernel> softmax(const KernelSpec& spec) {
  return for_floats(spec.in[0].type.dtype, 0, [r = rows_of(spec)]<typename S>(const Operands& o) {
    using C = Compute<S>;
    each_row(r, [&](std::int64_t i) {
      const S* x = o.input<S>(0) + i * r.length;
      S* y = o.output<S>(0) + i * r.length;
      if constexpr (std::is_same_v<S, C>) {
        C m = row_max<C>(r.length, [&](std::int64_t j) { return x[j]; });
        if (m == -std::numeric_limits<C>::infinity()) m = 0;
#pragma GCC ivdep
        for (std::int64_t j = 0; j < r.length; ++j) y[j] = scalar::exp(x[j] - m);
        const C scale = static_cast<C>(1 / row_sum<C>(r.length, [&](std::int64_t j) { return y[j]; }));
#pragma GCC ivdep
        for (std::int64_t j = 0; j < r.length; ++j) y[j] *= scale;
      } else {
        const auto [m, sum] = row_scale(x, r.length);
        const C scale = static_cast<C>(1 / sum);
        for (std::int64_t j = 0; j < r.length; ++j) y[j] = S(scalar::exp(widen(x[j]) - m) * scale);
      }
    });
  });
}

std::unique_ptr<Kernel> log_softmax(const KernelSpec& spec) {
  return for_floats(spec.in[0].type.dtype, 0, [r = rows_of(spec)]<typename S>(const Operands& o) {
    using C = Compute<S>;
    each_row(r, [&](std::int64_t i) {
      const S* x = o.input<S>(0) + i * r.length;
      S* y = o.output<S>(0) + i * r.length;
      const auto [m, sum] = row_scale(x, r.length);
      const C shift = static_cast<C>(std::log(sum));
#pragma GCC ivdep
      for (std::int64_t j = 0; j < r.length; ++j) y[j] = S((widen(x[j]) - m) - shift);
    });
  });
}

std::unique_ptr<Kernel> logsumexp(const KernelSpec& spec) {
  return for_floats(spec.in[0].type.dtype, 0, [r = rows_of(spec)]<typename S>(const Operands& o) {
    using C = Compute<S>;
    each_row(r, [&](std::int64_t i) {
      const auto [m, sum] = row_scale(o.input<S>(0) + i * r.length, r.length);
      // Of an infinite element the sum is no number, the logarithm of the sum is.
      const bool infinite = m == std::numeric_limits<C>::infinity();
      o.output<S>(0)[i] = S(infinite ? m : static_cast<C>(static_cast<double>(m) + std::log(sum)));
    });
  });
}

std::unique_ptr<Kernel> softmax_backward(const KernelSpec& spec) {
  return for_floats(spec.in[0].type.dtype, 0, [r = rows_of(spec)]<typename S>(const Operands& o) {
    using C = Compute<S>;
    each_row(r, [&](std::int64_t i) {
      const S* y = o.input<S>(0) + i * r.length;
      const S* g = o.input<S>(1) + i * r.length;
      S* d = o.output<S>(0) + i * r.length;
      const C dot =
          static_cast<C>(row_sum<C>(r.length, [&](std::int64_t j) { return widen(y[j]) * widen(g[j]); }));
#pragma GCC ivdep
      for (std::int64_t j = 0; j < r.length; ++j) d[j] = S(widen(y[j]) * (widen(g[j]) - dot));
    });
  });
}

std::unique_ptr<Kernel> log_softmax_backward(const KernelSpec& spec) {
  return for_floats(spec.in[0].type.dtype, 0, [r = rows_of(spec)]<typename S>(const Operands& o) {
    using C = Compute<S>;
    each_row(r, [&](std::int64_t i) {
      const S* y = o.input<S>(0) + i * r.length;
      const S* g = o.input<S>(1) + i * r.length;
      S* d = o.output<S>(0) + i * r.length;
      const C total = static_cast<C>(row_sum<C>(r.length, [&](std::int64_t j) { return widen(g[j]); }));
#pragma GCC ivdep
      for (std::int64_t j = 0; j < r.length; ++j) d[j] = S(widen(g[j]) - scalar::exp(widen(y[j])) * total);
    });
  });
}

std::unique_ptr<Kernel> cross_entropy(const KernelSpec& spec) {
  const std::int64_t ignore = spec.attrs.integer("ignore");
  const Indices labels(spec.in[1].type.dtype);
  return for_floats(spec.in[0].type.dtype, BadIndex::kBytes,
                    [r = rows_of(spec), ignore, labels]<typename S>(const Operands& o) {
                      using C = Compute<S>;
                      BadIndex bad(o.workspace);
                      each_row(r, [&](std::int64_t i) {
                        const S* x = o.input<S>(0) + i * r.length;
                        const auto [m, sum] = row_scale(x, r.length);
                        const C lse = static_cast<C>(static_cast<double>(m) + std::log(sum));
                        o.output<C>(1)[i] = lse;
                        const std::int64_t label = labels.at(o.in[1], i);
                        const bool counts = label != ignore;
                        if (counts && (label < 0 || label >= r.length)) {
                          bad.note(i);
                          return;
                        }
                        o.output<C>(0)[i] = counts ? lse - widen(x[label]) : C(0);
                      });
                      if (bad.found())
                        refuse_label("cross_entropy", labels.at(o.in[1], bad.position()), bad.position(),
                                     r.length);
                    });
}

std::unique_ptr<Kernel> cross_entropy_backward(const KernelSpec& spec) {
  const std::int64_t ignore = spec.attrs.integer("ignore");
  const Indices labels(spec.in[1].type.dtype);
  return for_floats(
      spec.in[0].type.dtype, 0, [r = rows_of(spec), ignore, labels]<typename S>(const Operands& o) {
        using C = Compute<S>;
        each_row(r, [&](std::int64_t i) {
          const S* x = o.input<S>(0) + i * r.length;
          S* d = o.output<S>(0) + i * r.length;
          const std::int64_t label = labels.at(o.in[1], i);
          const C lse = o.input<C>(2)[i];
          const C g = o.input<C>(3)[i];
          if (label == ignore || label < 0 || label >= r.length) {  // the forward op has refused the latter
            for (std::int64_t j = 0; j < r.length; ++j) d[j] = S(C(0));
            return;
          }
          const C at_label = g * (scalar::exp(widen(x[label]) - lse) - C(1));
#pragma GCC ivdep
          for (std::int64_t j = 0; j < r.length; ++j) d[j] = S(g * scalar::exp(widen(x[j]) - lse));
          d[label] = S(at_label);
        });
      });
}

}  // namespace tidemark::kernels
