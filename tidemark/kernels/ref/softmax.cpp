// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/kernels/cpu/bad_index.h"
#include "tidemark/kernels/for_floats.h"
#include "tidemark/kernels/ref/rows.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// NaN where there is one.
template <typename S>
double greatest(const S* x, I n) {
  double most = -kInfinity;
  for (I j = 0; j < n && !std::isnan(most); ++j)
    most = std::isnan(number(x[j])) ? number(x[j]) : std::max(most, number(x[j]));
  return most;
}
// log(sum(exp(x))); the greatest is taken out first, so that nothing overflows.
template <typename S>
double log_sum(const S* x, I n) {
  const double most = greatest(x, n);
  if (most == -kInfinity) return most;
  double sum = 0;
  for (I j = 0; j < n; ++j) sum += std::exp(number(x[j]) - most);
  return most + std::log(sum);
}

// f<S>(operands, row) for every row.
template <typename F>
std::unique_ptr<Kernel> by_rows(const KernelSpec& spec, F f) {
  return for_floats(spec.in[0].type.dtype, 0, [r = Rows(spec.in[0]), f]<typename S>(const Operands& o) {
    for (I i = 0; i < r.count; ++i) f.template operator()<S>(o, i, r.length);
  });
}

}  // namespace

std::unique_ptr<Kernel> softmax_reference(const KernelSpec& spec) {
  return by_rows(spec, []<typename S>(const Operands& o, I i, I n) {
    const S* x = o.input<S>(0) + i * n;
    const double shift = log_sum(x, n);
    for (I j = 0; j < n; ++j) o.output<S>(0)[i * n + j] = store<S>(std::exp(number(x[j]) - shift));
  });
}

std::unique_ptr<Kernel> log_softmax_reference(const KernelSpec& spec) {
  return by_rows(spec, []<typename S>(const Operands& o, I i, I n) {
    const S* x = o.input<S>(0) + i * n;
    const double shift = log_sum(x, n);
    for (I j = 0; j < n; ++j) o.output<S>(0)[i * n + j] = store<S>(number(x[j]) - shift);
  });
}

std::unique_ptr<Kernel> logsumexp_reference(const KernelSpec& spec) {
  return by_rows(spec, []<typename S>(const Operands& o, I i, I n) {
    const S* x = o.input<S>(0) + i * n;
    const double most = greatest(x, n);
    o.output<S>(0)[i] = store<S>(most == kInfinity ? most : log_sum(x, n));
  });
}

std::unique_ptr<Kernel> softmax_backward_reference(const KernelSpec& spec) {
  return by_rows(spec, []<typename S>(const Operands& o, I i, I n) {
    const S *y = o.input<S>(0) + i * n, *g = o.input<S>(1) + i * n;
    double dot = 0;
    for (I j = 0; j < n; ++j) dot += number(y[j]) * number(g[j]);
    for (I j = 0; j < n; ++j) o.output<S>(0)[i * n + j] = store<S>(number(y[j]) * (number(g[j]) - dot));
  });
}

std::unique_ptr<Kernel> log_softmax_backward_reference(const KernelSpec& spec) {
  return by_rows(spec, []<typename S>(const Operands& o, I i, I n) {
    const S *y = o.input<S>(0) + i * n, *g = o.input<S>(1) + i * n;
    double total = 0;
    for (I j = 0; j < n; ++j) total += number(g[j]);
    for (I j = 0; j < n; ++j)
      o.output<S>(0)[i * n + j] = store<S>(number(g[j]) - std::exp(number(y[j])) * total);
  });
}

std::unique_ptr<Kernel> cross_entropy_reference(const KernelSpec& spec) {
  const I ignore = spec.attrs.integer("ignore");
  const Indices labels(spec.in[1].type.dtype);
  return by_rows(spec, [ignore, labels]<typename S>(const Operands& o, I i, I n) {
    const S* x = o.input<S>(0) + i * n;
    const double shift = log_sum(x, n);
    o.output<Wide<S>>(1)[i] = static_cast<Wide<S>>(shift);
    o.output<Wide<S>>(0)[i] = 0;
    const I label = labels.at(o.in[1], i);
    if (label == ignore) return;
    if (label < 0 || label >= n) refuse_label("cross_entropy", label, i, n);
    o.output<Wide<S>>(0)[i] = static_cast<Wide<S>>(shift - number(x[label]));
  });
}

std::unique_ptr<Kernel> cross_entropy_backward_reference(const KernelSpec& spec) {
  const I ignore = spec.attrs.integer("ignore");
  const Indices labels(spec.in[1].type.dtype);
  return by_rows(spec, [ignore, labels]<typename S>(const Operands& o, I i, I n) {
    const S* x = o.input<S>(0) + i * n;
    const I label = labels.at(o.in[1], i);
    const double shift = number(o.input<Wide<S>>(2)[i]);
    const double g = label == ignore || label < 0 || label >= n ? 0 : number(o.input<Wide<S>>(3)[i]);
    for (I j = 0; j < n; ++j) {
      const double dy = std::exp(number(x[j]) - shift) - (j == label ? 1 : 0);
      o.output<S>(0)[i * n + j] = store<S>(g == 0 ? 0 : g * dy);
    }
  });
}

}  // namespace tidemark::kernels
