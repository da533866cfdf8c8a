// The fast matrix product: oneDNN's for f32 in the layouts it runs at full speed, else our own (strip_product.h where memory
// runs along an axis of each operand, gemm.h for any strides and the storage types).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/product.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> matmul(const KernelSpec& spec);
// oneDNN's alone; null where it is not built in or would leave its fast path.
std::unique_ptr<Kernel> onednn_matmul(const Product& product, int threads);

}  // namespace tidemark::kernels
