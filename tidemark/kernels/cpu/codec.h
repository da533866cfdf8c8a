// Codecs for f32 arrays that wait for the backward pass: an encoder into a slot of fixed size and the decoder of it. `zeros` gives
// back the same bits; the others round, and are used by name only. docs/makers.md says what each keeps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

struct Codec {
  Bytes slot = 0;  // bytes that n elements take
  bool lossy = true;
  std::unique_ptr<Kernel> encode, decode;  // one array in, one out
};
// None of that name: empty.
std::optional<Codec> codec(std::string_view name, std::int64_t elements, int threads);
// The lossy ones, for messages.
inline constexpr const char* kLossyCodecs = "bf16, f16, fp8, int8, int4";

}  // namespace tidemark::kernels
