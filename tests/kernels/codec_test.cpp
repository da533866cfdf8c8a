// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "tidemark/base/random.h"

namespace tidemark::kernels {
namespace {

std::vector<float> random(std::int64_t n, double zeros) {
  Rng rng(static_cast<std::uint64_t>(n) + 7);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = rng.uniform() < zeros ? 0.0f : static_cast<float>(4 * rng.uniform() - 2);
  return x;
}

// Through the slot and back; false where it did not fit. `base`: for codecs of differences.
bool there_and_back(const Codec& c, const std::vector<float>& x, std::vector<float>& y, const std::vector<float>& base = {}) {
  std::vector<std::byte> slot(static_cast<std::size_t>(c.slot) + 1, std::byte{0x5a});
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(std::max(c.encode->workspace(), c.decode->workspace())) + 8);
  const std::size_t inputs = c.against ? 2 : 1;
  const void* in[] = {x.data(), base.data()};
  void* out[] = {slot.data()};
  c.encode->run({std::span(in).first(inputs), out, workspace.data()});
  EXPECT_EQ(slot.back(), std::byte{0x5a}) << "wrote behind its slot";
  if (c.encode->overflowed()) return false;
  y.assign(x.size(), -7.0f);
  const void* in2[] = {slot.data(), base.data()};
  void* out2[] = {y.data()};
  c.decode->run({std::span(in2).first(inputs), out2, workspace.data()});
  return true;
}

TEST(Codec, ZerosGiveBackTheSameBitsOrSayThatTheyDoNotFit) {
  for (const std::int64_t n : {1, 7, 64, 1000, 16384, 16385, 100003}) {
    for (const double zeros : {0.0, 0.3, 0.5, 0.9, 1.0}) {
      std::vector<float> x = random(n, zeros), y;
      if (n > 10) x[3] = -0.0f;
      const std::optional<Codec> c = codec("zeros", Shape{n}, 2);
      ASSERT_TRUE(c);
      EXPECT_FALSE(c->lossy);
      const auto count =
          std::count_if(x.begin(), x.end(), [](float v) { return std::bit_cast<std::uint32_t>(v) != 0; });
      const bool fits = there_and_back(*c, x, y);
      EXPECT_EQ(fits, count <= n * 3 / 5) << n << " with " << count;
      if (!fits) continue;
      EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * 4), 0) << n;
    }
  }
}

TEST(Codec, LossyOnesStayWithinTheirPrecision) {
  struct Case {
    const char* name;
    double relative, absolute;  // to the element; to the largest of its block
  };
  for (const Case& k :
       {Case{"bf16", 1.0 / 256, 0}, Case{"f16", 1.0 / 2048, 1e-7}, Case{"fp8", 1.0 / 16, 0x1p-10},
        Case{"int8", 0, 1.0 / 254}, Case{"int4", 0, 1.0 / 14}}) {
    for (const std::int64_t n : {1, 63, 64, 65, 1000}) {
      const std::vector<float> x = random(n, 0.1);
      std::vector<float> y;
      const std::optional<Codec> c = codec(k.name, Shape{n}, 2);
      ASSERT_TRUE(c);
      EXPECT_TRUE(c->lossy);
      ASSERT_TRUE(there_and_back(*c, x, y));
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_LE(std::abs(x[i] - y[i]), k.relative * std::abs(x[i]) + k.absolute * (k.relative > 0 ? 1 : 2.001))  // elements lie in [-2, 2]
            << k.name << " " << x[i];
    }
  }
  EXPECT_FALSE(codec("zip", Shape{10}, 1));
}

// Masks are made from them: x > 0, x != 0.
TEST(Codec, WholeNumbersKeepSignsAndZeros) {
  const std::vector<float> x = random(5000, 0.4);
  for (const char* name : {"int8", "int4"}) {
    std::vector<float> y;
    ASSERT_TRUE(there_and_back(*codec(name, Shape{5000}, 2), x, y));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE((x[i] > 0) == (y[i] > 0) && (x[i] < 0) == (y[i] < 0)) << name << " " << x[i] << " " << y[i];
  }
}

TEST(Codec, ADifferenceIsCodedInItsOwnSize) {
  const std::vector<float> base = random(1000, 0);
  std::vector<float> x = base, y;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.001f * static_cast<float>(i % 7);
  const std::optional<Codec> c = codec("delta", Shape{1000}, 2);
  ASSERT_TRUE(c && c->against && c->lossy);
  ASSERT_TRUE(there_and_back(*c, x, y, base));
  // Half a step of the largest difference, and what the additions round.
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_LE(std::abs(x[i] - y[i]), 0.006 / 254 * 1.01 + 2 * 0x1p-22) << i;
}

TEST(Codec, AMatrixOfLowRankComesBackAsGoodAsItWas) {
  constexpr std::int64_t rows = 90, columns = 64, rank = 5;  // an eighth of 64 is more than enough
  const std::vector<float> a = random(rows * rank, 0), b = random(rank * columns, 0.2);
  std::vector<float> x(static_cast<std::size_t>(rows * columns)), y;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t k = 0; k < rank; ++k)
        x[static_cast<std::size_t>(i * columns + j)] += a[static_cast<std::size_t>(i * rank + k)] * b[static_cast<std::size_t>(k * columns + j)];
    }
  }
  const std::optional<Codec> c = codec("low_rank", Shape{9, 10, columns}, 2);
  ASSERT_TRUE(c && c->lossy);
  EXPECT_EQ(c->slot, 4 * 8 * (rows + columns));
  ASSERT_TRUE(there_and_back(*c, x, y));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-4);
}

TEST(Codec, ZstdGivesBackTheSameBitsOrSaysThatTheyDoNotFit) {
  if (!codec("zstd", Shape{1}, 1)) {
    EXPECT_FALSE(codec("zstd", Shape{100}, 2));
    return;  // built without it
  }
  for (const std::int64_t n : {1000, 65536, 65537, 200001}) {
    Rng rng(5);
    std::vector<float> x(static_cast<std::size_t>(n)), y;
    for (float& v : x) v = static_cast<float>(rng.uniform() + rng.uniform() + rng.uniform() - 1.5);
    const std::optional<Codec> c = codec("zstd", Shape{n}, 3);
    EXPECT_FALSE(c->lossy);
    EXPECT_LT(c->slot, 4 * n * 9 / 10);
    ASSERT_TRUE(there_and_back(*c, x, y)) << n;
    EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * 4), 0) << n;
    // Bits without any pattern.
    for (float& v : x) v = std::bit_cast<float>(static_cast<std::uint32_t>(rng.below(std::uint64_t{1} << 32)));
    EXPECT_FALSE(there_and_back(*c, x, y)) << n;
  }
}

TEST(Codec, WhatIsNoNumberComesBackAsNone) {
  std::vector<float> x = random(64, 0), y;
  x[5] = std::nanf("");
  for (const char* name : {"bf16", "f16", "fp8", "int8", "int4"}) {
    ASSERT_TRUE(there_and_back(*codec(name, Shape{64}, 1), x, y));
    EXPECT_TRUE(std::isnan(y[5])) << name;
  }
}

}  // namespace
}  // namespace tidemark::kernels
