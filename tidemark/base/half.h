// bf16 and f16 as storage types: conversions to and from float, round to nearest even. Arithmetic is always
// f32.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace tidemark {

struct Bf16 {
  std::uint16_t bits = 0;
  Bf16() = default;
  explicit Bf16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    // Rounding could carry a NaN's payload into infinity, so NaN keeps its top bits and is made quiet.
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

struct F16 {
  std::uint16_t bits = 0;
  F16() = default;
  explicit F16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = (u >> 16) & 0x8000u;
    const std::uint32_t magnitude = u & 0x7fffffffu;
    std::uint32_t h = 0;
    if (magnitude > 0x7f800000u) {
      h = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    } else if (magnitude >= 0x477ff000u) {  // rounds to or past 65536
      h = 0x7c00u;
    } else if (magnitude >= 0x38800000u) {
      h = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    } else {
      // Subnormal: adding 0.5 aligns the last bit of the f16 grid (2^-24) with the last bit of the f32 sum.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      h = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
    }
    bits = static_cast<std::uint16_t>(sign | h);
  }
  explicit operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {  // subnormal: fraction * 2^-24, exact in f32
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f) |
                                  sign);
    }
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  }
};

}  // namespace tidemark
