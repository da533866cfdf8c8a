// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/gather.h"

#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/cpu/bad_index.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

// An array as (outer, rows, inner) around an axis.
struct Extents {
  Extents(const Shape& s, int axis) : rows(s[axis]) {
    for (int a = 0; a < axis; ++a) outer *= s[a];
    for (int a = axis + 1; a < s.rank(); ++a) inner *= s[a];
  }
  I outer = 1, rows, inner = 1;
};

I checked(const char* op, I index, I rows) {
  if (index < 0 || index >= rows) bad_index(op, index, rows);
  return index;
}

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else
    return store<T>(load(a) + load(b));
}

}  // namespace

std::unique_ptr<Kernel> take_rows_reference(const KernelSpec& spec, const char* op, int axis) {
  const Extents e(spec.in[0].type.shape, axis);
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(0, [e, op, n = spec.in[1].type.shape.numel(),
                           indices = Indices(spec.in[1].type.dtype)](const Operands& o) {
      for (I out = 0; out < e.outer; ++out) {
        for (I k = 0; k < n; ++k) {
          const I row = checked(op, indices.at(o.in[1], k), e.rows);
          for (I i = 0; i < e.inner; ++i)
            o.output<T>(0)[(out * n + k) * e.inner + i] = o.input<T>(0)[(out * e.rows + row) * e.inner + i];
        }
      }
    });
  });
}

std::unique_ptr<Kernel> add_rows_reference(const KernelSpec& spec, const char* op, int axis) {
  const Extents e(spec.out[0].type.shape, axis);
  const bool onto = spec.in.size() == 3;
  const std::size_t first = onto ? 1 : 0;
  const Type& type = spec.in[first].type;
  return dispatch(spec.out[0].type.dtype, [&]<typename T>() {
    return make_kernel(
        0, [e, op, onto, first, n = type.shape.numel(), indices = Indices(type.dtype)](const Operands& o) {
          T* y = o.output<T>(0);
          for (I i = 0; i < e.outer * e.rows * e.inner; ++i) y[i] = onto ? o.input<T>(0)[i] : T{};
          for (I out = 0; out < e.outer; ++out) {
            for (I k = 0; k < n; ++k) {
              const I row = checked(op, indices.at(o.in[first], k), e.rows);
              for (I i = 0; i < e.inner; ++i) {
                T& to = y[(out * e.rows + row) * e.inner + i];
                to = sum(to, o.input<T>(first + 1)[(out * n + k) * e.inner + i]);
              }
            }
          }
        });
  });
}

std::unique_ptr<Kernel> gather_reference(const KernelSpec& spec, int axis) {
  const Extents e(spec.in[0].type.shape, axis), at(spec.in[1].type.shape, axis);
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(0, [e, n = at.rows, indices = Indices(spec.in[1].type.dtype)](const Operands& o) {
      for (I k = 0; k < e.outer * n * e.inner; ++k) {
        const I out = k / (n * e.inner), row = checked("gather", indices.at(o.in[1], k), e.rows);
        o.output<T>(0)[k] = o.input<T>(0)[(out * e.rows + row) * e.inner + k % e.inner];
      }
    });
  });
}

std::unique_ptr<Kernel> scatter_add_reference(const KernelSpec& spec, int axis) {
  const Extents e(spec.in[0].type.shape, axis), at(spec.in[1].type.shape, axis);
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(0, [e, n = at.rows, indices = Indices(spec.in[1].type.dtype)](const Operands& o) {
      T* y = o.output<T>(0);
      for (I i = 0; i < e.outer * e.rows * e.inner; ++i) y[i] = o.input<T>(0)[i];
      for (I k = 0; k < e.outer * n * e.inner; ++k) {
        const I out = k / (n * e.inner), row = checked("scatter_add", indices.at(o.in[1], k), e.rows);
        T& to = y[(out * e.rows + row) * e.inner + k % e.inner];
        to = sum(to, o.input<T>(2)[k]);
      }
    });
  });
}

std::unique_ptr<Kernel> one_hot_reference(const KernelSpec& spec) {
  const Type& type = spec.in[0].type;
  const I classes = spec.attrs.integer("classes");
  return dispatch(spec.out[0].type.dtype, [&]<typename T>() {
    return make_kernel(0,
                       [n = type.shape.numel(), classes, indices = Indices(type.dtype)](const Operands& o) {
                         for (I k = 0; k < n; ++k) {
                           const I hot = checked("one_hot", indices.at(o.in[0], k), classes);
                           for (I c = 0; c < classes; ++c)
                             o.output<T>(0)[k * classes + c] = c == hot ? T(1) : T{};
                         }
                       });
  });
}

}  // namespace tidemark::kernels
