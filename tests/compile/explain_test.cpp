// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compile/small_nets.h"
#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

struct State {
  std::vector<Tensor> w, momentum;
};

Tensor loss(const std::vector<Tensor>& w, const Tensor& x) {
  Tensor h = x;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Scope scope("layer", static_cast<std::int64_t>(i));
    h = name(tanh(matmul(h, w[i])), "h");
  }
  return mean(square(h));
}

std::pair<State, Tensor> step(const State& s, const Tensor& x) {
  const auto [value, g] = value_and_grad(loss)(s.w, x);
  State next = s;
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    next.momentum[i] = 0.9 * s.momentum[i] + g[i];
    next.w[i] = s.w[i] - 0.1 * next.momentum[i];
  }
  return {next, value};
}

State state_of(int layers) {
  State s;
  for (int i = 0; i < layers; ++i) {
    s.w.push_back(full({16, 16}, 0.01));
    s.momentum.push_back(zeros({16, 16}));
  }
  return s;
}

constexpr Bytes kMatrix = 16 * 16 * 4;

TEST(Memory, RowsAddUpToThePeakAtEveryBudget) {
  const Tensor x = full({256, 16}, 0.5);
  for (const Budget& budget : {Budget(), Budget(0.9), Budget(0.75), Budget::minimum()}) {
    auto f = compile(step, {.memory = budget, .state = 1, .time_limit = 0.2});
    f(state_of(6), x);
    const Compiled& c = f.plan_for(state_of(6), x);
    Bytes sum = 0, again = 0, kept = 0;
    for (const MemoryRow& row : c.memory()) {
      sum += row.bytes;
      if (row.what == "parameters") {
        EXPECT_EQ(row.bytes, 6 * kMatrix);
      }
      if (row.what == "optimizer and other state") {
        EXPECT_EQ(row.bytes, 6 * kMatrix);
      }
      if (row.what == "inputs") {
        EXPECT_EQ(row.bytes, 256 * 16 * 4);
      }
      if (row.what == "unexplained") {
        EXPECT_EQ(row.bytes, 0);
      }
      if (row.what == "activations kept") kept = row.bytes;
      if (row.what == "made again") again = row.bytes;
    }
    EXPECT_EQ(sum, c.peak_measured());
    if (budget.kind == Budget::Kind::unlimited) {
      EXPECT_EQ(again, 0);
      EXPECT_GE(kept, 5 * 256 * 16 * 4) << "every layer's result waits for the backward pass";
    }
  }
}

// Plans count what a task works in by the alignment, as they count buffers.
TEST(Memory, AWorkspaceOfAnySizeIsExplained) {
  auto f = compile(value_and_grad([](const Tensor& x, const Tensor& scale, const Tensor& shift) {
    return mean(square(batch_norm_training(x, scale, shift).y));
  }));
  const Compiled& c = f.plan_for(full({2, 8, 2, 4}, 0.5), ones({8}), zeros({8}));
  const auto& tasks = c.problem().tasks;
  ASSERT_TRUE(std::any_of(tasks.begin(), tasks.end(), [&](const plan::Task& t) {
    return t.workspace % c.problem().align != 0;
  })) << "nothing to look at";
  Bytes sum = 0;
  for (const MemoryRow& row : c.memory()) sum += row.bytes;
  EXPECT_EQ(sum, c.peak_predicted());
  EXPECT_EQ(c.memory().back().bytes, 0) << c.memory().back().what;
}

TEST(Memory, GradientsAreToldFromActivations) {
  auto f = compile(step, {.state = 1});
  const Compiled& c = f.plan_for(state_of(3), full({8, 16}, 0.5));
  const Posed posed{c.problem(), c.binding()};
  const std::vector<Role> role = roles(posed);
  int gradients = 0, activations = 0;
  for (std::size_t b = 0; b < role.size(); ++b) {
    gradients += role[b] == Role::gradient;
    activations += role[b] == Role::activation;
  }
  EXPECT_GE(activations, 3);
  EXPECT_GE(gradients, 3);
}

