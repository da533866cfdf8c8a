// Counter-based random numbers: the same (key, counter) gives the same bits on every device and in any order,
// so that a random op can be run again. Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace tidemark {

struct Philox {
  using Block = std::array<std::uint32_t, 4>;

  static constexpr Block block(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high = 0) {
    Block x{static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
            static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * x[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * x[2];
      x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(p0)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return x;
  }
};

// Uniform in [0, 1) with 24 bits, and in [0, 1) with 53: exact in float and double.
constexpr float uniform_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
constexpr double uniform_double(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// A small sequential generator (SplitMix64, Steele, Lea, Flood 2014) for searches and tests.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  constexpr double uniform() { return uniform_double(next()); }
  // In [0, n), n > 0; the bias of the multiplication is below n / 2^64.
  constexpr std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>((static_cast<unsigned __int128>(next()) * static_cast<std::uint64_t>(n)) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace tidemark
