// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/pool.h"

#include "tests/kernels/support.h"
#include "tidemark/kernels/ref/pool.h"

namespace tidemark::kernels {
namespace {

using Sizes = std::vector<std::int64_t>;

Attrs windows(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return {{"kernel", Sizes{kernel, kernel}},
          {"stride", Sizes{stride, stride}},
          {"padding", Sizes{padding, padding}}};
}

struct Case {
  Shape x, y;
  Attrs attrs;
};

std::vector<Case> cases() {
  Attrs without_pad = windows(3, 2, 1);
  without_pad.set("include_pad", std::int64_t{0});
  return {{{2, 3, 6, 5}, {2, 3, 3, 2}, windows(2, 2, 0)},
          {{2, 70, 7, 7}, {2, 70, 4, 4}, windows(3, 2, 1)},
          {{1, 16, 5, 5}, {1, 16, 3, 3}, without_pad},
          {{0, 4, 4, 4}, {0, 4, 3, 3}, windows(2, 1, 0)},
          {{1, 1, 1, 1}, {1, 1, 1, 1}, windows(1, 1, 0)}};
}

TEST(Pool, MaxAgreesWithPlainAndFindsItsIndices) {
  for (const Case& c : cases()) {
    for (const DType t : {DType::f32, DType::f64}) {
      Bed bed({.in = {channels_last(c.x, t)},
               .out = {channels_last(c.y, t), channels_last(c.y, DType::i32)},
               .attrs = c.attrs,
               .threads = 2});
      const auto fast = max_pool2d(bed.spec);
      ASSERT_NE(fast, nullptr);
      expect_agreement(bed, *fast, *max_pool2d_reference(bed.spec), 0, to_string(c.x));
      const auto x = bed.input(0), y = bed.output(0), at = bed.output(1);
      const std::int64_t plane = c.x[2] * c.x[3], pooled = c.y[2] * c.y[3];
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto image = static_cast<std::int64_t>(i) / pooled;
        ASSERT_EQ(y[i], x[static_cast<std::size_t>(image * plane + static_cast<std::int64_t>(at[i]))]);
      }
    }
  }
}

TEST(Pool, MaxCarriesNaN) {
  Bed bed({.in = {channels_last({1, 2, 2, 2})},
           .out = {channels_last({1, 2, 1, 1}), channels_last({1, 2, 1, 1}, DType::i32)},
           .attrs = windows(2, 2, 0)});
  bed.set(0, {1, NAN, 3, NAN, 1, 4, 4, 2});
  for (const auto& kernel : {max_pool2d(bed.spec), max_pool2d_reference(bed.spec)}) {
    bed.run(*kernel);
    EXPECT_TRUE(std::isnan(bed.output(0)[0]));
    EXPECT_EQ(bed.output(1), (std::vector<double>{1, 1}));  // the first NaN; the first of equals
    EXPECT_EQ(bed.output(0)[1], 4);
  }
}

TEST(Pool, AverageAndItsTransposeAgreeWithPlain) {
  std::vector<Case> all = cases();
  all.push_back({{2, 20, 5, 7}, {2, 20, 2, 3}, {}});
  all.push_back({{2, 130, 4, 4}, {2, 130, 1, 1}, {}});
  all.push_back({{1, 3, 2, 2}, {1, 3, 3, 3}, {}});
  for (const Case& c : all) {
    Bed forward({.in = {channels_last(c.x)}, .out = {channels_last(c.y)}, .attrs = c.attrs, .threads = 2});
    expect_agreement(forward, *avg_pool2d(forward.spec), *avg_pool2d_reference(forward.spec), 1e-6,
                     to_string(c.x));
    Bed back({.in = {channels_last(c.y)}, .out = {channels_last(c.x)}, .attrs = c.attrs, .threads = 2}, 2);
    expect_agreement(back, *avg_pool2d_backward(back.spec), *avg_pool2d_backward_reference(back.spec), 1e-6,
                     to_string(c.x));
    // <A x, y> = <x, A' y>
    double left = 0, right = 0;
    forward.run(*avg_pool2d(forward.spec));
    back.run(*avg_pool2d_backward(back.spec));
    const auto ax = forward.output(), y = back.input(0), x = forward.input(0), aty = back.output();
    for (std::size_t i = 0; i < y.size(); ++i) left += ax[i] * y[i];
    for (std::size_t i = 0; i < x.size(); ++i) right += x[i] * aty[i];
    EXPECT_NEAR(left, right, 1e-5) << to_string(c.x);
  }
}

TEST(Pool, UnpoolAndGatherAgreeWithPlain) {
  const Shape pooled{2, 67, 2, 3}, plane{2, 67, 4, 6};
  std::vector<double> indices;
  for (std::int64_t i = 0; i < pooled.numel(); ++i) indices.push_back(static_cast<double>(i * 7 % 24));
  Bed unpool({.in = {channels_last(pooled), channels_last(pooled, DType::i32)},
              .out = {channels_last(plane)},
              .threads = 2});
  unpool.set(1, indices);
  expect_agreement(unpool, *max_unpool2d(unpool.spec), *max_unpool2d_reference(unpool.spec), 1e-6, "unpool");
  Bed gather({.in = {channels_last(plane), channels_last(pooled, DType::i32)},
              .out = {channels_last(pooled)},
              .threads = 2});
  gather.set(1, indices);
  expect_agreement(gather, *pool_gather(gather.spec), *pool_gather_reference(gather.spec), 0, "gather");
}

TEST(Pool, PlainTakesChannelsFirstToo) {
  KernelSpec spec{.in = {dense({2, 3, 6, 5})}, .out = {dense({2, 3, 3, 2})}, .attrs = windows(2, 2, 0)};
  EXPECT_EQ(avg_pool2d(spec), nullptr);
  Bed first(spec);
  Bed last(
      {.in = {channels_last({2, 3, 6, 5})}, .out = {channels_last({2, 3, 3, 2})}, .attrs = windows(2, 2, 0)});
  last.set(0, first.input(0));
  first.run(*avg_pool2d_reference(first.spec));
  last.run(*avg_pool2d(last.spec));
  expect_near(last.output(), first.output(), 1e-6, "two layouts");
}

}  // namespace
}  // namespace tidemark::kernels
