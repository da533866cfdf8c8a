// Sizes and strides of an attention as its kernels see them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

struct Attention {
  // q (batch, queries, heads, size); k and v (batch, keys, groups, size).
  std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, groups = 0, size = 0;
  bool causal = false;
  double scale = 1;
  // Of an array (batch, time, head, size), in elements; along `size` elements are adjacent.
  struct Strides {
    std::int64_t batch = 0, time = 0, head = 0;
    std::int64_t at(std::int64_t b, std::int64_t t, std::int64_t h) const {
      return b * batch + t * time + h * head;
    }
  };
  std::int64_t group_of(std::int64_t head) const { return head / (heads / groups); }
  // Keys that query t sees: [0, seen).
  std::int64_t seen(std::int64_t t) const { return causal && t + 1 < keys ? t + 1 : keys; }
};

inline Attention attention_of(const Value& q, const Value& k, const Attrs& attrs) {
  Attention a;
  const Shape &sq = q.type.shape, &sk = k.type.shape;
  a.batch = sq[0], a.queries = sq[1], a.heads = sq[2], a.size = sq[3];
  a.keys = sk[1], a.groups = sk[2];
  a.causal = attrs.flag("causal");
  a.scale = attrs.number("scale");
  return a;
}

inline Attention::Strides attention_strides(const Value& v) {
  const auto s = strides_of(v.type.shape, v.layout);
  return {s[0], s[1], s[2]};
}

}  // namespace tidemark::kernels
