// Batch normalisation in f32 and f64, channels last: rows of channels in fixed blocks, their sums put
// together in order, so that the bits do not depend on the thread count. Null for other layouts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> batch_norm(const KernelSpec& spec);
std::unique_ptr<Kernel> batch_norm_backward(const KernelSpec& spec);

}  // namespace tidemark::kernels
