// Plain dense factorisations and solves on batches of small matrices, row-major, f32 and f64.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> cholesky(const KernelSpec& spec);
std::unique_ptr<Kernel> triangular_solve(const KernelSpec& spec);
std::unique_ptr<Kernel> lu_solve(const KernelSpec& spec);

}  // namespace tidemark::kernels
