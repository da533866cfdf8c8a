// Matrix products, plainly: three loops, any strides, every dtype but bool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> matmul_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
