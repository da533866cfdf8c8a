// Ops of networks as emitted C++, compiled: the executor's results within rounding.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/contract/zoo_cases.h"
#include "tidemark/emit/emit.h"

namespace tidemark {
namespace {

// Results of the planned program as one C++ file; `arguments` as they were given.
template <typename T>
std::vector<std::vector<T>> emitted_results(Compiled& plan, const Tensors& arguments, const Tensors& like) {
  const auto kernel = load_native(plan.emitted(), plan.program().arena_bytes,
                                  {.cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache"});
  const EmittedParts whole{.runs = {{0, plan.program().instrs.size()}}};
  Executor executor(std::make_shared<const Program>(native_program(plan.program(), whole, {kernel})), cpu());
  std::vector<void*> residents;
  for (const Tensor& t : arguments) residents.push_back(t.storage()->data());
  executor.run(residents);
  std::vector<std::vector<T>> results;
  for (std::size_t i = 0; i < like.size(); ++i) {
    const auto* got = static_cast<const T*>(executor.output(i, residents));
    results.emplace_back(got, got + like[i].numel());
  }
  return results;
}

Tensor wave(const std::vector<std::int64_t>& sizes, double rate) {
  return reshape(sin(cast(arange(Shape(sizes).numel()), DType::f64) * rate), sizes);
}

// All of them in one program, so that the compiler is called once.
TEST(Emitted, OpsOfNetworksAndTheirGradients) {
  const auto loss = [](const Tensors& x, const Tensor& words, const Tensor& weights) {
    Tensor image = conv2d(x[0], x[1], {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}});
    image = batch_norm_training(image, x[2], x[3]).y;
    image = conv2d(image, x[4], {.padding = {1, 1}, .groups = 4});
    const auto [most, places] =
        max_pool2d_with_indices(image, {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}});
    const Tensor back = max_unpool2d(most, places, {image.shape()[2], image.shape()[3]});
    const Tensor averaged = avg_pool2d(
        image, {.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 0}, .count_include_pad = false});
    const Tensor coarse = adaptive_avg_pool2d(image, {2, 3});
    Tensor text = layer_norm(embedding(x[5], words), x[6], x[7]);
    const Tensor q = reshape(text, {2, 5, 4, 3}), kv = slice(q, 2, 0, 2);
    text = reshape(attention(q, kv, 0.5 * kv, {.causal = true}) + attention(q, kv, kv), {2, 5, 12});
    return sum(square(back)) + sum(tanh(averaged)) + sum(sin(coarse)) + sum(rms_norm(text, x[6]) * weights) +
           sum(square(sum(image, {0, 2, 3})));
  };
  const auto f = [&](const Tensors& x, const Tensor& words, const Tensor& weights) {
    return flatten(value_and_grad([&](const Tensors& y) { return loss(y, words, weights); })(x));
  };
  const Tensors x{wave({3, 4, 9, 8}, 0.37), wave({8, 4, 3, 2}, 0.71), wave({8}, 1.3),        wave({8}, 0.4),
                  wave({8, 2, 3, 3}, 0.53), wave({7, 12}, 0.83),      1.5 + wave({12}, 0.6), wave({12}, 0.2)};
  const Tensor words = cast(floor(abs(wave({2, 5}, 0.9)) * 6.9), DType::i64),
               weights = wave({2, 5, 12}, 0.31);
  auto compiled = compile(f, {.device = cpu({.threads = 1}), .makers = false});
  const Tensors wanted = compiled(x, words, weights);
  Tensors arguments = x;
  arguments.insert(arguments.end(), {words, weights});
  const auto got = emitted_results<double>(compiled.plan_for(x, words, weights), arguments, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto expected = wanted[i].data<double>();
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_NEAR(got[i][k], expected[k], 1e-11 * (1 + std::abs(expected[k]))) << "result " << i << ", " << k;
  }
}

double norm(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

// Rounding decides which of two nearly equal numbers a pooling takes, so that models in f32 are compared roughly.
class SlowEmittedZoo : public testing::TestWithParam<ModelCase> {};
TEST_P(SlowEmittedZoo, HasTheExecutorsGradient) {
  const TrainSetting setting(GetParam());
  const TrainState state = setting.start();
  const auto gradient = [&](const Tensors& parameters, const Tensors& statistics, const Tensors& batch) {
    return flatten(value_and_grad([&](const Tensors& p) {
      Tensors next = statistics;
      return setting.model.loss(p, next, batch);
    })(parameters));
  };
  auto compiled = compile(
      gradient,
      {.memory = Budget::minimum(), .device = cpu({.threads = 1}), .time_limit = 0.2, .makers = false});
  const Tensors wanted = compiled(state.params, state.state, setting.batch);
  Tensors arguments = state.params;
  arguments.insert(arguments.end(), state.state.begin(), state.state.end());
  arguments.insert(arguments.end(), setting.batch.begin(), setting.batch.end());
  const auto got =
      emitted_results<float>(compiled.plan_for(state.params, state.state, setting.batch), arguments, wanted);
  double all = 0;
  for (const Tensor& t : wanted) all = std::max(all, norm(t.data<float>()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto expected = wanted[i].data<float>();
    std::vector<float> off = got[i];
    for (std::size_t k = 0; k < off.size(); ++k) off[k] -= expected[k];
    // A bias before a normalisation has a gradient of rounding alone.
    EXPECT_LE(norm(off), 0.02 * norm(expected) + 1e-4 * all) << "result " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Slow, SlowEmittedZoo, testing::ValuesIn(zoo_cases()), case_name);

}  // namespace
}  // namespace tidemark
