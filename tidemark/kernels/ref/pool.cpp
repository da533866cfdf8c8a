// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/pool.h"

#include <cmath>

#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/cpu/bad_index.h"
#include "tidemark/kernels/pool_shape.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

I at(const std::array<I, 4>& strides, I n, I c, I h, I w) {
  return n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3];
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

// f(n, c, row, column) over rows x columns of every plane.
template <typename F>
void each(const Pool& p, I rows, I columns, F&& f) {
  for (I n = 0; n < p.n; ++n) {
    for (I c = 0; c < p.c; ++c) {
      for (I h = 0; h < rows; ++h) {
        for (I w = 0; w < columns; ++w) f(n, c, h, w);
      }
    }
  }
}

std::array<I, 4> strides4(const Value& v) {
  std::array<I, 4> result;
  const auto strides = strides_of(v.type.shape, v.layout);
  std::copy(strides.begin(), strides.end(), result.begin());
  return result;
}

}  // namespace

std::unique_ptr<Kernel> max_pool2d_reference(const KernelSpec& spec) {
  const Pool p = pool_of(spec.in[0], spec.out[0], spec.attrs);
  const auto index_strides = strides4(spec.out[1]);
  return for_floats(p.dtype, [&]<typename T>() {
    return make_kernel(0, [p, index_strides](const Operands& o) {
      const T* x = o.input<T>(0);
      each(p, p.rows.out, p.columns.out, [&](I n, I c, I oh, I ow) {
        const Window rows = p.rows.window(oh), columns = p.columns.window(ow);
        I best = rows.begin * p.columns.in + columns.begin;
        auto largest = load(x[at(p.x, n, c, rows.begin, columns.begin)]);
        for (I h = rows.begin; h < rows.end; ++h) {
          for (I w = columns.begin; w < columns.end; ++w) {
            const auto v = load(x[at(p.x, n, c, h, w)]);
            if (v > largest || (std::isnan(v) && !std::isnan(largest))) {
              largest = v;
              best = h * p.columns.in + w;
            }
          }
        }
        o.output<T>(0)[at(p.y, n, c, oh, ow)] = store<T>(largest);
        o.output<std::int32_t>(1)[at(index_strides, n, c, oh, ow)] = static_cast<std::int32_t>(best);
      });
    });
  });
}

std::unique_ptr<Kernel> max_unpool2d_reference(const KernelSpec& spec) {
  const Pool p = pool_of(spec.out[0], spec.in[0], {});
  const auto index_strides = strides4(spec.in[1]);
  return for_floats(p.dtype, [&]<typename T>() {
    return make_kernel(0, [p, index_strides](const Operands& o) {
      T* y = o.output<T>(0);
      each(p, p.rows.in, p.columns.in, [&](I n, I c, I h, I w) { y[at(p.x, n, c, h, w)] = store<T>(0); });
      each(p, p.rows.out, p.columns.out, [&](I n, I c, I oh, I ow) {
        const I index = o.input<std::int32_t>(1)[at(index_strides, n, c, oh, ow)];
        if (index < 0 || index >= p.rows.in * p.columns.in)
          bad_index("max_unpool2d", index, p.rows.in * p.columns.in);
        T& to = y[at(p.x, n, c, index / p.columns.in, index % p.columns.in)];
        to = store<T>(load(to) + load(o.input<T>(0)[at(p.y, n, c, oh, ow)]));
      });
    });
  });
}

std::unique_ptr<Kernel> pool_gather_reference(const KernelSpec& spec) {
  const Pool p = pool_of(spec.in[0], spec.out[0], {});
  const auto index_strides = strides4(spec.in[1]);
  return for_floats(p.dtype, [&]<typename T>() {
    return make_kernel(0, [p, index_strides](const Operands& o) {
      each(p, p.rows.out, p.columns.out, [&](I n, I c, I oh, I ow) {
        const I index = o.input<std::int32_t>(1)[at(index_strides, n, c, oh, ow)];
        if (index < 0 || index >= p.rows.in * p.columns.in)
          bad_index("max_pool2d_gather", index, p.rows.in * p.columns.in);
        o.output<T>(0)[at(p.y, n, c, oh, ow)] =
            o.input<T>(0)[at(p.x, n, c, index / p.columns.in, index % p.columns.in)];
      });
    });
  });
}

std::unique_ptr<Kernel> avg_pool2d_reference(const KernelSpec& spec) {
  const Pool p = pool_of(spec.in[0], spec.out[0], spec.attrs);
  return for_floats(p.dtype, [&]<typename T>() {
    return make_kernel(0, [p](const Operands& o) {
      each(p, p.rows.out, p.columns.out, [&](I n, I c, I oh, I ow) {
        const Window rows = p.rows.window(oh), columns = p.columns.window(ow);
        double sum = 0;
        for (I h = rows.begin; h < rows.end; ++h) {
          for (I w = columns.begin; w < columns.end; ++w)
            sum += static_cast<double>(load(o.input<T>(0)[at(p.x, n, c, h, w)]));
        }
        o.output<T>(0)[at(p.y, n, c, oh, ow)] = store<T>(sum / p.divisor(rows, columns));
      });
    });
  });
}

std::unique_ptr<Kernel> avg_pool2d_backward_reference(const KernelSpec& spec) {
  const Pool p = pool_of(spec.out[0], spec.in[0], spec.attrs);
  return for_floats(p.dtype, [&]<typename T>() {
    return make_kernel(0, [p](const Operands& o) {
      each(p, p.rows.in, p.columns.in, [&](I n, I c, I h, I w) {
        const auto rows = p.rows.windows_of(h), columns = p.columns.windows_of(w);
        double sum = 0;
        for (I oh = rows[0]; oh < rows[1]; ++oh) {
          for (I ow = columns[0]; ow < columns[1]; ++ow) {
            sum += static_cast<double>(load(o.input<T>(0)[at(p.y, n, c, oh, ow)])) /
                   p.divisor(p.rows.window(oh), p.columns.window(ow));
          }
        }
        o.output<T>(0)[at(p.x, n, c, h, w)] = store<T>(sum);
      });
    });
  });
}

}  // namespace tidemark::kernels
