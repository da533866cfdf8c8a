// Row kernels over the last axis: softmax and its like, forward and backward, and cross entropy by rows.
// Called by ops/softmax.cpp and ops/cross_entropy.cpp. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> softmax(const KernelSpec& spec);               // x -> y
std::unique_ptr<Kernel> log_softmax(const KernelSpec& spec);           // x -> y
std::unique_ptr<Kernel> logsumexp(const KernelSpec& spec);             // x -> one a row
std::unique_ptr<Kernel> softmax_backward(const KernelSpec& spec);      // y, ct -> y (ct - sum(ct y))
std::unique_ptr<Kernel> log_softmax_backward(const KernelSpec& spec);  // y, ct -> ct - exp(y) sum(ct)
std::unique_ptr<Kernel> cross_entropy(const KernelSpec& spec);  // logits, labels -> loss, logsumexp by row
std::unique_ptr<Kernel> cross_entropy_backward(
    const KernelSpec& spec);  // logits, labels, logsumexp, ct -> dlogits

}  // namespace tidemark::kernels
