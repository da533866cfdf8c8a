// What batch normalisation sees of its array: (N, C, …) as lines of channels, however it lies. The kinds of row norms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

struct NormKind {
  bool centred = true;  // the mean is taken away (layer norm), or not (rms norm)
  bool affine = true;   // scale, and shift where centred
};

struct Channels {
  std::int64_t outer = 0, channels = 0, inner = 0;  // N, C, and the product of the rest
  // Whether channels are adjacent in memory: outer * inner rows of them. Else dense row-major.
  bool last = false;
  std::int64_t rows() const { return outer * inner; }
  // Position of element (outer, channel, inner).
  std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t i) const {
    return last ? (n * inner + i) * channels + c : (n * channels + c) * inner + i;
  }
};

// Of array 0 of inputs and outputs, which lies as the other arrays of its shape do.
inline Channels channels_of(const KernelSpec& spec) {
  const Value& v = spec.in[0];
  for (const auto* arrays : {&spec.in, &spec.out}) {
    for (const Value& other : *arrays)
      TIDEMARK_CHECK(other.type.shape != v.type.shape || other.layout.strides == v.layout.strides);
  }
  const Shape& shape = v.type.shape;
  Channels c{shape[0], shape[1], 1, shape.rank() == 2};
  for (int i = 2; i < shape.rank(); ++i) c.inner *= shape[i];
  if (!v.layout.strides.empty() && v.layout.strides != row_major_strides(shape)) c.last = true;
  if (c.inner == 1) c.last = true;
  return c;
}

}  // namespace tidemark::kernels
