// Derivatives of ops with regions, for reverse and forward: the rules differentiate the region with the same two
// functions, so that what they write can be differentiated again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/ir/op.h"

namespace tidemark {

using DerivativeRule = Tensors (*)(const Rule&);
// The rule of an op, its own or the one for its regions; null where there is none.
DerivativeRule vjp_of(const Op& op);
DerivativeRule jvp_of(const Op& op);

// Of an op with regions in which something may not run again (ir/passes.h, repeatable): what that makes, and the states in which
// steps of loops begin, become further results, which derivatives take instead of running it once more. Behind the others; the
// count of a while_loop stays last.
TIDEMARK_API void record_unrepeatable(const Op& op, const Attrs& attrs, std::vector<Graph>& regions);

// Which values vary with `wrt`: derivatives of the others are never asked for.
std::vector<char> depends_on(const Graph& f, std::span<const ValueId> wrt);

}  // namespace tidemark
