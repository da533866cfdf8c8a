// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/turn.h"

#include <gtest/gtest.h>

#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

int count(const Graph& g, const char* op) {
  int n = 0;
  for (const Node& node : g.nodes) n += std::string(node.op->name) == op;
  return n;
}
Graph turned(const Graph& g) {
  Graph result = turn_products(g, *find_op("matmul"), *find_op("permute"));
  verify(result);
  return result;
}

TEST(Turn, AProductReadOnlyTransposedIsComputedTransposed) {
  const Graph g = turned(trace([](const Tensor& a, const Tensor& b) { return exp(transpose(matmul(a, b))); },
                               abstract({{4, 3}}), abstract({{3, 5}})));
  EXPECT_EQ(count(g, "matmul"), 1);
  EXPECT_EQ(count(g, "permute"), 2);  // of the operands: views
  for (const Node& n : g.nodes) {
    if (std::string(n.op->name) == "matmul") {
      EXPECT_EQ(g.type(n.out[0]).shape, (Shape{5, 4}));
    }
  }
}

TEST(Turn, OneThatIsReadAsItIsStays) {
  const auto twice = [](const Tensor& a, const Tensor& b) {
    const Tensor c = matmul(a, b);
    return transpose(c) + c;
  };
  const Graph g = trace(twice, abstract({{4, 3}}), abstract({{3, 4}}));
  EXPECT_EQ(turned(g).nodes.size(), g.nodes.size());
  const Graph batches = trace(
      [](const Tensor& a, const Tensor& b) {
        return permute(matmul(a, b), {1, 0, 2});
      },
      abstract({{2, 4, 3}}), abstract({{2, 3, 4}}));
  EXPECT_EQ(turned(batches).nodes.size(), batches.nodes.size());
}

TEST(Turn, GradientsOfATransposedWeightAgree) {
  const auto loss = [](const Tensor& w, const Tensor& x) { return sum(square(matmul(x, transpose(w)))); };
  std::vector<float> data(28);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 9) * 0.25f - 1;
  const Tensor w = tensor(data, {7, 4}),
               x = tensor(std::vector<float>(data.begin(), data.begin() + 12), {3, 4});
  const Tensor eager = grad(loss)(w, x);
  auto step = compile(grad(loss));
  const Tensor compiled = step(w, x);
  for (std::size_t i = 0; i < 28; ++i) EXPECT_NEAR(compiled.data<float>()[i], eager.data<float>()[i], 1e-4);
}

}  // namespace
}  // namespace tidemark
