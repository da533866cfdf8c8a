// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/op.h"

namespace tidemark {

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
