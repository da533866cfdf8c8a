// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/front/eager.h"
#include "tidemark/nn/loss.h"
#include "tidemark/nn/rates.h"
#include "tidemark/ops/elementwise.h"

namespace tidemark {
namespace {

struct Params {
  Tensor w, b;
};

// The textbook formulas on one number at a time.
struct Scalar {
  double p, m = 0, v = 0;
};
void adam(Scalar& s, double g, int t, double rate, const Optimizer& o, double decay) {
  if (o.kind == Optimizer::Kind::adam) g += decay * s.p;
  s.m = o.beta1 * s.m + (1 - o.beta1) * g;
  s.v = o.beta2 * s.v + (1 - o.beta2) * g * g;
  const double m = s.m / (1 - std::pow(o.beta1, t)), v = s.v / (1 - std::pow(o.beta2, t));
  if (o.kind == Optimizer::Kind::adamw) s.p -= rate * decay * s.p;
  s.p -= rate * m / (std::sqrt(v) + o.epsilon);
}
void sgd(Scalar& s, double g, double rate, const Optimizer& o, double decay) {
  g += decay * s.p;
  s.m = o.momentum * s.m + g;
  s.p -= rate * (o.nesterov ? g + o.momentum * s.m : s.m);
}

void compare(const Optimizer& o) {
  const std::vector<double> w0{0.5, -1, 2, 0.1}, b0{1, -3};
  Params p{tensor(w0, {2, 2}), tensor(b0, {2})};
  OptimizerState state = make_optimizer_state(o, flatten(p));
  std::vector<Scalar> expected;
  for (const double v : w0) expected.push_back({v});
  for (const double v : b0) expected.push_back({v});
  for (int t = 1; t <= 4; ++t) {
    const double rate = 0.1 / t;
    // Any gradient will do; this one changes sign and size.
    const Params g{sin(p.w * 3 + t), cos(p.b * 2 - t)};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool vector = i >= 4;
      const double grad = vector ? g.b.data<double>()[i - 4] : g.w.data<double>()[i];
      const double decay = vector && o.decay_from_rank > 1 ? 0 : o.weight_decay;
      if (o.kind == Optimizer::Kind::sgd)
        sgd(expected[i], grad, rate, o, decay);
      else
        adam(expected[i], grad, t, rate, o, decay);
    }
    Updated<Params> next = update(o, p, g, state, scalar(rate));
    p = next.params;
    state = next.state;
    EXPECT_EQ(state.step.item<double>(), t);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(i < 4 ? p.w.data<double>()[i] : p.b.data<double>()[i - 4], expected[i].p, 1e-12) << i;
  }
}

TEST(Optimizer, AdamWIsTheFormula) { compare({.weight_decay = 0.1, .decay_from_rank = 2}); }
TEST(Optimizer, AdamIsTheFormula) {
  compare({.kind = Optimizer::Kind::adam, .beta2 = 0.99, .weight_decay = 0.05});
}
TEST(Optimizer, SgdIsTheFormula) {
  compare({.kind = Optimizer::Kind::sgd});
  compare({.kind = Optimizer::Kind::sgd, .momentum = 0.9, .weight_decay = 0.01});
  compare({.kind = Optimizer::Kind::sgd, .momentum = 0.8, .nesterov = true});
}

TEST(Optimizer, KeepsOnlyTheStateItUses) {
  const Tensors params{zeros({3}), zeros({2, 2})};
  EXPECT_EQ(flatten(make_optimizer_state({.kind = Optimizer::Kind::sgd}, params)).size(), 1u);
  EXPECT_EQ(flatten(make_optimizer_state({.kind = Optimizer::Kind::sgd, .momentum = 0.9}, params)).size(),
            3u);
  EXPECT_EQ(flatten(make_optimizer_state({}, params)).size(), 5u);
  EXPECT_FALSE(make_optimizer_state({}, {abstract({{4}, DType::f32})}).squares[0].concrete());
  EXPECT_THROW(make_optimizer_state({}, Tensors{}), Error);
  const OptimizerState state = make_optimizer_state({}, params);
  EXPECT_THROW(update({}, params, Tensors{params[0]}, state, scalar(0.1f)), Error);
}

TEST(Clip, ScalesToTheLimitAndLeavesSmallOnesAlone) {
  const Tensors grads{tensor<double>({3, 0}, {2}), tensor<double>({4}, {1})};
  const Clipped clipped = clip_by_global_norm(grads, 1);
  EXPECT_DOUBLE_EQ(clipped.norm.item<double>(), 5);
  EXPECT_NEAR(clipped.grads[0].data<double>()[0], 0.6, 1e-6);
  EXPECT_NEAR(clipped.grads[1].item<double>(), 0.8, 1e-6);
  EXPECT_DOUBLE_EQ(clip_by_global_norm(grads, 10).grads[1].item<double>(), 4);
  EXPECT_DOUBLE_EQ(clip_by_global_norm({tensor<double>({0}, {1})}, 1).grads[0].item<double>(), 0);
}

double at(const RateSchedule& schedule, double step) { return schedule(scalar(step)).item<double>(); }

TEST(Rates, FollowTheirCurves) {
  EXPECT_DOUBLE_EQ(at(constant_rate(0.3), 7), 0.3);
  const RateSchedule steps = step_decay(1, 0.5, 10);
  EXPECT_DOUBLE_EQ(at(steps, 9), 1);
  EXPECT_DOUBLE_EQ(at(steps, 10), 0.5);
  EXPECT_DOUBLE_EQ(at(steps, 25), 0.25);
  const RateSchedule cosine = warmup_cosine(2, {.warmup = 4, .total = 14, .floor = 0.1});
  EXPECT_DOUBLE_EQ(at(cosine, 0), 0.5);
  EXPECT_DOUBLE_EQ(at(cosine, 3), 2);
  EXPECT_NEAR(at(cosine, 9), 2 * 0.55, 1e-12);
  EXPECT_NEAR(at(cosine, 14), 0.2, 1e-12);
  EXPECT_NEAR(at(cosine, 100), 0.2, 1e-12);
  const RateSchedule line = warmup_linear(1, {.total = 10});
  EXPECT_DOUBLE_EQ(at(line, 0), 1);
  EXPECT_NEAR(at(line, 4), 0.6, 1e-12);
  EXPECT_NEAR(at(line, 10), 0, 1e-12);
}

TEST(Loss, FormulasOnSmallNumbers) {
  const Tensor x = tensor<double>({1, -2, 0.5}, {3}), y = tensor<double>({0, 1, 0}, {3});
  EXPECT_NEAR(mean_squared_error(x, y).item<double>(), (1 + 9 + 0.25) / 3, 1e-12);
  EXPECT_NEAR(mean_absolute_error(x, y).item<double>(), 4.5 / 3, 1e-12);
  EXPECT_NEAR(huber(x, y).item<double>(), (0.5 + 2.5 + 0.125) / 3, 1e-12);
  double expected = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double s = 1 / (1 + std::exp(-x.data<double>()[i]));
    expected -= std::log(y.data<double>()[i] > 0 ? s : 1 - s) / 3;
  }
  EXPECT_NEAR(binary_cross_entropy(x, y).item<double>(), expected, 1e-12);
  EXPECT_NEAR(
      binary_cross_entropy(tensor<double>({800, -800}, {2}), tensor<double>({1, 0}, {2})).item<double>(), 0,
      1e-12);
  // Two pixels, three classes: the right ones have logit 2 among zeros.
  const Tensor logits = tensor<double>({2, 0, 0, 2, 0, 0}, {1, 3, 1, 2});
  const Tensor labels = tensor<std::int64_t>({0, 1}, {1, 1, 2});
  EXPECT_NEAR(pixel_cross_entropy(logits, labels).item<double>(), std::log(1 + 2 * std::exp(-2.0)), 1e-12);
}

}  // namespace
}  // namespace tidemark
