// Codecs by an entropy coder, where the library has one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/cpu/codec.h"

namespace tidemark::kernels {

// Empty where it is built without zstd.
std::optional<Codec> zstd_codec(std::int64_t elements, int threads);

}  // namespace tidemark::kernels
