// The codec "low_rank": a matrix as the product of a tall and a wide one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/cpu/codec.h"

namespace tidemark::kernels {

// Rows by the last axis; of a rank an eighth of the shorter side.
std::optional<Codec> low_rank_codec(const Shape& shape, int threads);

}  // namespace tidemark::kernels
