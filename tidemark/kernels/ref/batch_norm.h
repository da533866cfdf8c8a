// Batch normalisation, plainly. Sums in f64, any float dtype.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// (x, scale, shift) -> (y, mean, variance).
std::unique_ptr<Kernel> batch_norm_reference(const KernelSpec& spec);
// (ct, x, scale, mean, variance) -> (dx, dscale, dshift).
std::unique_ptr<Kernel> batch_norm_backward_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
