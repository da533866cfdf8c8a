// The op of fused chains, for the pass that makes them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

TIDEMARK_API extern const Op fused_op;

}  // namespace tidemark
