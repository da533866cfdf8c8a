// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/codec.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "tidemark/base/half.h"
#include "tidemark/base/parallel.h"
#include "tidemark/kernels/cpu/entropy.h"
#include "tidemark/kernels/cpu/low_rank.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

template <typename Half>
Codec half(std::int64_t n, int threads) {
  Codec c{.slot = 2 * n};
  c.encode = make_kernel(0, [=](const Operands& o) {
    parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) o.output<Half>(0)[i] = Half(o.input<float>(0)[i]);
    });
  });
  c.decode = make_kernel(0, [=](const Operands& o) {
    parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        o.output<float>(0)[i] = static_cast<float>(o.input<Half>(0)[i]);
    });
  });
  return c;
}

// Whole numbers of `bits` bits times a scale for each block of 64, the largest of the block at the end of the range: 0 is 0, ±k stands
// for the middle of ((k-1) scale, k scale], so that signs and zeros are kept, which masks are made from.
constexpr std::int64_t kBlock = 64;
template <int bits, bool against = false>
Codec integers(std::int64_t n, int threads) {
  static_assert(bits == 8 || bits == 4);
  constexpr int kMost = bits == 8 ? 127 : 7;
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  const Bytes scales = blocks * 4;
  Codec c{.slot = scales + blocks * kBlock * bits / 8, .against = against};
  c.encode = make_kernel(0, [=](const Operands& o) {
    const auto* x = o.input<float>(0);
    const float* base = against ? o.input<float>(1) : nullptr;
    auto* scale = o.output<float>(0);
    auto* codes = o.output<std::uint8_t>(0) + scales;
    parallel_for(threads, blocks, kGrain / kBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t from = b * kBlock, count = std::min(kBlock, n - from);
        float v[kBlock] = {};
        for (std::int64_t i = 0; i < count; ++i) v[i] = against ? x[from + i] - base[from + i] : x[from + i];
        // As whole numbers, which compilers find the largest of in vectors; infinities and what is no number are the largest.
        constexpr std::uint32_t kInfinite = 0x7f800000;
        std::uint32_t top = 0;
        for (std::int64_t i = 0; i < kBlock; ++i)
          top = std::max(top, std::bit_cast<std::uint32_t>(v[i]) & 0x7fffffffU);
        const bool finite = top < kInfinite;
        const float most = finite ? std::bit_cast<float>(top) : std::nanf("");
        // A block with something that is no number comes back as such.
        scale[b] = most / kMost;
        const float inverse = most > 0 ? kMost / most : 0;
        std::int32_t k[kBlock];
        for (std::int64_t i = 0; i < kBlock; ++i) {
          const float size = std::abs(v[i]) * inverse;
          const std::int32_t steps = 1 + static_cast<std::int32_t>(size < kMost - 1.0f ? size : kMost - 1.0f);
          k[i] = steps * ((v[i] > 0) - (v[i] < 0));
        }
        if (!finite) std::fill(k, k + kBlock, 1);
        if constexpr (bits == 8) {
          for (std::int64_t i = 0; i < kBlock; ++i) codes[from + i] = static_cast<std::uint8_t>(k[i]);
        } else {
          for (std::int64_t i = 0; i < kBlock / 2; ++i)
            codes[from / 2 + i] = static_cast<std::uint8_t>((k[2 * i] & 15) | ((k[2 * i + 1] & 15) << 4));
        }
      }
    });
  });
  c.decode = make_kernel(0, [=](const Operands& o) {
    const auto* scale = o.input<float>(0);
    const auto* codes = o.input<std::uint8_t>(0) + scales;
    const float* base = against ? o.input<float>(1) : nullptr;
    auto* y = o.output<float>(0);
    parallel_for(threads, blocks, kGrain / kBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t from = b * kBlock, count = std::min(kBlock, n - from);
        std::int32_t q[kBlock];
        if constexpr (bits == 8) {
          for (std::int64_t i = 0; i < kBlock; ++i) q[i] = (std::int32_t{codes[from + i]} ^ 128) - 128;
        } else {
          for (std::int64_t i = 0; i < kBlock / 2; ++i) {
            const std::int32_t pair = codes[from / 2 + i];
            q[2 * i] = ((pair & 15) ^ 8) - 8;
            q[2 * i + 1] = ((pair >> 4) ^ 8) - 8;
          }
        }
        float v[kBlock];
        for (std::int64_t i = 0; i < kBlock; ++i) {
          // Without a branch on the sign, which nothing predicts; 0 stays 0.
          const std::int32_t sign = (q[i] > 0) - (q[i] < 0);
          v[i] = (static_cast<float>(q[i]) - 0.5f * static_cast<float>(sign)) * scale[b];
        }
        for (std::int64_t i = 0; i < count; ++i) y[from + i] = against ? v[i] + base[from + i] : v[i];
      }
    });
  });
  return c;
}

