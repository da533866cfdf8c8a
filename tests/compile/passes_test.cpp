// Passes keep what a graph computes, and the text form keeps the graph.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tidemark/base/random.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/optimise.h"
#include "tidemark/front/grad.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Tensor program(const Tensor& w, const Tensor& x) {
  const Tensor h = tanh(matmul(x, w) + 0.5);
  return mean(square(transpose(h))) + sum(h * (full_like(h, 2) * 3.0));
}

Graph traced() { return trace(value_and_grad(program), abstract({{5, 7}}), abstract({{3, 5}})); }

std::size_t count(const Graph& g, const std::string& op) {
  return static_cast<std::size_t>(std::count_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.op->name == op; }));
}

TEST(Text, RoundTrips) {
  for (const Graph& g : {traced(), optimise(traced())}) {
    const std::string text = print(g);
    const Graph again = parse(text, find_op);
    EXPECT_EQ(hash(again), hash(g));
    Graph bare = g;
    for (Node& n : bare.nodes) {
      n.loc = {};
      for (Graph& region : n.regions) {
        for (Node& m : region.nodes) m.loc = {};
      }
    }
    EXPECT_EQ(print(again), print(bare));
  }
}

TEST(Text, KeepsEveryKindOfAttribute) {
  const std::string text =
      "graph {\n  input %0 f32(2,3) \"a \\\"name\\\"\"\n"
      "  %1 f32(3,2){1,3} alias %0 = permute(%0) {axes: [1,0]}\n"
      "  %2 f64() = full() {dtype: 0, shape: [], value: -2.5e-07}\n"
      "  %3 f32() = full() {dtype: 1, shape: [], value: inf}\n"
      "  return %1, %2, %3\n}\n";
  EXPECT_EQ(print(parse(text, find_op)), text);
}

TEST(Text, BadTextIsRefusedWithItsLine) {
  for (const char* bad : {"", "graph {", "graph { input %0 f32(2 }", "graph {\n%0 f32() = nosuch()\nreturn %0\n}", "graph { return %7 }",
                          "graph {\ninput %0 f99()\nreturn %0\n}", "graph { input %999999999 f32() return %0 }", "graph { return } trailing",
                          "graph {\ninput %0 f32(2)\n%1 f32(3) = neg(%0)\nreturn %1\n}"}) {
    try {
      parse(bad, find_op);
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::data) << bad << ": " << e.what();
    }
  }
}

TEST(Passes, DeadNodesGo) {
  const Graph g = trace(
      [](const Tensor& x) {
        exp(x);
        return x * 2.0;
      },
      abstract({{4}}));
  EXPECT_EQ(count(g, "exp"), 1u);
  const Graph small = dce(g);
  verify(small);
  EXPECT_EQ(count(small, "exp"), 0u);
}

TEST(Passes, EqualNodesMeet) {
  const Graph g = cse(trace([](const Tensor& x) { return exp(x) + exp(x) + sum(exp(x), {0}) + sum(exp(x)); }, abstract({{4}})));
  verify(g);
  EXPECT_EQ(count(g, "exp"), 1u);
  EXPECT_EQ(count(g, "sum"), 1u) << "all axes by name are all axes";
}

TEST(Passes, ConstantsFold) {
  const Graph g = optimise(trace([](const Tensor& x) { return x * ((full_like(x, 2) + 1.0) * 4.0); }, abstract({{4}})), {.fuse = false});
  EXPECT_EQ(count(g, "mul"), 1u);
  EXPECT_EQ(count(g, "add"), 0u);
}

TEST(Fuse, AChainIsOneTask) {
  const auto f = [](const Tensor& x, const Tensor& b) { return tanh(x * 2.0 + b) - exp(x); };
  const Graph g = optimise(trace(f, abstract({{6, 5}}), abstract({{5}})));
  ASSERT_EQ(g.nodes.size(), 1u) << print(g);
  EXPECT_STREQ(g.nodes[0].op->name, "fused");
}

TEST(Fuse, AnOptimizerIsOneTaskWithThreeOutputs) {
  const auto adam = [](const Tensors& s, const Tensor& g) {
    const Tensor m = s[1] * 0.9 + g * 0.1, v = s[2] * 0.99 + square(g) * 0.01;
    return Tensors{s[0] - 0.001 * m / (sqrt(v) + 1e-8), m, v};
  };
  const Tensor p = abstract({{64, 64}});
  const Graph g = optimise(trace(adam, Tensors{p, p, p}, p));
  ASSERT_EQ(g.nodes.size(), 1u) << print(g);
  EXPECT_EQ(g.nodes[0].out.size(), 3u);
}

TEST(Fuse, AReductionEndsAChain) {
  const Graph g = optimise(trace([](const Tensor& x) { return sum(square(x - 1.0), {1}); }, abstract({{6, 5}})));
  ASSERT_EQ(g.nodes.size(), 1u) << print(g);
  EXPECT_STREQ(g.nodes[0].op->name, "fused_fold");
}

