// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/table.h"

#include <unordered_map>

namespace tidemark {

const std::vector<const Op*>& all_ops() {
  static const std::vector<const Op*> table = [] {
    std::vector<const Op*> ops;
    for (const OpList list :
         {elementwise_ops(), fused_ops(),   reduce_ops(),        scan_axis_ops(), full_ops(),   view_ops(),
          move_ops(),        gather_ops(),  matmul_ops(),        conv_ops(),      pool_ops(),   norm_ops(),
          batch_norm_ops(),  softmax_ops(), cross_entropy_ops(), attention_ops(), random_ops(), linalg_ops(),
          fft_ops(),         sort_ops(),    assign_ops(),  loop_ops()}) {
      ops.insert(ops.end(), list.begin(), list.end());
    }
    return ops;
  }();
  return table;
}

const Op* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const Op*> by_name = [] {
    std::unordered_map<std::string_view, const Op*> map;
    for (const Op* op : all_ops()) {
      TIDEMARK_CHECK(map.emplace(op->name, op).second, "two ops are called '{}'", op->name);
    }
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace tidemark
