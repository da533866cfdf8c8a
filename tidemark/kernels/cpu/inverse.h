// Exact inverses: x from y = x + f is y - f but for what rounding took. That residual, counted in floats between the two and kept in a
// byte an element, gives back the very bits of x; the few elements that are much smaller than f are kept as they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// `spec`: the fused chain that gives about x (one f32 output, dense, its first axis outermost). The encoder takes the chain's inputs, then
// x, and gives the residuals; it overflows where more than one in 32 of 4096 is beyond a byte. The decoder takes the chain's inputs, then the residuals, and
// gives x. Null where the chain cannot be cut along its first axis.
struct ExactInverse {
  std::unique_ptr<Kernel> encode, decode;
  Bytes slot = 0;  // of the residuals
};
ExactInverse exact_inverse(const KernelSpec& spec);

}  // namespace tidemark::kernels