TEST(Fuse, WhatTheBackwardPassNeedsIsNotMadeInTheForwardPass) {
  const auto f = [](const Tensor& w, const Tensor& x) { return sum(matmul(tanh(matmul(x, w)), w)); };
  const Graph g = optimise(trace(grad(f), abstract({{8, 8}}), abstract({{4, 8}})));
  for (const Node& n : g.nodes) {
    if (std::string(n.op->name) == "fused") {
      EXPECT_EQ(n.out.size(), 1u) << print(g);
    }
  }
}

// A random program of elementwise ops, products and, where `sums` says so, reductions.
Tensors random_program(std::uint64_t seed, bool sums, const Tensor& a, const Tensor& b) {
  Rng rng(seed);
  Tensors pool{a, b, a * 0.5};
  for (int i = 0; i < 25; ++i) {
    const auto pick = [&] { return pool[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(pool.size())))]; };
    const Tensor x = pick(), y = pick();
    switch (rng.below(9)) {
      case 0: pool.push_back(x + y); break;
      case 1: pool.push_back(x * y * 0.1); break;
      case 2: pool.push_back(tanh(x)); break;
      case 3: pool.push_back(sums ? x - sum(y, {1}, {.axes = true}) * 0.01 : x - y); break;
      case 4: pool.push_back(matmul(x, transpose(y)) * 0.05); break;
      case 5: pool.push_back(maximum(x, y)); break;
      case 6: pool.push_back(sums ? transpose(x) : relu(x)); break;
      case 7: pool.push_back(sums ? x + sum(y) * 0.001 : clamp(x, -0.5, 0.5)); break;
      default: pool.push_back(sigmoid(x) * y); break;
    }
  }
  return Tensors{pool.back(), pool[pool.size() - 2], pool[pool.size() - 3]};
}

// Fused and not, the same bits: a sum over a chain adds in the order of one over its stored result.
TEST(Fuse, RandomProgramsKeepTheirValues) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const bool sums = seed % 2 == 0;
    const auto f = [&](const Tensor& a, const Tensor& b) { return random_program(seed, sums, a, b); };
    std::vector<float> data(144);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 17) / 17.0f - 0.4f;
    const Tensor a = tensor(data, {12, 12}), b = full({12, 12}, 0.3);
    auto plain = compile(f, {.passes = {.simplify = false, .fuse = false}});
    auto all = compile(f);
    const Tensors expected = plain(a, b), got = all(a, b);
    for (std::size_t t = 0; t < got.size(); ++t) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(got[t].numel()); ++i) {
        const float x = expected[t].data<float>()[i], y = got[t].data<float>()[i];
        ASSERT_EQ(x, y) << "seed " << seed << " output " << t << " element " << i;
      }
    }
  }
}

TEST(Passes, AllTogetherKeepTheBits) {
  const Tensor w = tensor(std::vector<float>(35, 0.25f), {5, 7}), x = tensor(std::vector<float>(15, -0.5f), {3, 5});
  auto plain = compile(value_and_grad(program), {.passes = OptimiseOptions::none()});
  auto all = compile(value_and_grad(program));
  const auto a = plain(w, x), b = all(w, x);
  EXPECT_EQ(a.value.item<float>(), b.value.item<float>());
  for (std::size_t i = 0; i < 35; ++i) EXPECT_EQ(a.grad.data<float>()[i], b.grad.data<float>()[i]);
}

TEST(Updates, TheOptimizerRunsAsSoonAsItsGradientIsThere) {
  struct P {
    std::vector<Tensor> w;
  };
  struct State {
    P params;
    Tensor steps;
  };
  const auto step = [](const State& s, const Tensor& x) {
    const P& p = s.params;
    const auto loss = [](const P& q, Tensor h) {
      for (const Tensor& w : q.w) h = tanh(matmul(h, w));
      return sum(h);
    };
    const auto [value, g] = value_and_grad(loss)(p, x);
    State next{p, s.steps + 1.0};
    // The rate comes from the state, as an optimizer's does.
    const Tensor rate = 0.1 / next.steps;
    for (std::size_t i = 0; i < p.w.size(); ++i) next.params.w[i] = p.w[i] - rate * g.w[i];
    return std::make_pair(next, value);
  };
  const State p{P{std::vector<Tensor>(8, abstract({{64, 64}}))}, abstract({Shape{}})};
  auto early = compile(step, {.state = 1});
  auto late = compile(step, {.state = 1, .passes = {.early_updates = false}});
  const Tensor x = abstract({{16, 64}});
  // Late: all eight gradients live together.
  EXPECT_LT(early.plan_for(p, x).plan().live_peak + 3 * 64 * 64 * 4, late.plan_for(p, x).plan().live_peak);
  EXPECT_EQ(count(early.plan_for(p, x).graph(), "assign"), 0u);
}

}  // namespace
}  // namespace tidemark
