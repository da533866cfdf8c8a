// The op that ir/fuse.h makes: a chain of elementwise ops, perhaps ending in reductions, as one task.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/fused.h"

#include "tidemark/kernels/cpu/fused.h"
#include "tidemark/ops/table.h"

namespace tidemark {

const Op fused_op{
    .name = "fused",
    .doc = "A chain of elementwise ops whose inside never exists in memory; its region says which.",
    .infer =
        [](const InferArgs& a) {
          TIDEMARK_CHECK(a.regions.size() == 1 && a.regions[0].inputs.size() == a.in.size());
          const Graph& region = a.regions[0];
          for (std::size_t i = 0; i < a.in.size(); ++i) {
            TIDEMARK_CHECK(region.type(region.inputs[i]) == a.in[i], "input {} of a fused chain: {} vs {}", i,
                           to_string(region.type(region.inputs[i])), to_string(a.in[i]));
          }
          std::vector<Type> types;
          for (const ValueId v : region.outputs) types.push_back(region.type(v));
          return types;
        },
    .cost =
        [](const KernelSpec& s) {
          Cost cost;
          for (const Value& v : s.in) cost.bytes += static_cast<double>(v.type.bytes());
          for (const Value& v : s.out) cost.bytes += static_cast<double>(v.type.bytes());
          for (const Node& n : s.regions[0].nodes)
            cost.flops += static_cast<double>(s.regions[0].type(n.out[0]).shape.numel());
          return cost;
        },
    .kernel = kernels::fused,
    .accepts = kernels::accepts_strides,
};

OpList fused_ops() {
  static const Op* const ops[] = {&fused_op};
  return ops;
}

}  // namespace tidemark
