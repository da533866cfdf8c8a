// Matrix products of ours that pack as they go: rows of a into the second cache, a strip of b into the first, with the
// next ones on their way (Goto & van de Geijn 2008, with one pass over b); or with a b that is in strips already. Every task
// owns its part of c and takes blocks of k in one order, so the bits depend neither on the thread count nor on the form of b.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/product.h"

namespace tidemark::kernels {

// f32 and f64. Null where an operand has neither rows nor columns that are dense.
std::unique_ptr<Kernel> strip_product(const Product& product, DType dtype, int threads,
                                      bool b_in_strips = false);

}  // namespace tidemark::kernels
