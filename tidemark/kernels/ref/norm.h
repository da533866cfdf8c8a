// Layer and rms normalisation of rows as the formulas stand, in double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/norm_shape.h"

namespace tidemark::kernels {

// Operands as in cpu/norm.h.
std::unique_ptr<Kernel> norm_forward_reference(const KernelSpec& spec, NormKind kind);
std::unique_ptr<Kernel> norm_backward_reference(const KernelSpec& spec, NormKind kind);

}  // namespace tidemark::kernels
