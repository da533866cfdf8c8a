// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/batch_norm.h"

#include <cmath>

#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/norm_shape.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

template <typename T, typename F>
double sum_of(const Channels& s, I c, F&& term) {
  double sum = 0;
  for (I n = 0; n < s.outer; ++n) {
    for (I i = 0; i < s.inner; ++i) sum += term(s.at(n, c, i));
  }
  return sum;
}

template <typename T>
double number(T x) {
  return static_cast<double>(load(x));
}

template <typename T>
void forward(const Channels& s, double epsilon, const Operands& o) {
  const T* x = o.input<T>(0);
  const auto count = static_cast<double>(s.rows());
  for (I c = 0; c < s.channels; ++c) {
    const double mean = sum_of<T>(s, c, [&](I at) { return number(x[at]); }) / count;
    const double variance =
        sum_of<T>(s, c, [&](I at) { return (number(x[at]) - mean) * (number(x[at]) - mean); }) / count;
    const double scale = number(o.input<T>(1)[c]) / std::sqrt(variance + epsilon);
    const double shift = number(o.input<T>(2)[c]);
    for (I n = 0; n < s.outer; ++n) {
      for (I i = 0; i < s.inner; ++i) {
        const I at = s.at(n, c, i);
        o.output<T>(0)[at] = store<T>((number(x[at]) - mean) * scale + shift);
      }
    }
    o.output<T>(1)[c] = store<T>(mean);
    o.output<T>(2)[c] = store<T>(variance);
  }
}

template <typename T>
void backward(const Channels& s, double epsilon, const Operands& o) {
  const T *g = o.input<T>(0), *x = o.input<T>(1);
  const auto count = static_cast<double>(s.rows());
  for (I c = 0; c < s.channels; ++c) {
    const double mean = number(o.input<T>(3)[c]);
    const double inverse = 1 / std::sqrt(number(o.input<T>(4)[c]) + epsilon);
    const auto normal = [&](I at) { return (number(x[at]) - mean) * inverse; };
    const double dshift = sum_of<T>(s, c, [&](I at) { return number(g[at]); });
    const double dscale = sum_of<T>(s, c, [&](I at) { return number(g[at]) * normal(at); });
    const double factor = number(o.input<T>(2)[c]) * inverse;
    for (I n = 0; n < s.outer; ++n) {
      for (I i = 0; i < s.inner; ++i) {
        const I at = s.at(n, c, i);
        o.output<T>(0)[at] =
            store<T>(factor * (number(g[at]) - dshift / count - normal(at) * dscale / count));
      }
    }
    o.output<T>(1)[c] = store<T>(dscale);
    o.output<T>(2)[c] = store<T>(dshift);
  }
}

std::unique_ptr<Kernel> prepare_plain(const KernelSpec& spec, bool back) {
  const Channels s = channels_of(spec);
  const double epsilon = spec.attrs.number("epsilon");
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() -> std::unique_ptr<Kernel> {
    if constexpr (is_float(dtype_of<T>())) {
      return make_kernel(0, [=](const Operands& o) {
        if (back)
          backward<T>(s, epsilon, o);
        else
          forward<T>(s, epsilon, o);
      });
    } else {
      return nullptr;
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> batch_norm_reference(const KernelSpec& spec) { return prepare_plain(spec, false); }
std::unique_ptr<Kernel> batch_norm_backward_reference(const KernelSpec& spec) {
  return prepare_plain(spec, true);
}

}  // namespace tidemark::kernels
