// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/codec.h"

#include <gtest/gtest.h>

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

// Through the slot and back; false where it did not fit.
bool there_and_back(const Codec& c, const std::vector<float>& x, std::vector<float>& y) {
  std::vector<std::byte> slot(static_cast<std::size_t>(c.slot) + 1, std::byte{0x5a});
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(std::max(c.encode->workspace(), c.decode->workspace())) + 8);
  const void* in[] = {x.data()};
  void* out[] = {slot.data()};
  c.encode->run({in, out, workspace.data()});
  EXPECT_EQ(slot.back(), std::byte{0x5a}) << "wrote behind its slot";
  if (c.encode->overflowed()) return false;
  y.assign(x.size(), -7.0f);
  const void* in2[] = {slot.data()};
  void* out2[] = {y.data()};
  c.decode->run({in2, out2, workspace.data()});
  return true;
}

TEST(Codec, ZerosGiveBackTheSameBitsOrSayThatTheyDoNotFit) {
  for (const std::int64_t n : {1, 7, 64, 1000, 16384, 16385, 100003}) {
    for (const double zeros : {0.0, 0.3, 0.5, 0.9, 1.0}) {
      std::vector<float> x = random(n, zeros), y;
      if (n > 10) x[3] = -0.0f;
      const std::optional<Codec> c = codec("zeros", n, 2);
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
        Case{"int8", 0, 2.0 / 253}, Case{"int4", 0, 2.0 / 13}}) {
    for (const std::int64_t n : {1, 63, 64, 65, 1000}) {
      const std::vector<float> x = random(n, 0.1);
      std::vector<float> y;
      const std::optional<Codec> c = codec(k.name, n, 2);
      ASSERT_TRUE(c);
      EXPECT_TRUE(c->lossy);
      ASSERT_TRUE(there_and_back(*c, x, y));
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_LE(std::abs(x[i] - y[i]), k.relative * std::abs(x[i]) + k.absolute * (k.relative > 0 ? 1 : 2))
            << k.name << " " << x[i];
    }
  }
  EXPECT_FALSE(codec("zip", 10, 1));
}

TEST(Codec, WhatIsNoNumberComesBackAsNone) {
  std::vector<float> x = random(64, 0), y;
  x[5] = std::nanf("");
  for (const char* name : {"bf16", "f16", "fp8", "int8", "int4"}) {
    ASSERT_TRUE(there_and_back(*codec(name, 64, 1), x, y));
    EXPECT_TRUE(std::isnan(y[5])) << name;
  }
}

}  // namespace
}  // namespace tidemark::kernels
