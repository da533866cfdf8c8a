// Softmax and its like by rows, and cross entropy, as the formulas stand: in double, one row after the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// Operands as in cpu/softmax.h.
std::unique_ptr<Kernel> softmax_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> log_softmax_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> logsumexp_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> softmax_backward_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> log_softmax_backward_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> cross_entropy_reference(const KernelSpec& spec);
std::unique_ptr<Kernel> cross_entropy_backward_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
