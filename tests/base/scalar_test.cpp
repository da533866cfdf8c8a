// The f32 formulas against libm in double, over all magnitudes.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/scalar.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark {
namespace {

namespace scalar = formulas;

// Distance in units of the last place of the exact result; subnormal results count in the least subnormal.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(static_cast<double>(got) - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

struct Function {
  const char* name;
  float (*ours)(float);
  double (*exact)(double);
  double bound;  // ulps
};

class ScalarFunctions : public ::testing::TestWithParam<Function> {};

TEST_P(ScalarFunctions, IsWithinItsBoundEverywhere) {
  const Function& f = GetParam();
  double worst = 0;
  float at = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 3571) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double u = ulps(f.ours(x), f.exact(static_cast<double>(x)));
    if (u > worst) {
      worst = u;
      at = x;
    }
  }
  EXPECT_LE(worst, f.bound) << f.name << " at " << at;
  RecordProperty("worst", std::to_string(worst));
}
TEST_P(ScalarFunctions, SpecialValues) {
  const Function& f = GetParam();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, std::numeric_limits<float>::quiet_NaN(),
                        1e-45f, -1e-45f, std::numeric_limits<float>::min(), std::numeric_limits<float>::max(),
                        -88.7f, 88.72284f, -103.9f, std::numeric_limits<float>::lowest()}) {
    EXPECT_LE(ulps(f.ours(x), f.exact(static_cast<double>(x))), f.bound)
        << f.name << "(" << x << ") = " << f.ours(x);
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))) + (std::isnan(x) ? x : 0);
}

INSTANTIATE_TEST_SUITE_P(F32, ScalarFunctions,
                         ::testing::Values(Function{"exp", scalar::exp<float>, std::exp, 1.5},
                                           Function{"expm1", scalar::expm1<float>, std::expm1, 2.5},
                                           Function{"log", scalar::log<float>, std::log, 1.5},
                                           Function{"log1p", scalar::log1p<float>, std::log1p, 2.5},
                                           Function{"tanh", scalar::tanh<float>, std::tanh, 3},
                                           Function{"erf", scalar::erf<float>, std::erf, 2.5},
                                           Function{"sigmoid", scalar::sigmoid<float>, sigmoid, 3},
                                           Function{"softplus", scalar::softplus<float>, softplus, 3},
                                           Function{"sin", scalar::sin<float>, std::sin, 1},
                                           Function{"cos", scalar::cos<float>, std::cos, 1},
                                           Function{"tan", scalar::tan<float>, std::tan, 1}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Scalar, FloatsBecomeIntegersEverywhere) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(scalar::to_integer<std::int32_t>(-2.9), -2);
  EXPECT_EQ(scalar::to_integer<std::int32_t>(std::nan("")), 0);
  EXPECT_EQ(scalar::to_integer<std::int32_t>(2147483647.0), 2147483647);
  EXPECT_EQ(scalar::to_integer<std::int32_t>(2147483648.0f), 2147483647);
  EXPECT_EQ(scalar::to_integer<std::int32_t>(-1e30f), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(scalar::to_integer<std::int64_t>(inf), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(scalar::to_integer<std::int64_t>(-inf), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(scalar::to_integer<std::int64_t>(9007199254740993.0), 9007199254740992);
  EXPECT_EQ(scalar::to_integer<std::uint8_t>(-3.0f), 0);
  EXPECT_EQ(scalar::to_integer<std::uint8_t>(255.9f), 255);
  EXPECT_EQ(scalar::to_integer<std::uint8_t>(256.0f), 255);
}

}  // namespace
}  // namespace tidemark
