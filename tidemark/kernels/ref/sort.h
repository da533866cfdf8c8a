// Stable sorting along the last axis, with the permutation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> sort(const KernelSpec& spec);

}  // namespace tidemark::kernels
