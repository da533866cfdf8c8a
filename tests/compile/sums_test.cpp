// Sums have one order, that of the axes: however the argument lies and whatever it is fused with, compiled code gives the
// bits that eager code gives.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Tensor pattern(const Shape& shape) {
  std::vector<float> data(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(i * 2654435761u % 10007u) / 4001.0f - 1.1f;
  return tensor(data, shape);
}

struct Program {
  const char* what;
  Shape shape;
  std::function<Tensor(const Tensor&)> f;
};

void expect_same_bits(const char* what, const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.type(), b.type()) << what;
  EXPECT_EQ(std::memcmp(a.storage()->data(), b.storage()->data(), static_cast<std::size_t>(a.type().bytes())),
            0)
      << what;
}

void expect_eager_bits(const Program& p) {
  const Tensor x = pattern(p.shape);
  auto compiled = compile(p.f);
  expect_same_bits(p.what, compiled(x), p.f(x));
  const auto loss = [&](const Tensor& t) { return sum(square(p.f(t))); };
  auto gradient = compile(grad(loss));
  expect_same_bits(p.what, gradient(x), grad(loss)(x));
}

TEST(Sums, OverViewsGiveTheBitsOfEagerCode) {
  const std::vector<Program> programs = {
      {"all of a transposed matrix", {300, 130}, [](const Tensor& x) { return sum(transpose(x)); }},
      {"rows of a transposed matrix", {130, 300}, [](const Tensor& x) { return sum(transpose(x), {1}); }},
      {"columns of a transposed matrix", {130, 300}, [](const Tensor& x) { return sum(transpose(x), {0}); }},
      {"long rows of a transposed matrix",
       {9001, 5},
       [](const Tensor& x) { return mean(transpose(x), {1}); }},
      {"axes in another order",
       {7, 11, 13},
       [](const Tensor& x) {
         return sum(permute(x, {2, 0, 1}), {0, 2});
       }},
      {"the middle of permuted axes",
       {9, 80, 70},
       [](const Tensor& x) {
         return sum(permute(x, {1, 2, 0}), {1});
       }},
      {"every third row",
       {100, 37},
       [](const Tensor& x) { return sum(transpose(slice(x, 0, 1, 100, 3)), {1}); }},
      {"a broadcast",
       {41, 1},
       [](const Tensor& x) {
         return sum(broadcast_to(x, {3, 41, 17}), {0, 2});
       }},
      {"a chain over a view", {64, 129}, [](const Tensor& x) { return sum(tanh(transpose(x)) * 1.5, {0}); }},
      {"two sums of one chain",
       {65, 66},
       [](const Tensor& x) { return sum(exp(transpose(x)), {0}) * sum(exp(transpose(x))); }},
      {"a product over a view", {6, 50}, [](const Tensor& x) { return prod(transpose(x) * 0.9, {0}); }},
      {"softmax of a view", {33, 65}, [](const Tensor& x) { return sum(softmax(transpose(x), 0), {1}); }},
      {"channels last, by channel",
       {3, 20, 22, 10},
       [](const Tensor& x) {
         return sum(permute(x, {0, 3, 1, 2}), {0, 2, 3});
       }},
      {"channels last, by image",
       {3, 20, 22, 10},
       [](const Tensor& x) {
         return mean(permute(x, {0, 3, 1, 2}), {2, 3});
       }},
      {"channels last, many channels",
       {2, 9, 9, 200},
       [](const Tensor& x) {
         return sum(permute(x, {0, 3, 1, 2}), {0, 2, 3});
       }},
      {"channels last, many pixels",
       {1, 300, 230, 3},
       [](const Tensor& x) {
         return sum(permute(x, {0, 3, 1, 2}), {0, 2, 3});
       }},
      {"channels last, all",
       {3, 20, 22, 10},
       [](const Tensor& x) {
         return sum(permute(x, {0, 3, 1, 2}));
       }},
      {"channels last, over channels",
       {3, 8, 9, 10},
       [](const Tensor& x) {
         return sum(permute(x, {0, 3, 1, 2}), {1});
       }},
      {"channels last, a chain",
       {2, 16, 17, 12},
       [](const Tensor& x) {
         return sum(square(permute(x, {0, 3, 1, 2}) + 0.3), {0, 2, 3});
       }},
  };
  for (const Program& p : programs) expect_eager_bits(p);
}

}  // namespace
}  // namespace tidemark
