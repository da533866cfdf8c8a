// Higher order under a budget: products with the Hessian, and gradients of gradients, are planned like any other program. Peak, bits and
// refusal as for training steps (contract_test.cpp).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

constexpr int kLayers = 6;

Tensor loss(const std::vector<Tensor>& w, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& m : w) h = tanh(matmul(h, m));
  return mean(square(h));
}
// The gradient's length, as penalties of gradients have it.
Tensor penalty(const std::vector<Tensor>& w, const Tensor& x) {
  Tensor total = full({}, 0.0);
  for (const Tensor& g : grad(loss)(w, x)) total = total + sum(square(g));
  return total;
}

std::vector<Tensor> weights() {
  std::vector<Tensor> w;
  for (int k = 0; k < kLayers; ++k) {
    std::vector<float> data(24 * 24);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(k) * 11) % 101) / 300 - 0.16f;
    w.push_back(tensor(data, {24, 24}));
  }
  return w;
}
std::vector<float> bits(const std::vector<Tensor>& all) {
  std::vector<float> out;
  for (const Tensor& t : all) out.insert(out.end(), t.data<float>().begin(), t.data<float>().end());
  return out;
}

template <typename F>
void keeps_the_contract(F f) {
  const std::vector<Tensor> w = weights();
  const Tensor x = full({192, 24}, 0.5);
  const auto device = cpu({.threads = 2});
  auto all = compile(f, {.device = device, .correct = false});
  const std::vector<float> wanted = bits(all(w, x));
  const Bytes most = all.plan_for(w, x).plan().peak;
  auto least = compile(f, {.memory = Budget::minimum(), .device = device, .time_limit = 0.3, .correct = false});
  EXPECT_EQ(bits(least(w, x)), wanted);
  const Compiled& c = least.plan_for(w, x);
  const Bytes fewest = c.plan().peak;
  EXPECT_LT(fewest, most * 3 / 4);
  EXPECT_EQ(c.peak_measured(), fewest);
  for (const double part : {0.6, 0.3}) {
    const Bytes budget = fewest + static_cast<Bytes>(part * static_cast<double>(most - fewest));
    auto g = compile(f, {.memory = budget, .device = device, .time_limit = 0.3, .correct = false});
    EXPECT_EQ(bits(g(w, x)), wanted) << part;
    const Compiled& planned = g.plan_for(w, x);
    EXPECT_EQ(planned.peak_measured(), planned.plan().peak);
    EXPECT_LE(planned.plan().peak, budget);
    EXPECT_EQ(plan::check(planned.problem(), planned.plan()), "");
  }
  const plan::SmallestPeak smallest = c.smallest(0.2);
  auto refused = compile(f, {.memory = smallest.bound - 64, .device = device, .time_limit = 0.2});
  EXPECT_THROW(refused.plan_for(w, x), Error);
}

TEST(HigherOrder, HessianProductsKeepTheContract) {
  keeps_the_contract([](const std::vector<Tensor>& w, const Tensor& x) {
    const auto at = [&](const std::vector<Tensor>& v) { return loss(v, x); };
    std::vector<Tensor> direction;
    for (const Tensor& t : w) direction.push_back(cos(t));
    return hvp(at, w, direction);
  });
}

TEST(HigherOrder, GradientsOfGradientsKeepTheContract) {
  keeps_the_contract([](const std::vector<Tensor>& w, const Tensor& x) { return grad(penalty)(w, x); });
}

}  // namespace
}  // namespace tidemark
