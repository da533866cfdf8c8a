// Codecs for f32 arrays that wait for the backward pass: an encoder into a slot of fixed size and the decoder of it. `zeros` and `zstd`
// give back the same bits; the others round, and are used by name only. docs/makers.md says what each keeps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "tidemark/ir/kernel.h"
#include "tidemark/ir/op.h"

namespace tidemark::kernels {

struct Codec {
  Bytes slot = 0;  // bytes that n elements take
  bool lossy = true;
  bool against = false;                   // both kernels take a second input: an array of the same shape, whose difference is coded
  double encode_flops = 1, decode_flops = 1;  // an element
  std::unique_ptr<Kernel> encode = nullptr, decode = nullptr;

  Cost cost(double flops, const Type& array) const {
    return {flops * static_cast<double>(array.shape.numel()), static_cast<double>((against ? 2 : 1) * array.bytes() + slot)};
  }
};
// None of that name, or not for this shape: empty.
std::optional<Codec> codec(std::string_view name, const Shape& shape, int threads);
inline constexpr const char* kCodecNames[] = {"bf16", "f16", "fp8", "int8", "int4", "delta", "low_rank", "zstd", "zeros"};
// Those that are used by name alone, for messages.
inline constexpr const char* kNamedCodecs = "bf16, f16, fp8, int8, int4, delta, low_rank, zstd";

}  // namespace tidemark::kernels
