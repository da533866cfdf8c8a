// Windows of a 2-d pooling as its kernels see them: fixed ones, or adaptive ones that share the input out
// evenly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

struct Window {
  std::int64_t begin, end;  // inside the input
  std::int64_t taps;        // with those in the padding
};

struct PoolAxis {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, padding = 0;
  bool adaptive = false;

  Window window(std::int64_t i) const {
    if (adaptive) {
      const Window w{i * in / out, ((i + 1) * in + out - 1) / out, 0};
      return {w.begin, w.end, w.end - w.begin};
    }
    const std::int64_t begin = i * stride - padding;
    // Taps beyond the padding do not exist (PyTorch's rule for the last window).
    const std::int64_t end = std::min(begin + kernel, in + padding);
    return {std::max<std::int64_t>(begin, 0), std::min(end, in), end - begin};
  }
  // The windows that contain input position `at`, half-open.
  std::array<std::int64_t, 2> windows_of(std::int64_t at) const {
    if (adaptive) return {at * out / in, ((at + 1) * out + in - 1) / in};
    const std::int64_t past = at + padding - kernel + 1;
    const std::int64_t first = past <= 0 ? 0 : (past + stride - 1) / stride;
    return {first, std::min(out, (at + padding) / stride + 1)};
  }
};

struct Pool {
  std::int64_t n = 0, c = 0;
  PoolAxis rows, columns;
  bool include_pad = true;
  std::array<std::int64_t, 4> x{}, y{};  // strides of the large array and of the pooled one
  DType dtype = DType::f32;

  double divisor(const Window& row, const Window& column) const {
    return static_cast<double>(include_pad ? row.taps * column.taps
                                           : (row.end - row.begin) * (column.end - column.begin));
  }
};

// `x`: the large array, `y`: the pooled one.
inline Pool pool_of(const Value& x, const Value& y, const Attrs& attrs) {
  Pool p;
  p.n = x.type.shape[0], p.c = x.type.shape[1];
  p.dtype = x.type.dtype;
  p.rows.in = x.type.shape[2], p.rows.out = y.type.shape[2];
  p.columns.in = x.type.shape[3], p.columns.out = y.type.shape[3];
  if (attrs.find("kernel") != nullptr) {
    const auto &kernel = attrs.integers("kernel"), &stride = attrs.integers("stride"),
               &padding = attrs.integers("padding");
    p.rows.kernel = kernel[0], p.rows.stride = stride[0], p.rows.padding = padding[0];
    p.columns.kernel = kernel[1], p.columns.stride = stride[1], p.columns.padding = padding[1];
    p.include_pad = attrs.integer("include_pad", 1) != 0;
  } else {
    p.rows.adaptive = p.columns.adaptive = true;
  }
  const auto xs = strides_of(x.type.shape, x.layout), ys = strides_of(y.type.shape, y.layout);
  std::copy(xs.begin(), xs.end(), p.x.begin());
  std::copy(ys.begin(), ys.end(), p.y.begin());
  return p;
}

}  // namespace tidemark::kernels
