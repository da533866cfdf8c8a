// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/attention.h"

#include "tests/kernels/support.h"
#include "tidemark/kernels/cpu/lanes_math.h"
#include "tidemark/kernels/ref/attention.h"

namespace tidemark::kernels {
namespace {

struct Case {
  std::int64_t batch, queries, keys, heads, groups, size;
  bool causal;
  std::string text() const {
    return fmt::format("B{} T{} S{} H{} G{} D{}{}", batch, queries, keys, heads, groups, size,
                       causal ? " causal" : "");
  }
};
const Case kCases[] = {
    {1, 5, 5, 2, 2, 3, true},    {2, 3, 6, 4, 2, 8, false},     {1, 1, 1, 1, 1, 1, false},
    {2, 70, 70, 2, 1, 64, true}, {1, 33, 200, 3, 3, 20, false}, {1, 150, 150, 1, 1, 16, true},
    {1, 40, 7, 2, 2, 8, true},   {1, 7, 40, 2, 2, 8, true},     {0, 4, 4, 2, 2, 4, false},
    {1, 0, 4, 2, 2, 4, false},   {1, 64, 128, 1, 1, 32, false}};

// q, k and v as dense arrays, or as parts of one projection (B, T, 3, H, D).
KernelSpec forward_spec(const Case& c, DType t, bool parts, int threads) {
  const Shape q{c.batch, c.queries, c.heads, c.size}, k{c.batch, c.keys, c.groups, c.size};
  const auto part = [&](const Shape& s) {
    const std::int64_t row = 3 * s[2] * s[3];
    return parts ? laid_out(s, {s[1] * row, row, s[3], 1}, t) : dense(s, t);
  };
  return {.in = {part(q), part(k), part(k)},
          .out = {dense(q, t), dense({c.batch, c.queries, c.heads}, t)},
          .attrs = {{"causal", std::int64_t{c.causal}}, {"scale", 0.7}},
          .threads = threads};
}
KernelSpec backward_spec(const Case& c, DType t, bool parts, int threads) {
  KernelSpec f = forward_spec(c, t, parts, threads);
  const Value rows = f.out[1];
  return {.in = {f.in[0], f.in[0], f.in[1], f.in[2], rows, rows},
          .out = {f.out[0], dense(f.in[1].type.shape, t), dense(f.in[2].type.shape, t)},
          .attrs = f.attrs,
          .threads = threads};
}

TEST(Attention, FastAgreesWithPlain) {
  for (const DType t : {DType::f64, DType::f32}) {
    for (const Case& c : kCases) {
      for (const bool parts : {false, true}) {
        Bed forward(forward_spec(c, t, parts, 2));
        expect_agreement(forward, *attention(forward.spec), *attention_reference(forward.spec), tolerance(t),
                         c.text());
        Bed back(backward_spec(c, t, parts, 2));
        // True log-sum-exps, so that weights are probabilities.
        Bed same(forward_spec(c, t, parts, 1));
        for (std::size_t i = 0; i < 3; ++i) same.set(i, back.input(i + 1));
        same.run(*attention_reference(same.spec));
        back.set(4, same.output(1));
        expect_agreement(back, *attention_backward(back.spec), *attention_backward_reference(back.spec),
                         tolerance(t), c.text() + " backward");
      }
    }
  }
}

TEST(Attention, TheSameBitsForAnyThreadCount) {
  const Case c{2, 70, 70, 4, 2, 24, true};
  Bed forward(forward_spec(c, DType::f32, true, 1)), back(backward_spec(c, DType::f32, true, 1));
  const auto one = forward.results(*attention(forward.spec)),
             one_back = back.results(*attention_backward(back.spec));
  for (const int threads : {2, 3, 5}) {
    EXPECT_EQ(forward.results(*attention(forward_spec(c, DType::f32, true, threads))), one);
    EXPECT_EQ(back.results(*attention_backward(backward_spec(c, DType::f32, true, threads))), one_back);
  }
}

TEST(Attention, NeedsNoMemoryOfTheOrderOfTheScores) {
  const Case c{1, 4096, 4096, 8, 8, 64, true};
  const KernelSpec f = forward_spec(c, DType::f32, false, 2), b = backward_spec(c, DType::f32, false, 2);
  const Bytes arrays = 3 * f.in[0].type.bytes();
  EXPECT_LT(attention(f)->workspace(), arrays);
  EXPECT_LT(attention_backward(b)->workspace(), arrays);
}

TEST(Attention, RunsWithoutLargeAllocations) {
  const Case c{1, 128, 128, 4, 4, 64, true};
  Bed forward(forward_spec(c, DType::f32, true, 2)), back(backward_spec(c, DType::f32, true, 2));
  const auto kernel = attention(forward.spec), kernel_back = attention_backward(back.spec);
  const auto workspace = Storage::allocate(std::max(kernel->workspace(), kernel_back->workspace()));
  forward.run(*kernel, workspace->data());
  const LargeAllocations counted;
  forward.run(*kernel, workspace->data());
  back.run(*kernel_back, workspace->data());
  EXPECT_EQ(counted.count(), 0);
}

TEST(LanesMath, ExpIsWithinTwoUnits) {
  for (double x = -87; x < 88; x += 0.01037) {
    const auto f = exp(Lanes<float>::all(static_cast<float>(x)));
    const double want = std::exp(static_cast<double>(static_cast<float>(x)));
    ASSERT_NEAR(static_cast<double>(f.v[1]) / want, 1, 2.5e-7) << x;
    ASSERT_NEAR(exp(Lanes<double>::all(x)).v[1] / std::exp(x), 1, 1e-15) << x;
  }
  EXPECT_EQ(exp(Lanes<float>::all(-INFINITY)).v[0], 0);
  EXPECT_EQ(exp(Lanes<float>::all(-200.0f)).v[0], 0);
  EXPECT_EQ(exp(Lanes<double>::all(-INFINITY)).v[0], 0);
  EXPECT_TRUE(std::isnan(exp(Lanes<float>::all(NAN)).v[0]));
}

}  // namespace
}  // namespace tidemark::kernels
