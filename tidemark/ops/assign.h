// assign(old, next): `next`, put where `old` was. compile() uses it for state whose last version is not made
// in place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

extern const Op assign_op;

}  // namespace tidemark
