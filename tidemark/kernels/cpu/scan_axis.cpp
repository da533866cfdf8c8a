// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/scan_axis.h"

#include "tidemark/base/parallel.h"

namespace tidemark::kernels {
namespace {

struct Extents {
  std::int64_t outer = 1, n = 1, inner = 1;
  int threads = 1;
};
Extents extents_of(const KernelSpec& spec, int axis) {
  const Shape& s = spec.in[0].type.shape;
  Extents e{.threads = spec.threads};
  for (int a = 0; a < axis; ++a) e.outer *= s[a];
  e.n = s[axis];
  for (int a = axis + 1; a < s.rank(); ++a) e.inner *= s[a];
  return e;
}

// What elements are compared and added in.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, Bf16> || std::is_same_v<T, F16>, float, T>;

template <typename F>
void each_line(const Extents& e, F f) {
  parallel_for(e.threads, e.outer * e.inner,
               e.n >= 32768 ? 1
               : e.n <= 0   ? 32768
                            : 32768 / e.n,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t k = begin; k < end; ++k) f(k / e.inner * e.n * e.inner + k % e.inner, k);
               });
}

}  // namespace

// NaN counts as the greatest.
std::unique_ptr<Kernel> argmax(const KernelSpec& spec, int axis) {
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(0, [e = extents_of(spec, axis)](const Operands& o) {
      each_line(e, [&](std::int64_t first, std::int64_t line) {
        const T* x = o.input<T>(0) + first;
        std::int64_t best = 0;
        auto top = static_cast<Wide<T>>(x[0]);
        for (std::int64_t j = 1; j < e.n && top == top; ++j) {
          const auto v = static_cast<Wide<T>>(x[j * e.inner]);
          if (v > top || v != v) {
            best = j;
            top = v;
          }
        }
        o.output<std::int64_t>(0)[line] = best;
      });
    });
  });
}

std::unique_ptr<Kernel> cumsum(const KernelSpec& spec, int axis, bool rounded) {
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(0, [e = extents_of(spec, axis), rounded](const Operands& o) {
      const auto add_up = [&]<typename Sum>(Sum zero) {
        each_line(e, [&](std::int64_t first, std::int64_t) {
          const T* x = o.input<T>(0) + first;
          T* y = o.output<T>(0) + first;
          Sum sum = zero;
          for (std::int64_t j = 0; j < e.n; ++j) {
            sum = static_cast<Sum>(sum + static_cast<Sum>(static_cast<Wide<T>>(x[j * e.inner])));
            y[j * e.inner] = static_cast<T>(static_cast<Wide<T>>(sum));
          }
        });
      };
      // Minus zero: the one number that changes none it is added to.
      if constexpr (!is_float(dtype_of<T>()))
        add_up(std::int64_t{0});
      else if (rounded)
        add_up(static_cast<Wide<T>>(-0.0));
      else
        add_up(-0.0);
    });
  });
}

}  // namespace tidemark::kernels
