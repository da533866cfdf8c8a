// Pooling in f32 and f64, channels last: vectors of channels, one image and one block of channels a task.
// Null for the rest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> max_pool2d(const KernelSpec& spec);
std::unique_ptr<Kernel> max_unpool2d(const KernelSpec& spec);
std::unique_ptr<Kernel> pool_gather(const KernelSpec& spec);
std::unique_ptr<Kernel> avg_pool2d(const KernelSpec& spec);
std::unique_ptr<Kernel> avg_pool2d_backward(const KernelSpec& spec);

}  // namespace tidemark::kernels
