// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/grad.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/front/eager.h"
#include "tidemark/front/trace.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/index.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Mlp {
  Tensor w1, b1, w2;
};

Mlp small_mlp() {
  return {tensor<double>({0.1, -0.2, 0.3, 0.4, 0.5, -0.6}, {2, 3}), tensor<double>({0.01, 0.02, 0.03}, {3}),
          tensor<double>({1, -1, 0.5}, {3, 1})};
}

Tensor loss(const Mlp& p, const Tensor& x, const Tensor& y) {
  const Tensor h = tanh(matmul(x, p.w1) + p.b1);
  return mean(square(matmul(h, p.w2) - y));
}

double at(const Tensor& t, int i) { return t.data<double>()[static_cast<std::size_t>(i)]; }

TEST(Grad, OfAnAggregateMatchesDifferences) {
  const Mlp p = small_mlp();
  const Tensor x = tensor<double>({1, 2, 3, 4, -1, 0.5}, {3, 2}), y = tensor<double>({0, 1, 2}, {3, 1});
  const auto [value, g] = value_and_grad(loss)(p, x, y);
  EXPECT_DOUBLE_EQ(value.item<double>(), loss(p, x, y).item<double>());
  for (int i = 0; i < 6; ++i) {
    std::vector<double> w(p.w1.data<double>().begin(), p.w1.data<double>().end());
    const double h = 1e-6;
    w[static_cast<std::size_t>(i)] += h;
    const double high = loss({tensor(w, {2, 3}), p.b1, p.w2}, x, y).item<double>();
    w[static_cast<std::size_t>(i)] -= 2 * h;
    const double low = loss({tensor(w, {2, 3}), p.b1, p.w2}, x, y).item<double>();
    EXPECT_NEAR(at(g.w1, i), (high - low) / (2 * h), 1e-8);
  }
}

TEST(Grad, BranchesAndLoopsOnValuesWorkEagerly) {
  const auto f = [](Tensor x) {
    int steps = 0;
    while (x.item<double>() < 100 && ++steps < 50) x = x * 2.0;
    return x;
  };
  EXPECT_DOUBLE_EQ(grad(f)(scalar(3.0)).item<double>(), 64);
  EXPECT_DOUBLE_EQ(grad(f)(scalar(60.0)).item<double>(), 2);
  EXPECT_THROW(trace(f, abstract({Shape{}, DType::f64})), Error);
}

TEST(Grad, NestsToAnyDepth) {
  // d^k/dx^k of x^5.
  const auto f = [](const Tensor& x) { return x * x * x * x * x; };
  const Tensor x = scalar(1.5);
  EXPECT_NEAR(grad(f)(x).item<double>(), 5 * std::pow(1.5, 4), 1e-12);
  EXPECT_NEAR(grad(grad(f))(x).item<double>(), 20 * std::pow(1.5, 3), 1e-12);
  EXPECT_NEAR(grad(grad(grad(f)))(x).item<double>(), 60 * std::pow(1.5, 2), 1e-11);
}

TEST(Grad, InnerClosesOverOuter) {
  // d/dx [x * d/dy (x y^2)] at x = 3, y = 2: d/dx (x * 2 x y) = 4 x y.
  const auto outer = [](const Tensor& x) {
    const auto inner = [&](const Tensor& y) { return x * y * y; };
    return x * grad(inner)(scalar(2.0));
  };
  EXPECT_NEAR(grad(outer)(scalar(3.0)).item<double>(), 24, 1e-12);
}

TEST(Grad, UpdatesAreNewVersions) {
  const auto f = [](const Tensor& x0) {
    Tensor x = x0;
    const Tensor before = x;
    x += 1.0;
    x[0] = x[1] * 2.0;
    return sum(x * before);
  };
  const Tensor x = tensor<double>({1, 2, 3}, {3});
  // (2 (x1 + 1)) x0 + (x1 + 1) x1 + (x2 + 1) x2
  const Tensor g = grad(f)(x);
  EXPECT_DOUBLE_EQ(at(g, 0), 6);
  EXPECT_DOUBLE_EQ(at(g, 1), 2 * 1 + 2 * 2 + 1);
  EXPECT_DOUBLE_EQ(at(g, 2), 7);
  EXPECT_DOUBLE_EQ(at(x, 0), 1);
}

TEST(Grad, HvpAndHessianAgree) {
  const auto f = [](const Tensor& x) { return sum(x * x * x) + prod(x); };
  const Tensor x = tensor<double>({1, 2, 3}, {3}), v = tensor<double>({1, 0.5, -1}, {3});
  const Tensor h = hessian(f, x), hv = hvp(f, x, v);
  ASSERT_EQ(h.shape(), Shape({3, 3}));
  for (int i = 0; i < 3; ++i) {
    double sum = 0;
    for (int j = 0; j < 3; ++j) sum += at(h, 3 * i + j) * at(v, j);
    EXPECT_NEAR(at(hv, i), sum, 1e-12);
  }
  EXPECT_NEAR(at(h, 1), 3, 1e-12);  // d²(x0 x1 x2)/dx0 dx1 = x2
  const Tensor j = jacobian([](const Tensor& t) { return t * t; }, x);
  EXPECT_NEAR(at(j, 4), 4, 1e-12);
  EXPECT_NEAR(at(j, 1), 0, 1e-12);
}

TEST(Grad, StopGradientStops) {
  const auto f = [](const Tensor& x) { return x * stop_gradient(x); };
  EXPECT_DOUBLE_EQ(grad(f)(scalar(3.0)).item<double>(), 3);
}

TEST(Grad, UnusedParameterHasZeroGradient) {
  struct P {
    Tensor a, b;
  };
  const P g = grad([](const P& p) { return p.a * 2.0; })(P{scalar(1.0), scalar(5.0)});
  EXPECT_DOUBLE_EQ(g.a.item<double>(), 2);
  EXPECT_DOUBLE_EQ(g.b.item<double>(), 0);
}

TEST(Grad, NonScalarIsRefusedWithACure) {
  try {
    grad([](const Tensor& x) { return x * 2.0; })(tensor<double>({1, 2}, {2}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("(2) vs a scalar"), std::string::npos) << e.what();
  }
}

TEST(Grad, ErrorsNameTheUsersLine) {
  try {
    matmul(zeros({3, 4}), zeros({5, 6}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("grad_test.cpp:"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("(3,4)"), std::string::npos) << e.what();
  }
}

TEST(Grad, MixedDTypesAreRefused) {
  EXPECT_THROW(zeros({2}) + zeros({2}, DType::f64), Error);
}

TEST(Trace, GivesAGraphWithoutContents) {
  const Graph g = trace(value_and_grad([](const Mlp& p, const Tensor& x) { return sum(matmul(tanh(matmul(x, p.w1) + p.b1), p.w2)); }),
                        Mlp{abstract({{1 << 20, 1 << 10}}), abstract({{1 << 10}}), abstract({{1 << 10, 1}})}, abstract({{8, 1 << 20}}));
  verify(g);
  EXPECT_EQ(g.inputs.size(), 4u);
  EXPECT_EQ(g.outputs.size(), 4u);
  EXPECT_EQ(g.value(g.inputs[0]).name, "w1");
}

TEST(Trace, TensorsOfAFinishedTraceAreRefused) {
  Tensor kept;
  trace(
      [&](const Tensor& x) {
        kept = x * 2.0;
        return kept;
      },
      abstract({{2}}));
  EXPECT_THROW(kept + 1.0, Error);
}

}  // namespace
}  // namespace tidemark
