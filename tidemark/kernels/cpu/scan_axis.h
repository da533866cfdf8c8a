// Kernels along one axis, element by element. Called by ops/scan_axis.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> argmax(const KernelSpec& spec, int axis);
// Running sums are doubles or, `rounded`, of the elements' type.
std::unique_ptr<Kernel> cumsum(const KernelSpec& spec, int axis, bool rounded);

}  // namespace tidemark::kernels
