// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/table.h"

namespace tidemark {

OpList sort_ops() { return {}; }

}  // namespace tidemark
