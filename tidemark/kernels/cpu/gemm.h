// Matrix products on the CPU without a library: operands packed into panels, a register tile of outputs,
// blocks of k in order (Goto & van de Geijn 2008). Any strides; f32, f64, and bf16 and f16 with f32 sums. The
// bits do not depend on the thread count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> gemm(const KernelSpec& spec);

}  // namespace tidemark::kernels
