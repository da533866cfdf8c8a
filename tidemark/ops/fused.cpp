// The op that ir/fuse.h makes: a chain of elementwise ops, perhaps ending in reductions, as one task.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/fused.h"

#include "tidemark/kernels/cpu/fused.h"
#include "tidemark/ops/table.h"

namespace tidemark {

namespace {

std::vector<Type> infer_region(const InferArgs& a) {
  TIDEMARK_CHECK(a.regions.size() == 1 && a.regions[0].inputs.size() == a.in.size());
  const Graph& region = a.regions[0];
  for (std::size_t i = 0; i < a.in.size(); ++i) {
    TIDEMARK_CHECK(region.type(region.inputs[i]) == a.in[i], "input {} of a fused chain: {} vs {}", i,
                   to_string(region.type(region.inputs[i])), to_string(a.in[i]));
  }
  std::vector<Type> types;
  for (const ValueId v : region.outputs) types.push_back(region.type(v));
  return types;
}

Cost cost_of_region(const KernelSpec& s) {
  Cost cost;
  for (const Value& v : s.in) cost.bytes += static_cast<double>(v.type.bytes());
  for (const Value& v : s.out) cost.bytes += static_cast<double>(v.type.bytes());
  for (const Node& n : s.regions[0].nodes) cost.flops += static_cast<double>(s.regions[0].type(n.out[0]).shape.numel());
  return cost;
}

constexpr Op make(const char* name, const char* doc, bool may_overwrite) {
  return {.name = name,
          .doc = doc,
          .infer = infer_region,
          // Tiles are read before they are written.
          .facts = {.in_place = may_overwrite ? InPlace::any() : InPlace{}},
          .cost = cost_of_region,
          .kernel = kernels::fused,
          .accepts = kernels::accepts_strides};
}

}  // namespace

constinit const Op fused_op = make("fused", "A chain of elementwise ops whose inside never exists in memory; its region says which.", true);
constinit const Op fused_fold_op = make("fused_fold", "A chain of elementwise ops and the reductions it ends in, as one task.", false);

OpList fused_ops() {
  static const Op* const ops[] = {&fused_op, &fused_fold_op};
  return ops;
}

}  // namespace tidemark
