// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/attention_shape.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

template <typename T>
double dot(const T* a, const T* b, I n) {
  double sum = 0;
  for (I i = 0; i < n; ++i) sum += static_cast<double>(load(a[i])) * static_cast<double>(load(b[i]));
  return sum;
}

// Rows of doubles are kept in the workspace.
template <typename T>
std::unique_ptr<Kernel> forward(const KernelSpec& spec) {
  const Attention a = attention_of(spec.in[0], spec.in[1], spec.attrs);
  const auto sq = attention_strides(spec.in[0]), sk = attention_strides(spec.in[1]),
             sv = attention_strides(spec.in[2]);
  const auto sy = attention_strides(spec.out[0]);
  return make_kernel(a.size * 8, [=](const Operands& o) {
    using L = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T *q = o.input<T>(0), *k = o.input<T>(1), *v = o.input<T>(2);
    auto* const row = static_cast<double*>(o.workspace);
    for (I b = 0; b < a.batch; ++b) {
      for (I h = 0; h < a.heads; ++h) {
        const I g = a.group_of(h);
        for (I t = 0; t < a.queries; ++t) {
          const auto score = [&](I j) {
            return a.scale * dot(q + sq.at(b, t, h), k + sk.at(b, j, g), a.size);
          };
          double largest = -std::numeric_limits<double>::infinity(), sum = 0;
          for (I j = 0; j < a.seen(t); ++j) largest = std::max(largest, score(j));
          std::fill(row, row + a.size, 0.0);
          for (I j = 0; j < a.seen(t); ++j) {
            const double p = std::exp(score(j) - largest);
            sum += p;
            for (I d = 0; d < a.size; ++d) row[d] += p * static_cast<double>(load(v[sv.at(b, j, g) + d]));
          }
          for (I d = 0; d < a.size; ++d)
            o.output<T>(0)[sy.at(b, t, h) + d] = store<T>(sum > 0 ? row[d] / sum : 0.0);
          o.output<L>(1)[(b * a.queries + t) * a.heads + h] = static_cast<L>(largest + std::log(sum));
        }
      }
    }
  });
}

template <typename T>
std::unique_ptr<Kernel> backward(const KernelSpec& spec) {
  const Attention a = attention_of(spec.in[1], spec.in[2], spec.attrs);
  const auto sc = attention_strides(spec.in[0]), sq = attention_strides(spec.in[1]),
             sk = attention_strides(spec.in[2]), sv = attention_strides(spec.in[3]);
  const auto dq = attention_strides(spec.out[0]), dk = attention_strides(spec.out[1]),
             dv = attention_strides(spec.out[2]);
  const std::array<DType, 2> rows{spec.in[4].type.dtype, spec.in[5].type.dtype};
  return make_kernel(2 * a.size * 8, [=](const Operands& o) {
    const T *c = o.input<T>(0), *q = o.input<T>(1), *k = o.input<T>(2), *v = o.input<T>(3);
    const auto row_at = [&](std::size_t i, I at) {
      return dispatch(rows[i - 4],
                      [&]<typename L>() { return static_cast<double>(load(o.input<L>(i)[at])); });
    };
    auto *const row = static_cast<double*>(o.workspace), *const other = row + a.size;
    // {probability, gradient of the score} of query t of head h and key j.
    const auto pair = [&](I b, I h, I t, I j) {
      const I g = a.group_of(h), at = (b * a.queries + t) * a.heads + h;
      const double p =
          std::exp(a.scale * dot(q + sq.at(b, t, h), k + sk.at(b, j, g), a.size) - row_at(4, at));
      const double dp = dot(c + sc.at(b, t, h), v + sv.at(b, j, g), a.size);
      return std::pair(p, p * (dp - row_at(5, at)));
    };
    const auto add = [&](double* to, double factor, const T* from) {
      for (I d = 0; d < a.size; ++d) to[d] += factor * static_cast<double>(load(from[d]));
    };
    const auto write = [&](T* to, const double* from) {
      for (I d = 0; d < a.size; ++d) to[d] = store<T>(from[d]);
    };
    for (I b = 0; b < a.batch; ++b) {
      for (I h = 0; h < a.heads; ++h) {
        for (I t = 0; t < a.queries; ++t) {
          std::fill(row, row + a.size, 0.0);
          for (I j = 0; j < a.seen(t); ++j)
            add(row, a.scale * pair(b, h, t, j).second, k + sk.at(b, j, a.group_of(h)));
          write(o.output<T>(0) + dq.at(b, t, h), row);
        }
      }
      for (I g = 0; g < a.groups; ++g) {
        for (I j = 0; j < a.keys; ++j) {
          std::fill(row, row + 2 * a.size, 0.0);
          for (I h = g * (a.heads / a.groups); h < (g + 1) * (a.heads / a.groups); ++h) {
            for (I t = a.causal ? j : 0; t < a.queries; ++t) {
              const auto [p, ds] = pair(b, h, t, j);
              add(row, a.scale * ds, q + sq.at(b, t, h));
              add(other, p, c + sc.at(b, t, h));
            }
          }
          write(o.output<T>(1) + dk.at(b, j, g), row);
          write(o.output<T>(2) + dv.at(b, j, g), other);
        }
      }
    }
  });
}

template <typename F>
std::unique_ptr<Kernel> for_floats(DType dtype, F&& f) {
  return dispatch(dtype, [&]<typename T>() -> std::unique_ptr<Kernel> {
    if constexpr (is_float(dtype_of<T>()))
      return f.template operator()<T>();
    else
      return nullptr;
  });
}

}  // namespace

std::unique_ptr<Kernel> attention_reference(const KernelSpec& spec) {
  return for_floats(spec.in[0].type.dtype, [&]<typename T>() { return forward<T>(spec); });
}
std::unique_ptr<Kernel> attention_backward_reference(const KernelSpec& spec) {
  return for_floats(spec.in[0].type.dtype, [&]<typename T>() { return backward<T>(spec); });
}

}  // namespace tidemark::kernels