// e4m3: a sign, four bits of exponent, three of fraction, no infinity; what is larger than 448 becomes 448.
std::uint8_t to_fp8(float x) {
  const std::uint8_t sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return static_cast<std::uint8_t>(sign | 0x7f);
  const float a = std::min(std::abs(x), 448.0f);
  if (a < 0x1p-10f) return sign;  // below half of the least
  int exponent = 0;
  std::frexp(a, &exponent);
  exponent = std::max(exponent - 1, -6);
  int steps = static_cast<int>(std::nearbyint(std::ldexp(a, 3 - exponent)));  // eighths of 2^exponent
  if (steps == 16) steps = 8, ++exponent;
  if (steps < 8) return static_cast<std::uint8_t>(sign | steps);
  return static_cast<std::uint8_t>(sign | ((exponent + 7) << 3) | (steps - 8));
}
float from_fp8(std::uint8_t b) {
  const int exponent = (b >> 3) & 15, fraction = b & 7;
  if (exponent == 15 && fraction == 7) return std::nanf("");
  const float a = exponent == 0 ? static_cast<float>(fraction) * 0x1p-9f
                                : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return (b & 0x80) != 0 ? -a : a;
}
Codec fp8(std::int64_t n, int threads) {
  Codec c{.slot = n, .encode_flops = 30};
  c.encode = make_kernel(0, [=](const Operands& o) {
    parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) o.output<std::uint8_t>(0)[i] = to_fp8(o.input<float>(0)[i]);
    });
  });
  std::vector<float> table(256);
  for (int b = 0; b < 256; ++b) table[static_cast<std::size_t>(b)] = from_fp8(static_cast<std::uint8_t>(b));
  c.decode = make_kernel(0, [=, table = std::move(table)](const Operands& o) {
    parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) o.output<float>(0)[i] = table[o.input<std::uint8_t>(0)[i]];
    });
  });
  return c;
}

// A bit an element that is not +0, and those elements one behind the other, in a slot for 60 % of them. Three passes over blocks:
// count, add up, place; so that threads change nothing.
constexpr std::int64_t kZeroBlock = 1 << 14;  // a multiple of 8
class EncodeZeros final : public Kernel {
 public:
  EncodeZeros(std::int64_t n, std::int64_t capacity, int threads)
      : Kernel(round_up((blocks_of(n) + 1) * 8, 64)), n_(n), capacity_(capacity), threads_(threads) {}
  static std::int64_t blocks_of(std::int64_t n) { return (n + kZeroBlock - 1) / kZeroBlock; }
  static Bytes mask_bytes(std::int64_t n) { return round_up((n + 7) / 8, 8); }
  bool can_overflow() const override { return true; }
  bool overflowed() const override { return overflowed_; }

  void run(const Operands& o) const override {
    const auto* x = o.input<std::uint32_t>(0);
    auto* first = static_cast<std::int64_t*>(o.workspace);
    const std::int64_t blocks = blocks_of(n_);
    parallel_for(threads_, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        std::int64_t count = 0;
        for (std::int64_t i = b * kZeroBlock; i < std::min(n_, (b + 1) * kZeroBlock); ++i) count += x[i] != 0;
        first[b + 1] = count;
      }
    });
    first[0] = 0;
    for (std::int64_t b = 0; b < blocks; ++b) first[b + 1] += first[b];
    overflowed_ = first[blocks] > capacity_;
    if (overflowed_) return;
    auto* mask = o.output<std::uint8_t>(0);
    auto* values = reinterpret_cast<std::uint32_t*>(mask + mask_bytes(n_));
    parallel_for(threads_, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        std::uint32_t* to = values + first[b];
        for (std::int64_t i = b * kZeroBlock; i < std::min(n_, (b + 1) * kZeroBlock); i += 8) {
          unsigned byte = 0;
          for (std::int64_t k = 0; k < std::min<std::int64_t>(8, n_ - i); ++k) {
            if (x[i + k] == 0) continue;
            byte |= 1u << k;
            *to++ = x[i + k];
          }
          mask[i / 8] = static_cast<std::uint8_t>(byte);
        }
      }
    });
  }

 private:
  std::int64_t n_, capacity_;
  int threads_;
  mutable std::atomic<bool> overflowed_{false};
};

Codec zeros(std::int64_t n, int threads) {
  const std::int64_t capacity = n * 3 / 5;
  const Bytes mask_bytes = EncodeZeros::mask_bytes(n);
  const std::int64_t blocks = EncodeZeros::blocks_of(n);
  Codec c{.slot = mask_bytes + 4 * capacity, .lossy = false};
  c.encode = std::make_unique<EncodeZeros>(n, capacity, threads);
  c.decode = make_kernel(round_up((blocks + 1) * 8, 64), [=](const Operands& o) {
    const auto* mask = o.input<std::uint8_t>(0);
    const auto* values = reinterpret_cast<const std::uint32_t*>(mask + mask_bytes);
    auto* y = o.output<std::uint32_t>(0);
    auto* first = static_cast<std::int64_t*>(o.workspace);
    parallel_for(threads, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        std::int64_t count = 0;
        for (std::int64_t i = b * kZeroBlock / 8; i < (std::min(n, (b + 1) * kZeroBlock) + 7) / 8; ++i)
          count += std::popcount(mask[i]);
        first[b + 1] = count;
      }
    });
    first[0] = 0;
    for (std::int64_t b = 0; b < blocks; ++b) first[b + 1] += first[b];
    parallel_for(threads, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::uint32_t* from = values + first[b];
        for (std::int64_t i = b * kZeroBlock; i < std::min(n, (b + 1) * kZeroBlock); ++i)
          y[i] = ((mask[i / 8] >> (i % 8)) & 1) != 0 ? *from++ : 0;
      }
    });
  });
  return c;
}

}  // namespace

std::optional<Codec> codec(std::string_view name, const Shape& shape, int threads) {
  const std::int64_t n = shape.numel();
  if (name == "bf16") return half<Bf16>(n, threads);
  if (name == "f16") return half<F16>(n, threads);
  if (name == "fp8") return fp8(n, threads);
  if (name == "int8") return integers<8>(n, threads);
  if (name == "int4") return integers<4>(n, threads);
  if (name == "delta") return integers<8, true>(n, threads);
  if (name == "low_rank") return low_rank_codec(shape, threads);
  if (name == "zeros") return zeros(n, threads);
  if (name == "zstd") return zstd_codec(n, threads);
  return std::nullopt;
}

}  // namespace tidemark::kernels
