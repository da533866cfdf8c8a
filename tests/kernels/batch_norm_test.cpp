// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/batch_norm.h"

#include "tests/kernels/support.h"
#include "tidemark/kernels/ref/batch_norm.h"

namespace tidemark::kernels {
namespace {

const Shape kShapes[] = {{2, 3, 4, 5}, {3, 70, 9, 9}, {1, 1, 1, 1}, {4, 16, 1, 1}, {2, 600, 12, 12}};

KernelSpec forward_spec(const Shape& s, DType t, int threads) {
  const Shape c{s[1]};
  return {.in = {channels_last(s, t), dense(c, t), dense(c, t)},
          .out = {channels_last(s, t), dense(c, t), dense(c, t)},
          .attrs = {{"epsilon", 1e-5}},
          .threads = threads};
}
KernelSpec backward_spec(const Shape& s, DType t, int threads) {
  const Shape c{s[1]};
  return {.in = {channels_last(s, t), channels_last(s, t), dense(c, t), dense(c, t), dense(c, t)},
          .out = {channels_last(s, t), dense(c, t), dense(c, t)},
          .attrs = {{"epsilon", 1e-5}},
          .threads = threads};
}

std::vector<double> positive(std::size_t n) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 0.5 + static_cast<double>(i % 7) / 7;
  return v;
}

TEST(BatchNorm, FastAgreesWithPlain) {
  for (const DType t : {DType::f32, DType::f64}) {
    for (const Shape& s : kShapes) {
      Bed forward(forward_spec(s, t, 2));
      expect_agreement(forward, *batch_norm(forward.spec), *batch_norm_reference(forward.spec), tolerance(t),
                       to_string(s));
      Bed back(backward_spec(s, t, 2));
      back.set(4, positive(static_cast<std::size_t>(s[1])));
      expect_agreement(back, *batch_norm_backward(back.spec), *batch_norm_backward_reference(back.spec),
                       tolerance(t), to_string(s));
    }
  }
}

TEST(BatchNorm, TheSameBitsForAnyThreadCount) {
  const Shape s{3, 70, 31, 31};
  Bed forward(forward_spec(s, DType::f32, 1)), back(backward_spec(s, DType::f32, 1));
  back.set(4, positive(70));
  const auto one = forward.results(*batch_norm(forward.spec)),
             one_back = back.results(*batch_norm_backward(back.spec));
  for (const int threads : {2, 3}) {
    EXPECT_EQ(forward.results(*batch_norm(forward_spec(s, DType::f32, threads))), one);
    EXPECT_EQ(back.results(*batch_norm_backward(backward_spec(s, DType::f32, threads))), one_back);
  }
}

// A mean far from zero: sums of squares would lose all digits of the variance.
TEST(BatchNorm, VarianceSurvivesALargeMean) {
  const Shape s{4, 3, 8, 8};
  Bed bed(forward_spec(s, DType::f32, 2));
  std::vector<double> x = bed.input(0);
  for (double& v : x) v += 1000;
  bed.set(0, x);
  const auto fast = bed.results(*batch_norm(bed.spec));
  expect_near(fast[2], bed.results(*batch_norm_reference(bed.spec))[2], 1e-4, "variance");
}

TEST(BatchNorm, NotForChannelsFirst) {
  KernelSpec spec = forward_spec({2, 3, 4, 5}, DType::f32, 1);
  spec.in[0].layout = spec.out[0].layout = {};
  EXPECT_EQ(batch_norm(spec), nullptr);
  EXPECT_NE(batch_norm_reference(spec), nullptr);
}

}  // namespace
}  // namespace tidemark::kernels
