// Attention in f32 and f64 by tiles of queries and keys. Null for the rest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> attention(const KernelSpec& spec);
std::unique_ptr<Kernel> attention_backward(const KernelSpec& spec);

}  // namespace tidemark::kernels
