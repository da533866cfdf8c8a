// Bad input gets a clear error that names the fact, and loses nothing.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

// The error of f(); "" where there is none.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
#define EXPECT_ERROR(expression, part)                                                         \
  do {                                                                                         \
    const std::string said = error_of([&] { static_cast<void>(expression); });                 \
    EXPECT_NE(said.find(part), std::string::npos) << #expression << " said: '" << said << "'"; \
  } while (false)

TEST(BadInput, ShapesAndDTypes) {
  EXPECT_ERROR(matmul(zeros({3, 4}), zeros({5, 6})), "[matmul]");
  EXPECT_ERROR(zeros({3}) + zeros({4}), "(3) vs (4)");
  EXPECT_ERROR(zeros({3}) + zeros({3}, DType::f64), "f64");
  EXPECT_ERROR(reshape(zeros({6}), {4, -1}), "[reshape]");
  EXPECT_ERROR(permute(zeros({2, 3}), {0, 0}), "[permute]");
  EXPECT_ERROR(concat({zeros({2, 3}), zeros({2, 4})}, 0), "[concat]");
  EXPECT_ERROR(sum(zeros({2}), {3}), "axis 3");
  EXPECT_ERROR(conv2d(zeros({1, 3, 8, 8}), zeros({4, 2, 3, 3})), "[conv2d]");
  EXPECT_ERROR(conv2d(zeros({1, 3, 2, 2}), zeros({4, 3, 5, 5})), "[conv2d]");
  EXPECT_ERROR(layer_norm(zeros({2, 3}), ones({4}), zeros({4})), "[layer_norm]");
  EXPECT_ERROR(cross_entropy(zeros({2, 3}), zeros({2})), "[cross_entropy]");
  EXPECT_ERROR(Shape({-1}), "negative");
  EXPECT_ERROR(Shape({1 << 30, 1 << 30}), "2^48");
  EXPECT_ERROR((tensor<float>({1, 2, 3}, {2})), "3 elements");
  EXPECT_ERROR(zeros({2}).item<float>(), "2 elements");
  EXPECT_ERROR(zeros({1}).item<double>(), "f64");
  EXPECT_ERROR(Tensor{} + 1.0, "[add] an undefined tensor");
  EXPECT_ERROR(exp(Tensor{}), "undefined");
  EXPECT_ERROR(abstract({{2}}) + 1.0, "abstract");
}

TEST(BadInput, IndicesOutOfRange) {
  EXPECT_ERROR(embedding(zeros({10, 4}), tensor<std::int64_t>({0, 10}, {2})), "10");
  EXPECT_ERROR(embedding(zeros({10, 4}), tensor<std::int64_t>({-1}, {1})), "-1");
  EXPECT_ERROR(embedding(zeros({10, 4}), zeros({2})), "[embedding]");
  EXPECT_ERROR(cross_entropy(zeros({2, 3}), tensor<std::int64_t>({0, 3}, {2})), "3");
  EXPECT_ERROR(slice(zeros({4}), 0, 1, 9), "[slice]");
}

TEST(BadInput, TheSameErrorsInsideACompiledStepLeaveItUsable) {
  auto f = compile([](const Tensor& table, const Tensor& i) { return sum(embedding(table, i)); });
  const Tensor table = ones({10, 4});
  EXPECT_ERROR(f(table, tensor<std::int64_t>({3, 12}, {2})), "12");
  EXPECT_EQ(f(table, tensor<std::int64_t>({3, 9}, {2})).item<float>(), 8);
}

TEST(BadInput, EmptyArraysWork) {
  const Tensor none = zeros({0, 4});
  EXPECT_EQ(sum(none).item<float>(), 0);
  EXPECT_EQ(matmul(none, zeros({4, 3})).shape(), Shape({0, 3}));
  EXPECT_EQ(concat({none, ones({2, 4})}, 0).shape(), Shape({2, 4}));
  EXPECT_EQ(grad([](const Tensor& x) { return sum(tanh(x)); })(none).shape(), Shape({0, 4}));
  auto f = compile(value_and_grad([](const Tensor& w, const Tensor& x) { return sum(matmul(x, w)); }));
  EXPECT_EQ(f(ones({4, 2}), none).grad.shape(), Shape({4, 2}));
  EXPECT_TRUE(std::isnan(mean(none).item<float>()));
  EXPECT_EQ(sum(zeros({3, 0}), {0}).shape(), Shape({0}));
  EXPECT_EQ(mean(zeros({2, 3, 0}), {1}).shape(), Shape({2, 0}));
}

// Deep graphs: no recursion anywhere, time near-linear (the test would not end otherwise).
TEST(BadInput, ChainsOfAHundredThousandNodes) {
  const auto f = [](Tensor x) {
    for (int i = 0; i < 100'000; ++i) x = i % 2 == 0 ? x * 1.00001 : sin(x);
    return sum(x);
  };
  const Graph g = trace(value_and_grad(f), abstract({{4}, DType::f64}));
  verify(g);
  EXPECT_GT(g.nodes.size(), 200'000u);
  auto compiled = compile(f);
  EXPECT_TRUE(std::isfinite(compiled(full({4}, 0.5, DType::f64)).item<double>()));
}

TEST(SlowBadInput, AMillionNodes_Slow) {
  const auto f = [](Tensor x) {
    for (int i = 0; i < 500'000; ++i) x = i % 2 == 0 ? x * 1.00001 : sin(x);
    return sum(x);
  };
  auto compiled = compile(value_and_grad(f));
  const auto [value, g] = compiled(full({4}, 0.5, DType::f64));
  EXPECT_TRUE(std::isfinite(value.item<double>()));
  EXPECT_TRUE(std::isfinite(g.data<double>()[0]));
}

}  // namespace
}  // namespace tidemark
