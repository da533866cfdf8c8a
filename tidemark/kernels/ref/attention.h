// Attention, plainly: a row of scores is computed twice rather than kept. Every float dtype, sums in f64.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// (q, k, v) -> (y, log-sum-exp of each row of scores).
std::unique_ptr<Kernel> attention_reference(const KernelSpec& spec);
// (cotangent of y, q, k, v, log-sum-exp, delta) -> (dq, dk, dv).
std::unique_ptr<Kernel> attention_backward_reference(const KernelSpec& spec);

}  // namespace tidemark::kernels
