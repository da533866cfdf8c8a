// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/sparse.h"

#include "tidemark/ops/table.h"

namespace tidemark {

bool often_zero(const Op& op) {
  static const Op* const relu = find_op("relu");
  static const Op* const dropout = find_op("dropout");
  return &op == relu || &op == dropout;
}

}  // namespace tidemark
