// 2-d convolution and its two transposes, plainly: seven loops, any strides, every float dtype.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> conv2d_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> conv2d_backward_data_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> conv2d_backward_weights_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
