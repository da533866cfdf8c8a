// Rule's zeros need the op that makes them, so they live here rather than in ir/.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/elementwise.h"

namespace tidemark {

Tensor Rule::ct(int i) const { return has_ct(i) ? seeds_[static_cast<std::size_t>(i)] : zeros_like(y(i)); }
Tensor Rule::dx(int i) const { return has_dx(i) ? seeds_[static_cast<std::size_t>(i)] : zeros_like(x(i)); }

}  // namespace tidemark
