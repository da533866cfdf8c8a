// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/norm.h"

#include <cmath>

#include "tidemark/kernels/for_floats.h"
#include "tidemark/kernels/ref/rows.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;
template <typename S>
void forward(const Operands& o, const Rows& r, NormKind kind, double epsilon) {
  const I n = r.length;
  for (I i = 0; i < r.count; ++i) {
    const S* x = o.input<S>(0) + i * n;
    double mean = 0, square = 0;
    for (I j = 0; j < n && kind.centred; ++j) mean += number(x[j]) / static_cast<double>(n);
    for (I j = 0; j < n; ++j) square += (number(x[j]) - mean) * (number(x[j]) - mean);
    const double rstd = 1 / std::sqrt(square / static_cast<double>(n) + epsilon);
    if (kind.centred) o.output<Wide<S>>(1)[i] = static_cast<Wide<S>>(mean);
    o.output<Wide<S>>(kind.centred ? 2 : 1)[i] = static_cast<Wide<S>>(rstd);
    for (I j = 0; j < n; ++j) {
      const double scale = kind.affine ? number(o.input<S>(1)[j]) : 1;
      const double shift = kind.affine && kind.centred ? number(o.input<S>(2)[j]) : 0;
      o.output<S>(0)[i * n + j] = store<S>((number(x[j]) - mean) * rstd * scale + shift);
    }
  }
}

template <typename S>
void backward(const Operands& o, const Rows& r, NormKind kind) {
  const I n = r.length;
  const S *g = o.input<S>(0), *x = o.input<S>(1);
  const std::size_t statistics = kind.affine ? 3 : 2;
  const auto mean = [&](I i) { return kind.centred ? number(o.input<Wide<S>>(statistics)[i]) : 0.0; };
  const auto rstd = [&](I i) { return number(o.input<Wide<S>>(statistics + (kind.centred ? 1 : 0))[i]); };
  const auto normal = [&](I i, I j) { return (number(x[i * n + j]) - mean(i)) * rstd(i); };
  // First: the gradient of x may take the place of an input.
  for (I j = 0; j < n && kind.affine; ++j) {
    double dscale = 0, dshift = 0;
    for (I i = 0; i < r.count; ++i) {
      dscale += number(g[i * n + j]) * normal(i, j);
      dshift += number(g[i * n + j]);
    }
    o.output<S>(1)[j] = store<S>(dscale);
    if (kind.centred) o.output<S>(2)[j] = store<S>(dshift);
  }
  for (I i = 0; i < r.count; ++i) {
    const auto scaled = [&](I j) {
      return number(g[i * n + j]) * (kind.affine ? number(o.input<S>(2)[j]) : 1);
    };
    double a = 0, b = 0;
    for (I j = 0; j < n; ++j) {
      if (kind.centred) a += scaled(j) / static_cast<double>(n);
      b += scaled(j) * normal(i, j) / static_cast<double>(n);
    }
    for (I j = 0; j < n; ++j) {
      o.output<S>(0)[i * n + j] = store<S>(rstd(i) * (scaled(j) - a - normal(i, j) * b));
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> norm_forward_reference(const KernelSpec& spec, NormKind kind) {
  const double epsilon = spec.attrs.number("epsilon");
  return for_floats(spec.in[0].type.dtype, 0,
                    [r = Rows(spec.in[0]), kind, epsilon]<typename S>(const Operands& o) {
                      forward<S>(o, r, kind, epsilon);
                    });
}

std::unique_ptr<Kernel> norm_backward_reference(const KernelSpec& spec, NormKind kind) {
  return for_floats(spec.in[0].type.dtype, 0,
                    [r = Rows(spec.in[1]), kind]<typename S>(const Operands& o) { backward<S>(o, r, kind); });
}

}  // namespace tidemark::kernels
