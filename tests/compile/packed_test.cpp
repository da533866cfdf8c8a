// Weights that many thin products share are packed once, by a node that is planned like any other.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tidemark/compile/compile.h"
#include "tidemark/compile/optimise.h"
#include "tidemark/front/grad.h"
#include "tidemark/kernels/strips.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

constexpr int kSteps = 10;
const Shape kWeight{300, 300};  // 300 columns: nine strips and a part of one

Tensor unrolled(const Tensor& w, const Tensor& x) {
  Tensor h = x;
  for (int t = 0; t < kSteps; ++t) h = tanh(matmul(h, w));
  return sum(square(h));
}

Tensor pattern(const Shape& shape, double scale) {
  std::vector<float> data(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(scale * (static_cast<double>(i * 7919u % 1009u) - 504) / 504);
  return tensor(data, shape);
}

std::int64_t packed(const Graph& g) {
  return std::count_if(g.values.begin(), g.values.end(),
                       [](const Value& v) { return kernels::in_strips(v.layout); });
}

Graph optimised(const Shape& w, const Shape& x) {
  return optimise(trace(grad(unrolled), abstract({w}), abstract({x})));
}

TEST(Packed, OncePerDirectionWhereItPays) {
  const Graph g = optimised(kWeight, {20, 300});
  EXPECT_EQ(packed(g), 2);  // forward as it is, backward transposed
  for (const Value& v : g.values) {
    if (kernels::in_strips(v.layout)) {
      EXPECT_EQ(v.layout.blocked_bytes, 300 * 320 * 4);
    }
  }
  EXPECT_EQ(packed(optimised({30, 30}, {20, 30})), 0) << "small";
  EXPECT_EQ(packed(optimised(kWeight, {200, 300})), 0) << "many rows";
  EXPECT_EQ(hash(parse(print(g), find_op)), hash(g)) << "the text form keeps it";
}

TEST(Packed, GivesTheNumbersOfEagerCode) {
  const Tensor w = pattern(kWeight, 0.1), x = pattern({20, 300}, 1);
  auto all = compile(value_and_grad(unrolled));
  const auto kept = all(w, x);
  const auto eager = value_and_grad(unrolled)(w, x);
  EXPECT_NEAR(kept.value.item<float>(), eager.value.item<float>(),
              1e-4f * std::abs(eager.value.item<float>()));
  double most = 0;
  for (std::size_t i = 0; i < 90000; ++i)
    most = std::max(most, std::abs(static_cast<double>(eager.grad.data<float>()[i])));
  for (std::size_t i = 0; i < 90000; ++i)
    ASSERT_NEAR(kept.grad.data<float>()[i], eager.grad.data<float>()[i], 1e-4 * most) << i;
}

TEST(Packed, GivesTheSameBitsForEveryBudget) {
  const Tensor w = pattern(kWeight, 0.1), x = pattern({20, 300}, 1);
  const auto of_x = [](const Tensor& a, const Tensor& b) { return unrolled(b, a); };
  auto all = compile(grad(of_x));
  const Tensor kept = all(x, w);
  const Bytes peak = all.plan_for(x, w).peak_predicted();
  auto tight = compile(grad(of_x), {.memory = peak - 64'000});
  const Tensor again = tight(x, w);
  EXPECT_LT(tight.plan_for(x, w).peak_predicted(), peak);
  EXPECT_EQ(std::memcmp(kept.storage()->data(), again.storage()->data(), 6000 * 4), 0);
}

TEST(Packed, IsARowOfTheAccount) {
  auto f = compile(unrolled);
  const Tensor w = pattern(kWeight, 0.1), x = pattern({20, 300}, 1);
  Bytes bytes = 0, sum = 0;
  for (const MemoryRow& row : f.plan_for(w, x).memory()) {
    sum += row.bytes;
    if (row.what == "packed weights") bytes = row.bytes;
    if (row.what == "unexplained") {
      EXPECT_EQ(row.bytes, 0);
    }
  }
  EXPECT_GE(bytes, 300 * 320 * 4);
  EXPECT_EQ(sum, f.plan_for(w, x).peak_predicted());
}

}  // namespace
}  // namespace tidemark
