// Moving by index: rows taken and added, elements gathered and scattered. Sums run in the order of the indices,
// on any number of threads. Called by ops/gather.cpp. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// x (outer, rows, inner), indices (n) -> (outer, n, inner). `op` begins the message about a bad index.
std::unique_ptr<Kernel> take_rows(const KernelSpec& spec, const char* op, int axis);
// indices (n), updates (outer, n, inner) -> (outer, rows, inner), zero elsewhere; or added to an array given before them.
std::unique_ptr<Kernel> add_rows(const KernelSpec& spec, const char* op, int axis);
// x (outer, rows, inner), indices (outer, n, inner) -> like the indices.
std::unique_ptr<Kernel> gather(const KernelSpec& spec, int axis);
// x, indices, updates -> x with the updates added.
std::unique_ptr<Kernel> scatter_add(const KernelSpec& spec, int axis);
std::unique_ptr<Kernel> one_hot(const KernelSpec& spec);

}  // namespace tidemark::kernels
