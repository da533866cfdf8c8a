// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/conv_shape.h"

#include <algorithm>

namespace tidemark::kernels {

Conv conv_of(const KernelSpec& spec, ConvResult result) {
  const Value& x = result == ConvResult::x ? spec.out[0] : spec.in[0];
  const Value& w = result == ConvResult::w ? spec.out[0] : spec.in[1];
  const Value& y = result == ConvResult::y ? spec.out[0] : result == ConvResult::x ? spec.in[0] : spec.in[1];
  Conv c;
  const Shape &sx = x.type.shape, &sw = w.type.shape, &sy = y.type.shape;
  c.n = sx[0], c.c = sx[1], c.h = sx[2], c.w = sx[3];
  c.o = sw[0], c.kh = sw[2], c.kw = sw[3];
  c.oh = sy[2], c.ow = sy[3];
  const auto &stride = spec.attrs.integers("stride"), &padding = spec.attrs.integers("padding"),
             &dilation = spec.attrs.integers("dilation");
  c.stride_h = stride[0], c.stride_w = stride[1];
  c.pad_h = padding[0], c.pad_w = padding[1];
  c.dilation_h = dilation[0], c.dilation_w = dilation[1];
  c.groups = spec.attrs.integer("groups");
  const auto xs = strides_of(sx, x.layout), ys = strides_of(sy, y.layout);
  std::copy(xs.begin(), xs.end(), c.x.begin());
  std::copy(ys.begin(), ys.end(), c.y.begin());
  c.dtype = x.type.dtype;
  return c;
}

bool channels_last(const Shape& shape, const std::array<std::int64_t, 4>& strides) {
  std::int64_t step = 1;
  for (const int axis : {1, 3, 2, 0}) {
    // The stride of an axis of size 1 means nothing.
    if (shape[axis] != 1 && strides[static_cast<std::size_t>(axis)] != step) return false;
    step *= shape[axis];
  }
  return true;
}

}  // namespace tidemark::kernels
