// Fused chains with boolean operands stored as one bit an element: unpacked and packed a part at a time in the workspace, around
// the kernel that runs the chain itself, so that no bit of its results changes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

inline Bytes packed_bytes(const Type& type) { return (type.shape.numel() + 7) / 8; }

// `packed`: a flag for each input, then for each output; those are boolean, of the chain's domain, dense. Null where the chain
// cannot be cut along its first axis (reductions, another axis outermost in memory).
std::unique_ptr<Kernel> fused_with_bits(const KernelSpec& spec, const std::vector<char>& packed);

}  // namespace tidemark::kernels
