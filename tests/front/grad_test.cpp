// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/grad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <source_location>

#include "tidemark/front/eager.h"
#include "tidemark/front/trace.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/index.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
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

// Also what fails before an op is reached: axes, sizes, indices, lists.
TEST(Grad, WhatDerivativesWriteCarriesTheUsersLineAndName) {
  const std::uint32_t first = std::source_location::current().line();
  const auto f = [](const Tensor& w, const Tensor& x) {
    const Scope scope("layer");
    const Tensor h = tanh(matmul(x, w));
    return sum(square(h));
  };
  const std::uint32_t last = std::source_location::current().line();
  const auto once = [&](const Tensor& w, const Tensor& x) { return sum(grad(f)(w, x)); };
  for (const Graph& g : {trace(value_and_grad(f), abstract({{5, 7}}), abstract({{3, 5}})),
                         trace(value_and_grad(once), abstract({{5, 7}}), abstract({{3, 5}}))}) {
    std::size_t products = 0;
    for (const Node& n : g.nodes) {
      const std::string name = n.op->name;
      if (name != "matmul" && name != "tanh" && name != "square") continue;
      products += name == "matmul" ? 1 : 0;
      EXPECT_NE(std::string(n.loc.file).find("grad_test.cpp"), std::string::npos)
          << name << " of " << n.loc.file;
      EXPECT_TRUE(n.loc.line > first && n.loc.line < last) << name << " at line " << n.loc.line;
      EXPECT_NE(g.value(n.out[0]).name.find("layer"), std::string::npos) << g.value(n.out[0]).name;
    }
    EXPECT_GE(products, 2u);
  }
}

// Made before main, in whatever order files are initialised.
const Tensor before_main = tanh(matmul(ones({2, 3}), full({3, 2}, 0.5)) + 1.0);
TEST(Eager, WorksBeforeMain) {
  EXPECT_EQ(before_main.shape(), (Shape{2, 2}));
  EXPECT_NEAR(before_main.data<float>()[3], std::tanh(2.5f), 1e-6f);
}

TEST(Grad, EveryErrorOfAnOperationNamesTheUsersLineOnce) {
  const Tensor x = zeros({2, 3});
  const std::vector<std::pair<const char*, std::function<void()>>> cases{
      {"[sum] axis 5 vs rank 2", [&] { sum(x, {5}); }},
      {"[sum] an axis is given twice",
       [&] {
         sum(x, {0, 0});
       }},
      {"[reshape] 6 elements",
       [&] {
         reshape(x, {4, -1});
       }},
      {"[index] 7 vs axis 0", [&] { const Tensor y = x[7]; }},
      {"[index] 9 vs axis 1", [&] { const Tensor y = x(all, 9); }},
      {"[index] 3 indices", [&] { const Tensor y = x(0, 1, 2); }},
      {"[concat] no parts", [&] { concat({}, 0); }},
      {"[concat] axis 3",
       [&] {
         concat({x, x}, 3);
       }},
      {"[einsum]",
       [&] {
         einsum("ij,jk->ik", {x, x});
       }},
      {"[softmax] axis 4", [&] { softmax(x, 4); }},
      {"[gather] axis 2",
       [&] {
         gather(x, zeros({2, 3}, DType::i64), 2);
       }},
      {"[transpose] axis -3", [&] { transpose(x, -3, 0); }},
      {"[add] an undefined tensor", [&] { x + Tensor{}; }},
      {"[mean] an undefined tensor", [&] { mean(Tensor{}); }},
      {"[neg] ", [&] { -equal(x, x); }},
      {"[grad] the function returns", [&] { grad([](const Tensor& t) { return t * 2.0; })(x); }},
      {"[grad] the function returns", [&] { hessian([](const Tensor& t) { return t * 2.0; }, x); }},
      {"[vjp] the cotangent is", [&] { vjp([](const Tensor& t) { return t * 2.0; }, x).second(zeros({7})); }},
      {"[jvp] the tangent is", [&] { jvp([](const Tensor& t) { return t * 2.0; }, x, zeros({7})); }},
      {"[group_norm] 2 groups",
       [&] {
         group_norm(zeros({1, 3, 2, 2}), ones({3}), zeros({3}), 2);
       }},
  };
  for (const auto& [text, call] : cases) {
    try {
      call();
      ADD_FAILURE() << text << ": not refused";
    } catch (const Error& e) {
      const std::string message = e.what();
      EXPECT_EQ(e.kind(), Error::Kind::usage) << message;
      EXPECT_EQ(message.rfind(text, 0), 0u) << message << " vs " << text;
      const std::size_t line = message.find("(grad_test.cpp:");
      EXPECT_NE(line, std::string::npos) << message;
      if (line != std::string::npos) {
        EXPECT_EQ(message.find(".cpp:", line + 16), std::string::npos) << message;
      }
    }
  }
}

// y / x would be 0 / 0 there, and a rule that asks which elements are zero has a wrong second derivative.
TEST(Grad, ProductsHaveDerivativesOfEveryOrderAtZeros) {
  const Tensor h = hessian([](const Tensor& x) { return prod(x); }, tensor<double>({0, 2, 0, 5, 3}, {5}));
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      const double want = (i == 0 && j == 2) || (i == 2 && j == 0) ? 30 : 0;
      EXPECT_DOUBLE_EQ(h.data<double>()[static_cast<std::size_t>(i * 5 + j)], want) << i << ' ' << j;
    }
  }
  const Tensor g = grad([](const Tensor& x) {
    return sum(prod(x, {0, 2}));
  })(tensor<double>({1, 2, 0, 4, 5, 6}, {1, 2, 3}));
  EXPECT_EQ(std::vector<double>(g.data<double>().begin(), g.data<double>().end()),
            (std::vector<double>{0, 0, 2, 30, 24, 20}));
}

TEST(Grad, MixedDTypesAreRefused) { EXPECT_THROW(zeros({2}) + zeros({2}, DType::f64), Error); }

TEST(Trace, GivesAGraphWithoutContents) {
  const Graph g = trace(value_and_grad([](const Mlp& p, const Tensor& x) {
                          return sum(matmul(tanh(matmul(x, p.w1) + p.b1), p.w2));
                        }),
                        Mlp{abstract({{1 << 20, 1 << 10}}), abstract({{1 << 10}}), abstract({{1 << 10, 1}})},
                        abstract({{8, 1 << 20}}));
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
