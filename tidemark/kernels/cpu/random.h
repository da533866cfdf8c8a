// Random arrays: element i depends on the key, the stream and i alone, so any part can be drawn again.
// Called by ops/random.cpp. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> random_uniform(const KernelSpec& spec);  // key -> y; attributes low, high, stream
std::unique_ptr<Kernel> random_normal(
    const KernelSpec& spec);                              // key -> y; attributes mean, deviation, stream
std::unique_ptr<Kernel> dropout(const KernelSpec& spec);  // x, key -> y; attributes rate, stream

}  // namespace tidemark::kernels
