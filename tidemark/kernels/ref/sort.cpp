// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/sort.h"

#include <algorithm>
#include <cmath>

#include "tidemark/base/parallel.h"

namespace tidemark::kernels {
namespace {

// As a number that compares: NaN counts as larger than everything.
template <typename T>
auto comparable(T x) {
  if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}
template <typename T>
bool before(T a, T b) {
  const auto x = comparable(a), y = comparable(b);
  if constexpr (std::is_floating_point_v<decltype(x)>) {
    if (std::isnan(x)) return false;
    if (std::isnan(y)) return true;
  }
  return x < y;
}

// Bottom-up merge sort of indices: stable, and unlike std::stable_sort it takes no memory of its own.
template <typename Before>
void merge_sort(std::int64_t* order, std::int64_t* spare, std::int64_t n, Before before_index) {
  std::int64_t *from = order, *to = spare;
  for (std::int64_t width = 1; width < n; width *= 2) {
    for (std::int64_t first = 0; first < n; first += 2 * width) {
      const std::int64_t middle = std::min(first + width, n), last = std::min(first + 2 * width, n);
      std::merge(from + first, from + middle, from + middle, from + last, to + first, before_index);
    }
    std::swap(from, to);
  }
  if (from != order) std::copy(from, from + n, order);
}

}  // namespace

std::unique_ptr<Kernel> sort(const KernelSpec& spec) {
  const std::int64_t n = spec.in[0].type.shape[-1];
  const std::int64_t rows = n > 0 ? spec.in[0].type.shape.numel() / n : 0;
  const bool descending = spec.attrs.flag("descending");
  return dispatch(spec.in[0].type.dtype, [&]<typename T>() {
    return make_kernel(rows * n * static_cast<Bytes>(sizeof(std::int64_t)), [=, threads = spec.threads](const Operands& o) {
      parallel_for(threads, rows, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* x = o.input<T>(0) + r * n;
          std::int64_t* order = o.output<std::int64_t>(1) + r * n;
          for (std::int64_t i = 0; i < n; ++i) order[i] = i;
          merge_sort(order, static_cast<std::int64_t*>(o.workspace) + r * n, n,
                     [&](std::int64_t a, std::int64_t b) { return descending ? before(x[b], x[a]) : before(x[a], x[b]); });
          for (std::int64_t i = 0; i < n; ++i) o.output<T>(0)[r * n + i] = x[order[i]];
        }
      });
    });
  });
}

}  // namespace tidemark::kernels
