// Normalisation of rows: forward with its statistics, backward with the gradients of scale and shift in one
// pass. Called by ops/norm.cpp. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

struct NormKind {
  bool centred = true;  // the mean is taken away (layer norm), or not (rms norm)
  bool affine = true;   // scale, and shift where centred
};
// x [scale [shift]] -> y [mean] rstd
std::unique_ptr<Kernel> norm_forward(const KernelSpec& spec, NormKind kind);
// ct x [scale] [mean] rstd -> dx [dscale [dshift]]
std::unique_ptr<Kernel> norm_backward(const KernelSpec& spec, NormKind kind);

}  // namespace tidemark::kernels
