// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/check_indices.h"

#include "tidemark/kernels/cpu/bad_index.h"

namespace tidemark {

void CheckIndices::run(const Operands& o) const {
  const kernels::Indices indices(type.dtype);
  for (std::int64_t k = 0, n = type.shape.numel(); k < n; ++k) {
    const std::int64_t index = indices.at(o.in[0], k);
    if ((index < 0 || index >= range.limit) && !(range.ignore && index == *range.ignore))
      range.refuse(op, index, k, range.limit);
  }
}

}  // namespace tidemark
