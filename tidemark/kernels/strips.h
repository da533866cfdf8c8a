// A matrix in strips: 32 columns at a time, the rows of a strip one behind the other, so that a product with few rows reads
// it as one stream. `contiguous` makes it, matmul takes it as b; a value in this form is a packed weight of the account.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/bytes.h"
#include "tidemark/ir/shape.h"

namespace tidemark::kernels {

inline constexpr std::int64_t kStripWidth = 32;
inline constexpr const char* kStripsForm = "strips";

// Columns behind the last are there in memory, and mean nothing.
inline Layout strips_layout(const Type& matrix) {
  return {.blocked = kStripsForm,
          .blocked_bytes = matrix.shape[0] * round_up(matrix.shape[1], kStripWidth) * size_of(matrix.dtype)};
}
inline bool in_strips(const Layout& layout) { return layout.blocked == kStripsForm; }

}  // namespace tidemark::kernels
