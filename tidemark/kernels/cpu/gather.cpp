// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/gather.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/parallel.h"
#include "tidemark/kernels/cpu/bad_index.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kGrain = 32768;

struct Extents {
  std::int64_t outer = 1, rows = 1, inner = 1;
};
Extents extents_of(const Shape& s, int axis) {
  Extents e;
  for (int a = 0; a < axis; ++a) e.outer *= s[a];
  e.rows = s[axis];
  for (int a = axis + 1; a < s.rank(); ++a) e.inner *= s[a];
  return e;
}

void check(const char* op, const BadIndex& bad, const Indices& indices, const void* data, std::int64_t rows) {
  if (bad.found()) bad_index(op, indices.at(data, bad.position()), rows);
}

// Storage types are added in f32.
template <typename T>
void add_to(T& sum, T x) {
  if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>)
    sum = T(static_cast<float>(sum) + static_cast<float>(x));
  else if constexpr (std::is_same_v<T, bool>)
    sum = sum || x;
  else
    sum = static_cast<T>(sum + x);
}

// Strips of the innermost axis for threads that must each see every index in order.
struct Strips {
  std::int64_t width, count;
};
Strips strips_of(std::int64_t inner, int threads) {
  const std::int64_t width = std::max<std::int64_t>(64, (inner + threads - 1) / std::max(threads, 1));
  return {width, std::max<std::int64_t>(1, (inner + width - 1) / width)};
}

}  // namespace

std::unique_ptr<Kernel> take_rows(const KernelSpec& spec, const char* op, int axis) {
  const Extents e = extents_of(spec.in[0].type.shape, axis);
  const std::int64_t n = spec.in[1].type.shape.numel();
  const Indices indices(spec.in[1].type.dtype);
  const Bytes row = e.inner * size_of(spec.in[0].type.dtype);
  const int threads = spec.threads;
  return make_kernel(BadIndex::kBytes, [=](const Operands& o) {
    BadIndex bad(o.workspace);
    const std::int64_t grain = std::max<std::int64_t>(1, 4 * kGrain / std::max<std::int64_t>(row, 1));
    parallel_for(threads, e.outer * n, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t at = indices.at(o.in[1], k % n);
        if (at < 0 || at >= e.rows)
          bad.note(k % n);
        else if (row > 0)
          std::memcpy(o.output<std::byte>(0) + k * row, o.input<std::byte>(0) + (k / n * e.rows + at) * row,
                      static_cast<std::size_t>(row));
      }
    });
    check(op, bad, indices, o.in[1], e.rows);
  });
}

namespace {

// Inputs from `first` on: indices, updates.
template <typename T>
void add_in_order(const Operands& o, std::size_t first, const Extents& e, std::int64_t n,
                  const Indices& indices, int threads, BadIndex& bad) {
  const Strips strips = strips_of(e.inner, threads);
  parallel_for(threads, e.outer * strips.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t out = item / strips.count, from = item % strips.count * strips.width;
      const std::int64_t to = std::min(e.inner, from + strips.width);
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t at = indices.at(o.in[first], k);
        if (at < 0 || at >= e.rows) {
          bad.note(k);
          continue;
        }
        T* y = o.output<T>(0) + (out * e.rows + at) * e.inner;
        const T* x = o.input<T>(first + 1) + (out * n + k) * e.inner;
#pragma GCC ivdep
        for (std::int64_t i = from; i < to; ++i) add_to(y[i], x[i]);
      }
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> add_rows(const KernelSpec& spec, const char* op, int axis) {
  const bool onto = spec.in.size() == 3;
  const std::size_t first = onto ? 1 : 0;
  const Extents e = extents_of(spec.out[0].type.shape, axis);
  const std::int64_t n = spec.in[first].type.shape.numel();
  const Indices indices(spec.in[first].type.dtype);
  const int threads = spec.threads;
  return dispatch(spec.out[0].type.dtype, [&]<typename T>() {
    return make_kernel(BadIndex::kBytes, [=](const Operands& o) {
      BadIndex bad(o.workspace);
      if (!onto || o.in[0] != o.out[0]) {
        parallel_for(threads, e.outer * e.rows * e.inner, kGrain, [&](std::int64_t begin, std::int64_t end) {
          const auto bytes = static_cast<std::size_t>(end - begin) * sizeof(T);
          if (onto)
            std::memcpy(static_cast<void*>(o.output<T>(0) + begin), o.input<T>(0) + begin, bytes);
          else
            std::memset(static_cast<void*>(o.output<T>(0) + begin), 0, bytes);
        });
      }
      add_in_order<T>(o, first, e, n, indices, threads, bad);
      check(op, bad, indices, o.in[first], e.rows);
    });
  });
}

std::unique_ptr<Kernel> gather(const KernelSpec& spec, int axis) {
  const Extents e = extents_of(spec.in[0].type.shape, axis);
  const std::int64_t n = spec.in[1].type.shape[axis];
  const Indices indices(spec.in[1].type.dtype);
  const int threads = spec.threads;
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(BadIndex::kBytes, [=](const Operands& o) {
      BadIndex bad(o.workspace);
      parallel_for(threads, e.outer * n * e.inner, kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
          const std::int64_t at = indices.at(o.in[1], k);
          if (at < 0 || at >= e.rows)
            bad.note(k);
          else
            o.output<T>(0)[k] = o.input<T>(0)[(k / (n * e.inner) * e.rows + at) * e.inner + k % e.inner];
        }
      });
      check("gather", bad, indices, o.in[1], e.rows);
    });
  });
}

