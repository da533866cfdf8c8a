// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/op.h"

#include <algorithm>

#include "tidemark/ir/passes.h"

namespace tidemark {

bool repeatable(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return repeatable(n); });
}

bool repeatable(const Node& node) {
  return node.op->facts.deterministic && !node.op->facts.effect &&
         std::all_of(node.regions.begin(), node.regions.end(), [](const Graph& g) { return repeatable(g); });
}

std::unique_ptr<Kernel> prepare(const Op& op, const KernelSpec& spec) {
  if (op.kernel != nullptr) {
    if (auto kernel = op.kernel(spec)) return kernel;
  }
  return prepare_reference(op, spec);
}

std::unique_ptr<Kernel> prepare_reference(const Op& op, const KernelSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  if (op.reference != nullptr) kernel = op.reference(spec);
  if (!kernel) {
    std::string types;
    for (const Value& v : spec.in) types += (types.empty() ? "" : ", ") + to_string(v.type);
    fail(Error::Kind::unsupported, "[{}] no kernel for {}", op.name, types);
  }
  return kernel;
}

Cost cost_of(const Op& op, const KernelSpec& spec) {
  if (op.cost != nullptr) return op.cost(spec);
  Cost cost;
  for (const Value& v : spec.in) cost.bytes += static_cast<double>(v.type.bytes());
  for (const Value& v : spec.out) {
    cost.bytes += static_cast<double>(v.type.bytes());
    cost.flops += static_cast<double>(v.type.shape.numel());
  }
  return cost;
}

}  // namespace tidemark
