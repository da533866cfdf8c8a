// The plain kernels beside the tile interpreter: one element at a time, coordinates worked out afresh.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> map_reference(const KernelSpec& spec, TileFunction (*tile)(DType),
                                      const std::vector<double>& params);
std::unique_ptr<Kernel> reduce_reference(const KernelSpec& spec, Fold fold);

}  // namespace tidemark::kernels