std::unique_ptr<Kernel> scatter_add(const KernelSpec& spec, int axis) {
  const Extents e = extents_of(spec.in[0].type.shape, axis);
  const std::int64_t n = spec.in[1].type.shape[axis];
  const Indices indices(spec.in[1].type.dtype);
  const int threads = spec.threads;
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(BadIndex::kBytes, [=](const Operands& o) {
      BadIndex bad(o.workspace);
      if (o.out[0] != o.in[0]) {
        parallel_for(threads, e.outer * e.rows * e.inner, kGrain, [&](std::int64_t begin, std::int64_t end) {
          std::memcpy(o.output<T>(0) + begin, o.input<T>(0) + begin,
                      static_cast<std::size_t>(end - begin) * sizeof(T));
        });
      }
      const Strips strips = strips_of(e.inner, threads);
      const std::int64_t grain =
          std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, n * std::min(e.inner, strips.width)));
      parallel_for(threads, e.outer * strips.count, grain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t item = first; item < last; ++item) {
          const std::int64_t out = item / strips.count, from = item % strips.count * strips.width;
          const std::int64_t to = std::min(e.inner, from + strips.width);
          for (std::int64_t k = 0; k < n; ++k) {
            for (std::int64_t i = from; i < to; ++i) {
              const std::int64_t position = (out * n + k) * e.inner + i;
              const std::int64_t at = indices.at(o.in[1], position);
              if (at < 0 || at >= e.rows)
                bad.note(position);
              else
                add_to(o.output<T>(0)[(out * e.rows + at) * e.inner + i], o.input<T>(2)[position]);
            }
          }
        }
      });
      check("scatter_add", bad, indices, o.in[1], e.rows);
    });
  });
}

std::unique_ptr<Kernel> one_hot(const KernelSpec& spec) {
  const std::int64_t n = spec.in[0].type.shape.numel(), classes = spec.attrs.integer("classes");
  const Indices indices(spec.in[0].type.dtype);
  const int threads = spec.threads;
  return dispatch(spec.out[0].type.dtype, [&]<typename T>() {
    return make_kernel(BadIndex::kBytes, [=](const Operands& o) {
      BadIndex bad(o.workspace);
      const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(classes, 1));
      parallel_for(threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
          T* y = o.output<T>(0) + k * classes;
          for (std::int64_t c = 0; c < classes; ++c) y[c] = T{};
          const std::int64_t at = indices.at(o.in[0], k);
          if (at < 0 || at >= classes)
            bad.note(k);
          else
            y[at] = T(1);
        }
      });
      check("one_hot", bad, indices, o.in[0], classes);
    });
  });
}

}  // namespace tidemark::kernels
