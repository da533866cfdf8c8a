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
    const auto value = [x = o.input<float>(0), base = against ? o.input<float>(1) : nullptr](std::int64_t i) {
      if constexpr (against)
        return x[i] - base[i];
      else
        return x[i];
    };
    auto* scale = o.output<float>(0);
    auto* codes = o.output<std::uint8_t>(0) + scales;
    parallel_for(threads, blocks, kGrain / kBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t from = b * kBlock, count = std::min(kBlock, n - from);
        float most = 0;
        bool finite = true;
        for (std::int64_t i = 0; i < count; ++i) {
          most = std::max(most, std::abs(value(from + i)));
          finite = finite && std::isfinite(value(from + i));
        }
        // A block with something that is no number comes back as such.
        if (!finite) most = std::nanf("");
        scale[b] = most / kMost;
        const float inverse = most > 0 ? kMost / most : 0;
        const auto code = [&](std::int64_t i) {
          if (!finite) return 1;
          const float v = i < count ? value(from + i) : 0;
          if (v == 0) return 0;
          const int k = 1 + static_cast<int>(std::min(std::abs(v) * inverse, kMost - 1.0f));
          return v < 0 ? -k : k;
        };
        if constexpr (bits == 8) {
          for (std::int64_t i = 0; i < kBlock; ++i) codes[from + i] = static_cast<std::uint8_t>(code(i));
        } else {
          for (std::int64_t i = 0; i < kBlock / 2; ++i)
            codes[from / 2 + i] =
                static_cast<std::uint8_t>((code(2 * i) & 15) | ((code(2 * i + 1) & 15) << 4));
        }
      }
    });
  });
  c.decode = make_kernel(0, [=](const Operands& o) {
    const auto* scale = o.input<float>(0);
    const auto* codes = o.input<std::uint8_t>(0) + scales;
    auto* y = o.output<float>(0);
    parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        int q = 0;
        if constexpr (bits == 8) {
          q = codes[i] >= 128 ? codes[i] - 256 : codes[i];
        } else {
          const int nibble = (codes[i / 2] >> (4 * (i % 2))) & 15;
          q = nibble >= 8 ? nibble - 16 : nibble;
        }
        y[i] = q == 0 ? 0.0f : (static_cast<float>(q) - (q < 0 ? -0.5f : 0.5f)) * scale[i / kBlock];
        if constexpr (against) y[i] += o.input<float>(1)[i];
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
  Codec c{.slot = n, .encode_ns = 10};
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
