// What the ops on images (N, C, H, W) share: the layouts their kernels take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

inline const std::vector<int> kChannelsLast{0, 2, 3, 1};

// Array i of the spec: its inputs, then its outputs.
inline const Value& array_of(const KernelSpec& spec, int i) {
  const auto at = static_cast<std::size_t>(i);
  return at < spec.in.size() ? spec.in[at] : spec.out[at - spec.in.size()];
}

// Row-major, or for arrays of 4 axes channels last; dense.
inline bool row_major_or_channels_last(const Value& v) {
  if (!v.layout.blocked.empty()) return false;
  if (v.layout.strides.empty() || v.layout.strides == row_major_strides(v.type.shape)) return true;
  return v.type.shape.rank() == 4 &&
         v.layout.strides == strides_of(v.type.shape, permuted_layout(v.type.shape, kChannelsLast));
}

inline bool accepts_channels_last(const KernelSpec& spec, int i) {
  return row_major_or_channels_last(array_of(spec, i));
}

}  // namespace tidemark
