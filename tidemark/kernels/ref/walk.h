// Where element i (row-major) of an array that is broadcast to `domain` lies. For plain kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/graph.h"

namespace tidemark::kernels {

struct Walk {
  Walk(const Shape& d, const Value& value)
      : domain(d), dtype(value.type.dtype), size(size_of(dtype)), strides(d.sizes().size(), 0) {
    const std::vector<std::int64_t> own = strides_of(value.type.shape, value.layout);
    const int shift = d.rank() - value.type.shape.rank();
    for (int a = 0; a < value.type.shape.rank(); ++a) {
      if (value.type.shape[a] != 1)
        strides[static_cast<std::size_t>(a + shift)] = own[static_cast<std::size_t>(a)];
    }
  }
  std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (int a = domain.rank() - 1; a >= 0; --a) {
      at += i % domain[a] * strides[static_cast<std::size_t>(a)];
      i /= domain[a];
    }
    return at;
  }
  const void* at(const void* base, std::int64_t i) const {
    return static_cast<const std::byte*>(base) + offset(i) * size;
  }
  void* at(void* base, std::int64_t i) const { return static_cast<std::byte*>(base) + offset(i) * size; }

  Shape domain;
  DType dtype;
  Bytes size;
  std::vector<std::int64_t> strides;
};

}  // namespace tidemark::kernels
