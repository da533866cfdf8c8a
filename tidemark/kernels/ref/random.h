// Random arrays an element at a time: each draws the block of its own counter.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// Operands as in cpu/random.h.
std::unique_ptr<Kernel> random_uniform_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> random_normal_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> dropout_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
