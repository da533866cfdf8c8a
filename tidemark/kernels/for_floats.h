// One kernel for each floating storage type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/half.h"
#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// A kernel that calls f.operator()<S>(operands), S the storage type of `dtype`; null for what is no floating type.
template <typename F>
std::unique_ptr<Kernel> for_floats(DType dtype, Bytes workspace, F f) {
  const auto make = [&]<typename S>() {
    return make_kernel(workspace, [f](const Operands& o) { f.template operator()<S>(o); });
  };
  switch (dtype) {
    case DType::f64:
      return make.template operator()<double>();
    case DType::f32:
      return make.template operator()<float>();
    case DType::bf16:
      return make.template operator()<Bf16>();
    case DType::f16:
      return make.template operator()<F16>();
    default:
      return nullptr;
  }
}

}  // namespace tidemark::kernels
