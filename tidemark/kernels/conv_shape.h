// Sizes and strides of a 2-d convolution as its kernels see them, the same for its three directions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// y = conv(x, w): which array is the result.
enum class ConvResult { y, x, w };

struct Conv {
  // x (n, c, h, w), y (n, o, oh, ow), weights (o, c / groups, kh, kw).
  std::int64_t n = 0, c = 0, h = 0, w = 0, o = 0, oh = 0, ow = 0, kh = 0, kw = 0;
  std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation_h = 1, dilation_w = 1, groups = 1;
  std::array<std::int64_t, 4> x{}, y{};  // strides in elements, of the axes as above
  DType dtype = DType::f32;

  std::int64_t group_c() const { return groups == 0 ? 0 : c / groups; }
  std::int64_t group_o() const { return groups == 0 ? 0 : o / groups; }
  bool depthwise() const { return groups == c && groups == o && groups > 1; }
  bool empty() const { return n * c * h * w == 0 || o * oh * ow == 0 || kh * kw == 0; }
  double flops() const {
    return 2.0 * static_cast<double>(n * o * oh * ow) * static_cast<double>(group_c() * kh * kw);
  }
};

// Inputs and output of the spec: y: (x, w) -> y; x: (y, w) -> x; w: (x, y) -> w.
Conv conv_of(const KernelSpec& spec, ConvResult result);

// Whether the array of 4 axes lies channels last, dense.
bool channels_last(const Shape& shape, const std::array<std::int64_t, 4>& strides);

}  // namespace tidemark::kernels