// What a kernel of the forward pass gives beside for the backward pass is no gradient, and what is kept in another form was not made
// again.
TEST(Memory, WhatIsKeptForTheBackwardPassIsAnActivation) {
  const Tensor x = full({256, 32}, 0.5);
  const small_nets::Net net{std::vector<Tensor>(8, full({32, 32}, 0.01))};
  const auto row = [](const Compiled& c, std::string_view what) {
    for (const MemoryRow& r : c.memory()) {
      if (r.what == what) return r.bytes;
    }
    return Bytes{-1};
  };
  constexpr Bytes kValue = 256 * 32 * 4;
  auto all = compile(value_and_grad(small_nets::reversible), {.device = cpu({.threads = 1})});
  const Compiled& kept = all.plan_for(net, x);
  EXPECT_GE(row(kept, "activations kept"), 10 * kValue) << "two of each block";
  EXPECT_LE(row(kept, "gradients"), 4 * kValue);
  EXPECT_EQ(row(kept, "made again"), 0);
  EXPECT_THAT(kept.explain("*"), testing::HasSubstr("f32(256,32), 32.00 KiB: always there"))
      << "x has no name";

  // Products take long, and codes of what relu gives do not: they are what is kept.
  DeviceProfile slow = cpu_profile(1);
  slow.points.clear();
  slow.ops["matmul f32"] = {.flops_per_second = 1e7, .bytes_per_second = 1e7, .seconds_per_task = 1e-3};
  for (const char* codec : {"encode zeros f32", "decode zeros f32"})
    slow.ops[codec] = {.flops_per_second = 1e12, .bytes_per_second = 1e12, .seconds_per_task = 1e-7};
  auto coded = compile(value_and_grad([](const small_nets::Net& p, const Tensor& in) {
                         Tensor h = in;
                         for (const Tensor& w : p.w) h = relu(matmul(h, w));
                         return mean(square(h));
                       }),
                       {.memory = 0.8,
                        .device = cpu({.threads = 1}),
                        .time_limit = 0.3,
                        .profile = std::make_shared<const DeviceProfile>(slow),
                        .correct = false});
  const Compiled& c = coded.plan_for(net, x);
  ASSERT_THAT(c.explain("*"), testing::HasSubstr("kept as zeros"));
  // At the peak nothing has been decoded yet, or one value at most.
  EXPECT_LE(row(c, "made again"), kValue);
  EXPECT_GE(row(c, "activations kept"), 4 * kValue);
}

TEST(Explain, SaysWhatWasKeptAndWhatWasMadeAgain) {
  const Tensor x = full({256, 16}, 0.5);
  auto all = compile(step, {.state = 1});
  const Compiled& kept = all.plan_for(state_of(6), x);
  EXPECT_THAT(kept.explain("layer.2.h"), testing::HasSubstr("kept until its last use"));
  EXPECT_THAT(kept.explain("layer.2.h"), testing::HasSubstr("explain_test.cpp"));
  EXPECT_THAT(kept.explain("layer.2.h"), testing::HasSubstr("1.00 GiB more would save no time"));
  EXPECT_THAT(kept.explain("w.0"), testing::HasSubstr("always there, updated in place"));

  auto tight = compile(step, {.memory = Budget::minimum(), .state = 1, .time_limit = 0.5});
  const Compiled& c = tight.plan_for(state_of(6), x);
  double again = 0;
  for (const Explanation& e : explain(Posed{c.problem(), c.binding()}, c.plan(), "*")) {
    EXPECT_FALSE(e.text.empty());
    EXPECT_GE(e.gone, 0);
    EXPECT_LE(e.gone, 1);
    again += e.seconds_again;
  }
  double planned = 0;
  std::vector<char> ran(c.problem().tasks.size(), 0);
  for (const plan::Step& s : c.plan().steps) {
    if (s.kind != plan::Step::Kind::run) continue;
    const auto t = static_cast<std::size_t>(s.id);
    if (ran[t] != 0) planned += c.problem().tasks[t].seconds;
    ran[t] = 1;
  }
  EXPECT_GT(planned, 0) << "the least memory is not had for nothing";
  EXPECT_NEAR(again, planned, 1e-12) << "every second of recomputation is some value's";
  EXPECT_THAT(c.explain("*"), testing::HasSubstr("again"));
  EXPECT_THAT(c.explain("*"), testing::HasSubstr("more would save"));
}

// Kernels that give several values, and makers that spare several, are paid for once.
TEST(Explain, WhatValuesCostAddsUpToThePlan) {
  const Tensor x = full({256, 32}, 0.5);
  const small_nets::Net net{std::vector<Tensor>(6, full({32, 32}, 0.01))};
  double most = 0;
  for (const auto loss : {small_nets::residual, small_nets::gated, small_nets::reversible}) {
    for (const Budget& budget : {Budget(0.7), Budget(0.55), Budget::minimum()}) {
      auto f =
          compile(value_and_grad(loss), {.memory = budget, .device = cpu({.threads = 1}), .time_limit = 0.1});
      const Compiled& c = f.plan_for(net, x);
      double once = 0, told = 0;
      for (const plan::Task& t : c.problem().tasks) once += t.optional ? 0 : t.seconds;
      for (const Explanation& e : explain(c.posed(), c.plan(), "*")) told += e.seconds_again;
      EXPECT_NEAR(once + told, c.plan().seconds, 1e-9 * c.plan().seconds);
      most = std::max(most, told);
    }
  }
  EXPECT_GT(most, 0);
}

TEST(Explain, AnUnknownNameIsAnError) {
  auto f = compile([](const Tensor& x) { return x * 2.0; });
  const Compiled& c = f.plan_for(full({4}, 1.0));
  EXPECT_THROW(c.explain("nothing.of.the.kind"), Error);
}

TEST(Compiled, FrontierAndSmallestStartFromTheSameProblem) {
  auto f = compile(step, {.state = 1});
  const Compiled& c = f.plan_for(state_of(4), full({64, 16}, 0.5));
  const auto points = c.frontier(4, 0.4);
  ASSERT_GE(points.size(), 2u);
  EXPECT_LE(points.back().plan.seconds, points.front().plan.seconds);
  const plan::SmallestPeak least = c.smallest(0.3);
  EXPECT_LE(least.budget, c.plan().peak);
  EXPECT_LE(least.bound, least.budget);
}

}  // namespace
}  // namespace tidemark
