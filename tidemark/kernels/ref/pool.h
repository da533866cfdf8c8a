// Pooling, plainly: for each element of the result, a loop over what it is made of. Any strides, every float
// dtype.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> max_pool2d_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> max_unpool2d_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> pool_gather_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> avg_pool2d_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> avg_pool2d_backward_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
