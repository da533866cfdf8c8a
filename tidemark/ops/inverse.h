// A fact about elementwise ops: how an argument is had back from the result and the other arguments, as tensor code. Rounding makes it
// a near value, not the same; compile/inverses.cpp keeps what is missing, or does not with the user's word.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

// Argument `which` of y = op(in…); the others must be defined. Undefined where the op has no inverse in it.
TIDEMARK_API Tensor inverse(const Op& op, std::size_t which, const Tensor& y, const Tensors& in);
TIDEMARK_API bool has_inverse(const Op& op);

}  // namespace tidemark
