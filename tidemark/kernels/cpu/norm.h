// Normalisation of rows: forward with its statistics, backward with the gradients of scale and shift in one
// pass. Called by ops/norm.cpp. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/norm_shape.h"

namespace tidemark::kernels {

// x [scale [shift]] -> y [mean] rstd
std::unique_ptr<Kernel> norm_forward(const KernelSpec& spec, NormKind kind);
// ct x [scale] [mean] rstd -> dx [dscale [dshift]]
std::unique_ptr<Kernel> norm_backward(const KernelSpec& spec, NormKind kind);

}  // namespace tidemark::kernels
