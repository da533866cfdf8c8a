// The op of fused chains, for the pass that makes them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

// A chain alone, and one that ends in reductions too: the first may overwrite what it reads, element by element.
TIDEMARK_API extern const Op fused_op;
TIDEMARK_API extern const Op fused_fold_op;

}  // namespace tidemark
