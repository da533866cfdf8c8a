// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/precision.h"

#include <gtest/gtest.h>

#include "tidemark/front/trace.h"
#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"

namespace tidemark {
namespace {

const ModelOptions kSmall{.batch = 12, .sizes = {{"inputs", 8}, {"hidden", 16}, {"classes", 4}}};

TEST(Precision, LossAndGradientsStayNearThoseOfF32) {
  const Model wide = make_model("mlp", kSmall);
  Init init({.seed = 3});
  const Tensors params = wide.parameters(init), batch = synthetic_batch(wide, init);
  const LossAndGrads exact = loss_and_grads(wide, params, {}, batch);
  // Eight and eleven bits of mantissa.
  for (const auto& [dtype, tolerance] : {std::pair{DType::bf16, 3e-2}, {DType::f16, 4e-3}}) {
    const LossAndGrads near = loss_and_grads(stored_as(wide, dtype), params, {}, batch);
    EXPECT_EQ(near.loss.dtype(), DType::f32);
    EXPECT_NEAR(near.loss.item<float>(), exact.loss.item<float>(), tolerance);
    EXPECT_NE(near.loss.item<float>(), exact.loss.item<float>()) << "nothing was stored in fewer bits";
    for (std::size_t i = 0; i < params.size(); ++i) {
      ASSERT_EQ(near.grads[i].type(), exact.grads[i].type());
      const auto a = near.grads[i].data<float>(), b = exact.grads[i].data<float>();
      for (std::size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[j], b[j], tolerance) << i << " " << j;
    }
  }
}

TEST(Precision, EveryModelIsTracedAndItsStateKeepsItsTypes) {
  for (const std::string& name : model_names()) {
    const Model model = stored_as(make_model(name, {.batch = 2}), DType::bf16);
    Init shapes({.abstract = true});
    const TrainState state = make_train_state(model, {}, shapes);
    const Graph graph = trace(train_step(model, {}), state, synthetic_batch(model, shapes));
    Bytes narrow = 0, wide = 0;
    for (const Value& v : graph.values) (v.type.dtype == DType::bf16 ? narrow : wide) += v.type.bytes();
    EXPECT_GT(narrow, 0) << name;
    for (std::size_t i = 0; i < state.params.size(); ++i)
      EXPECT_EQ(graph.value(graph.outputs[i]).type, state.params[i].type()) << name;
  }
}

TEST(Precision, OtherTypesAreRefused) {
  EXPECT_THROW(stored_as(make_model("mlp", kSmall), DType::f64), Error);
  EXPECT_THROW(stored_as(make_model("mlp", kSmall), DType::i64), Error);
}

}  // namespace
}  // namespace tidemark
