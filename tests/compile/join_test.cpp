// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/join.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

std::int64_t count(const Graph& g, const std::string& op) {
  return std::count_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.op->name == op; });
}
Graph joined(const Graph& g) {
  Graph result =
      join_products(g, {*find_op("matmul"), *find_op("add"), *find_op("permute"), *find_op("concat")});
  verify(result);
  return result;
}

// A recurrence whose weight is used at each of five steps.
Tensor unrolled(const Tensor& w, const Tensor& x) {
  Tensor h = x;
  for (int t = 0; t < 5; ++t) h = tanh(matmul(h, w));
  return sum(square(h));
}

TEST(Join, TheGradientOfAnUnrolledWeightIsOneProduct) {
  const Graph g = trace(grad(unrolled), abstract({{12, 12}}), abstract({{2, 12}}));
  EXPECT_EQ(count(g, "matmul"), 5 + 4 + 5);
  const Graph after = joined(g);
  EXPECT_EQ(count(after, "matmul"), 5 + 4 + 1);
  EXPECT_EQ(count(after, "concat"), 2);
  // The rows put together are those of the steps themselves: the turn comes after.
  for (const Node& n : after.nodes) {
    if (n.op == find_op("concat")) {
      EXPECT_EQ(after.type(n.out[0]).shape, (Shape{10, 12}));
    }
  }
}

TEST(Join, NoMoreIsHeldThanAddingUpWouldHold) {
  // A part holds 3 * (6 + 6) = 36 elements; the sum so far and the next product 2 * 36.
  const Graph g = trace(grad(unrolled), abstract({{6, 6}}), abstract({{3, 6}}));
  const Graph after = joined(g);
  EXPECT_EQ(count(after, "matmul"), 5 + 4 + 3);  // two and two together, and one
}

TEST(Join, ProductsThatOthersReadOrThatAreDeepStay) {
  const auto read = [](const Tensor& a, const Tensor& b) {
    const Tensor c = matmul(a, b);
    return c + matmul(b, a) + exp(c);
  };
  const Graph g = trace(read, abstract({{4, 4}}), abstract({{4, 4}}));
  EXPECT_EQ(print(joined(g)), print(g));
  const auto deep = [](const Tensor& a, const Tensor& b) { return matmul(a, b) + matmul(a, a); };
  const Graph h = trace(deep, abstract({{65, 65}}), abstract({{65, 65}}));
  EXPECT_EQ(print(joined(h)), print(h));
  const auto batches = [](const Tensor& a, const Tensor& b) { return matmul(a, b) + matmul(b, a); };
  const Graph i = trace(batches, abstract({{2, 4, 4}}), abstract({{2, 4, 4}}));
  EXPECT_EQ(print(joined(i)), print(i));
}

TEST(Join, OtherTermsOfTheSumStayInIt) {
  const auto f = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    return c + matmul(a, b) + exp(c) + matmul(exp(a), b);
  };
  std::vector<float> data(64);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 7) * 0.25f - 1;
  const Tensor c = tensor(data, {8, 8}),
               a = tensor(std::vector<float>(data.begin(), data.begin() + 16), {8, 2}),
               b = tensor(std::vector<float>(data.begin() + 5, data.begin() + 21), {2, 8});
  EXPECT_EQ(count(joined(trace(f, a, b, c)), "matmul"), 1);
  const Tensor expected = f(a, b, c);
  const Tensor y = compile(f)(a, b, c);
  for (std::size_t i = 0; i < data.size(); ++i)
    EXPECT_NEAR(y.data<float>()[i], expected.data<float>()[i], 1e-5);
}

TEST(Join, RowsAreAddedToTheOtherGradientOfATiedTable) {
  const auto loss = [](const Tensor& table, const Tensor& indices) {
    return sum(square(matmul(embedding(table, indices), transpose(table))));
  };
  std::vector<float> data(30);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i * 7 % 11) * 0.25f - 1;
  const Tensor table = tensor(data, {10, 3}), indices = tensor(std::vector<std::int64_t>{2, 7, 2, 9}, {4});
  const Graph g = trace(grad(loss), table, indices);
  const Graph after = join_rows(g, *find_op("add"), *find_op("index_add"), *find_op("index_add_to"));
  verify(after);
  EXPECT_EQ(count(after, "index_add_to"), 1);
  const Tensor expected = grad(loss)(table, indices);
  const Tensor y = compile(grad(loss))(table, indices);
  for (std::size_t i = 0; i < data.size(); ++i)
    EXPECT_NEAR(y.data<float>()[i], expected.data<float>()[i], 1e-4);
}

TEST(Join, GradientsAgree) {
  std::vector<float> data(144);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i * 7 % 23) * 0.05f - 0.5f;
  const Tensor w = tensor(data, {12, 12}),
               x = tensor(std::vector<float>(data.begin(), data.begin() + 24), {2, 12});
  const Tensor expected = grad(unrolled)(w, x);
  const Tensor y = compile(grad(unrolled))(w, x);
  for (std::size_t i = 0; i < data.size(); ++i)
    EXPECT_NEAR(y.data<float>()[i], expected.data<float>()[i], 1e-6);
}

}  // namespace
}  // namespace tidemark
