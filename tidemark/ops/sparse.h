// A fact about contents: which ops give zeros for a good part of what they are given, so that a codec for zeros is worth offering.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

TIDEMARK_API bool often_zero(const Op& op);

}  // namespace tidemark
