// Fused chains that are known whole, written out as one loop: the optimizer's update reads and writes seven arrays once,
// and the tile interpreter, a pass over its registers for every step, cannot keep up with memory there. The same
// operations in the same order, hence the same bits. Called by fused.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// The kernel for spec.regions[0], or null where it is no chain known here or its arrays are not f32, dense and row-major.
std::unique_ptr<Kernel> known_chain(const KernelSpec& spec);

}  // namespace tidemark::kernels
