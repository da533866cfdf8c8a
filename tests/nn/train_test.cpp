// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/train.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/nn/layers.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/elementwise.h"

namespace tidemark {
namespace {

void expect_close(const Tensors& a, const Tensors& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].data<float>(), y = b[i].data<float>();
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t j = 0; j < x.size(); ++j) ASSERT_NEAR(x[j], y[j], tolerance) << i << " " << j;
  }
}

const ModelOptions kSmallMlp{.batch = 12, .sizes = {{"inputs", 5}, {"hidden", 9}, {"classes", 4}}};

TEST(Train, AccumulatedGradientsAreThoseOfTheWholeBatch) {
  const Model model = make_model("mlp", kSmallMlp);
  Init init({.seed = 3});
  const Tensors params = model.parameters(init), batch = synthetic_batch(model, init);
  const LossAndGrads whole = loss_and_grads(model, params, {}, batch);
  for (const int parts : {2, 3, 12}) {
    const LossAndGrads sum = loss_and_grads(model, params, {}, batch, parts);
    EXPECT_NEAR(sum.loss.item<float>(), whole.loss.item<float>(), 1e-6);
    expect_close(sum.grads, whole.grads, 1e-6);
  }
  EXPECT_THROW(loss_and_grads(model, params, {}, batch, 5), Error);
}

TEST(Train, LossFallsOnABatchSeenAgain) {
  const Model model = make_model("mlp", kSmallMlp);
  const TrainOptions options{.rate = constant_rate(0.02), .clip_norm = 5};
  Init init({.seed = 3});
  TrainState state = make_train_state(model, options.optimizer, init);
  const Tensors batch = synthetic_batch(model, init);
  const TrainStep step = train_step(model, options);
  const float first = step(state, batch).loss.item<float>();
  float last = first;
  for (int i = 0; i < 40; ++i) {
    Trained r = step(state, batch);
    last = r.loss.item<float>();
    state = r.next;
  }
  EXPECT_LT(last, 0.3f * first);
  EXPECT_EQ(state.optimizer.step.item<float>(), 40);
}

TEST(Train, PartsOfABatchShareItsKey) {
  // As many samples as a key has words.
  const Model model = make_model(
      "gpt2-124m", {.batch = 2,
                    .seq = 6,
                    .dropout = 0.3,
                    .sizes = {{"vocab", 11}, {"positions", 8}, {"width", 16}, {"depth", 1}, {"heads", 2}}});
  Init init({.seed = 3});
  const TrainState state = make_train_state(model, {}, init);
  const Trained trained = train_step(model, {.accumulate = 2})(state, synthetic_batch(model, init));
  EXPECT_TRUE(std::isfinite(trained.loss.item<float>()));
}

TEST(Train, DropoutFollowsItsKeyAndVanishesInInference) {
  const ModelOptions small{
      .batch = 2,
      .seq = 6,
      .dropout = 0.3,
      .sizes = {{"vocab", 11}, {"positions", 8}, {"width", 16}, {"depth", 1}, {"heads", 2}}};
  const Model model = make_model("gpt2-124m", small);
  ASSERT_EQ(model.batch.back().name, "key");
  Init init({.seed = 3});
  const Tensors params = model.parameters(init);
  Tensors batch = synthetic_batch(model, init), none;
  // A key made anew starts its draws anew.
  const auto loss = [&](const Model& m, std::int64_t seed) {
    batch.back() = tensor<std::int64_t>({seed, 0}, {2});
    return m.loss(params, none, batch).item<float>();
  };
  EXPECT_EQ(loss(model, 1), loss(model, 1));
  EXPECT_NE(loss(model, 1), loss(model, 2));
  ModelOptions quiet = small;
  quiet.training = false;
  const Model still = make_model("gpt2-124m", quiet);
  EXPECT_EQ(loss(still, 1), loss(still, 2));
}

TEST(Layers, BatchNormInferenceUsesTheRunningStatistics) {
  Init init({.seed = 4, .dtype = DType::f64});
  Norm p = make_norm(init, 3);
  RunningStats stats = make_running_stats(init, p);
  const Tensor x = init.normal({4, 3, 5, 5}, 2);
  const Tensor before = batch_norm(p, stats, x, {.training = false});
  for (std::size_t i = 0; i < 300; ++i)
    EXPECT_NEAR(before.data<double>()[i], x.data<double>()[i] / std::sqrt(1 + 1e-5), 1e-12);
  // With momentum 1 the statistics are those of the batch, the variance unbiased (n = 100).
  const Tensor trained = batch_norm(p, stats, x, {.momentum = 1});
  const Tensor after = batch_norm(p, stats, x, {.training = false});
  for (std::size_t i = 0; i < 300; ++i)
    EXPECT_NEAR(after.data<double>()[i], trained.data<double>()[i] * std::sqrt(99.0 / 100), 1e-4);
}

TEST(Layers, LstmStepByStepIsTheWholeSequence) {
  Init init({.seed = 5, .dtype = DType::f64});
  const Lstm p = make_lstm(init, 3, 4);
  const Tensor x = init.normal({2, 2, 3}, 1);
  const Tensor zero = zeros({2, 4}, DType::f64);
  LstmState state{zero, zero};
  const Tensor all = lstm(p, x, state);
  EXPECT_EQ(all.shape(), (Shape{2, 2, 4}));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(all.data<double>()[8 + i], state.hidden.data<double>()[i]);
}

}  // namespace
}  // namespace tidemark
