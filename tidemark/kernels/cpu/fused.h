// Kernels made of tile programs: one elementwise op, a reduction, or a fused chain of the first that may end
// in the second. All three run the same loops, so fusing changes no bit but where ir/fuse.h says. Called by ops/.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/cpu/tile.h"

namespace tidemark::kernels {

// One elementwise op: `tile` for the dtype of the last input (the output's where there is none).
std::unique_ptr<Kernel> map(const KernelSpec& spec, TileFunction (*tile)(DType), std::vector<double> params);

// One reduction over spec.attrs "axes".
std::unique_ptr<Kernel> reduce(const KernelSpec& spec, Fold fold);

// spec.regions[0]: elementwise nodes over one domain, then reductions of their values (all over the same
// axes); its outputs may be either.
std::unique_ptr<Kernel> fused(const KernelSpec& spec);

// What the kernels above take: any strides, no blocked forms.
bool accepts_strides(const KernelSpec& spec, int input);

}  // namespace tidemark::kernels
