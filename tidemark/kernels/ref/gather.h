// Moving by index, an element at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// Operands as in cpu/gather.h.
std::unique_ptr<Kernel> take_rows_reference(const KernelSpec& spec, const char* op, int axis);
std::unique_ptr<Kernel> add_rows_reference(const KernelSpec& spec, const char* op, int axis);
std::unique_ptr<Kernel> gather_reference(const KernelSpec& spec, int axis);
std::unique_ptr<Kernel> scatter_add_reference(const KernelSpec& spec, int axis);
std::unique_ptr<Kernel> one_hot_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
