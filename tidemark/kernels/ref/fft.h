// Fourier transforms of any length along the last axis, on pairs of real arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> fft(const KernelSpec& spec);

}  // namespace tidemark::kernels
