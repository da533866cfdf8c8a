// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/table.h"

namespace tidemark {

OpList gather_ops() { return {}; }

}  // namespace tidemark
