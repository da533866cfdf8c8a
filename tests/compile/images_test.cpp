// Images through the whole pipeline: the layout pass changes where elements lie, never what they are.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/attention.h"
#include "tidemark/ops/conv.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Tensor pattern(const Shape& shape, int seed, double scale = 0.5) {
  std::vector<float> data(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto k = static_cast<int>((i * 2654435761u + static_cast<std::size_t>(seed) * 40503u) % 1009u);
    data[i] = static_cast<float>(scale * (k - 504) / 504.0);
  }
  return tensor(data, shape);
}

struct Net {
  Tensor stem, scale, shift, depth, join, head;
};

Net net() {
  return {pattern({16, 3, 3, 3}, 1), ones({16}),        pattern({16}, 2), pattern({16, 1, 3, 3}, 3),
          pattern({8, 32, 1, 1}, 4), pattern({8, 5}, 5)};
}

Tensor forward(const Net& p, const Tensor& x) {
  const Tensor a = conv2d(x, p.stem, {.padding = {1, 1}});
  const Tensor b = relu(batch_norm_training(a, p.scale, p.shift).y);
  const Tensor c = max_pool2d(b, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  const Tensor d = conv2d(c, p.depth, {.padding = {1, 1}, .groups = 16});
  const Tensor e = conv2d(concat({c, d + c}, 1), p.join);
  const Tensor f = reshape(adaptive_avg_pool2d(e, {1, 1}), {x.size(0), 8});
  return mean(square(matmul(f, p.head)));
}

std::vector<float> numbers(const Tensor& t) { return {t.data<float>().begin(), t.data<float>().end()}; }

void expect_close(const Tensor& a, const Tensor& b, const char* what) {
  const auto x = numbers(a), y = numbers(b);
  ASSERT_EQ(x.size(), y.size());
  float largest = 0;
  for (const float v : y) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], 2e-5f * largest + 1e-8f) << what << " at " << i;
}

TEST(Images, EveryLayoutGivesTheSameNumbers) {
  const Net p = net();
  const Tensor x = pattern({3, 3, 13, 12}, 7);
  const auto eager = value_and_grad(forward)(p, x);
  for (const bool layouts : {false, true}) {
    for (const bool fuse : {false, true}) {
      auto step = compile(value_and_grad(forward), {.passes = {.fuse = fuse, .layouts = layouts}});
      const auto result = step(p, x);
      expect_close(result.value, eager.value, "loss");
      expect_close(result.grad.stem, eager.grad.stem, "stem");
      expect_close(result.grad.scale, eager.grad.scale, "scale");
      expect_close(result.grad.shift, eager.grad.shift, "shift");
      expect_close(result.grad.depth, eager.grad.depth, "depth");
      expect_close(result.grad.join, eager.grad.join, "join");
      expect_close(result.grad.head, eager.grad.head, "head");
    }
  }
}

TEST(Images, FewCopiesAreLeft) {
  auto step = compile(value_and_grad(forward));
  const Compiled& compiled = step.plan_for(net(), pattern({3, 3, 13, 12}, 7));
  int copies = 0;
  for (const Node& n : compiled.graph().nodes) copies += std::string(n.op->name) == "contiguous";
  EXPECT_LE(copies, 2);  // the image; the pooled features are a view
}

struct Block {
  Tensor qkv, out;
};

// q, k and v are parts of one product, read in place.
Tensor attend(const Block& p, const Tensor& x) {
  const std::int64_t b = x.size(0), t = x.size(1), h = 2, d = x.size(2) / h;
  const Tensor qkv = reshape(matmul(x, p.qkv), {b, t, 3, h, d});
  const auto part = [&](std::int64_t i) { return squeeze(slice(qkv, 2, i, i + 1), 2); };
  const Tensor y = attention(part(0), part(1), part(2), {.causal = true});
  return mean(square(matmul(reshape(y, {b, t, h * d}), p.out)));
}

TEST(Images, AttentionReadsPartsOfAProjectionInPlace) {
  const Block p{pattern({16, 48}, 1), pattern({16, 16}, 2)};
  const Tensor x = pattern({2, 9, 16}, 3);
  const auto eager = value_and_grad(attend)(p, x);
  auto step = compile(value_and_grad(attend));
  const auto result = step(p, x);
  expect_close(result.value, eager.value, "loss");
  expect_close(result.grad.qkv, eager.grad.qkv, "qkv");
  expect_close(result.grad.out, eager.grad.out, "out");
  for (const Node& n : step.plan_for(p, x).graph().nodes) EXPECT_STRNE(n.op->name, "contiguous");
}

}  // namespace
}  // namespace tidemark
