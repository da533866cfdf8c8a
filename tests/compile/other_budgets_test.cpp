// What a compiled program says of other budgets is what compile does with them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compile/small_nets.h"
#include "tidemark/base/text.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/makers.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/store/tier_store.h"

namespace tidemark {
namespace {

using small_nets::Net;

Net net() { return {std::vector<Tensor>(4, full({32, 32}, 0.03))}; }
Tensor batch() { return full({128, 32}, 0.5); }

Tensor looped(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (int k = 0; k < 2; ++k)
    h = scan(40, h, [&](const Tensor& s) { return tanh(matmul(s, p.w[static_cast<std::size_t>(k)])); });
  return mean(square(h));
}

// The least budget is one that compile takes, in the same time, and one a little below is none that it takes where that is proven.
template <typename F>
plan::SmallestPeak expect_accepted(F f, CompileOptions options, const Compiled& c) {
  const plan::SmallestPeak least = c.smallest(0.2);
  EXPECT_GE(least.budget, least.plan.peak);
  EXPECT_LE(least.bound, least.budget);
  options.memory = least.budget;
  EXPECT_NO_THROW(compile(f, options).plan_for(net(), batch()));
  return least;
}

TEST(OtherBudgets, LoopsAreFittedToEach) {
  const auto f = value_and_grad(looped);
  CompileOptions options{.device = cpu({.threads = 1}), .time_limit = 0.1, .correct = false};
  auto all = compile(f, options);
  const Compiled& kept = all.plan_for(net(), batch());
  options.memory = 0.5;
  auto half = compile(f, options);
  const Compiled& c = half.plan_for(net(), batch());
  // Whatever areas the loops have now.
  for (const Compiled* of : {&kept, &c}) {
    const plan::SmallestPeak least = expect_accepted(f, options, *of);
    EXPECT_LT(least.budget, c.plan().peak / 2);
    const std::vector<plan::FrontierPoint> points = of->frontier(4, 0.4);
    ASSERT_EQ(points.size(), 4u);
    EXPECT_LT(points.front().budget, c.plan().peak / 2);
    EXPECT_EQ(points.back().budget, kept.plan().peak);
    for (std::size_t i = 1; i < points.size(); ++i) {
      EXPECT_LT(points[i - 1].budget, points[i].budget);
      EXPECT_LE(points[i].plan.seconds, points[i - 1].plan.seconds);
      EXPECT_LE(points[i].plan.peak, points[i].budget);
    }
    EXPECT_DOUBLE_EQ(points.back().plan.seconds, kept.plan().seconds);
  }
  // A GiB more is room for every state.
  EXPECT_LT(kept.plan().seconds, c.plan().seconds);
  EXPECT_THAT(c.explain("*"),
              testing::HasSubstr(fmt::format("1.00 GiB more would save {} a step",
                                             format_seconds(c.plan().seconds - kept.plan().seconds))));
}

TEST(OtherBudgets, PartsAreChosenForEach) {
  const auto f = value_and_grad(small_nets::residual);
  CompileOptions options{.memory = 0.9, .device = cpu({.threads = 1}), .time_limit = 0.1, .correct = false};
  auto whole = compile(f, options);
  const plan::SmallestPeak lone = expect_accepted(f, options, whole.plan_for(net(), batch()));
  options.micro_batches = may_split;
  auto split = compile(f, options);
  const Compiled& c = split.plan_for(net(), batch());
  EXPECT_EQ(c.micro_batches(), 1);
  const plan::SmallestPeak least = expect_accepted(f, options, c);
  EXPECT_LT(least.budget, lone.bound);
  EXPECT_LT(c.frontier(3, 0.6).front().budget, lone.bound);
}

// However little time there is to look for others.
TEST(OtherBudgets, WhatRunsIsNotBelowTheLeast) {
  auto least = compile(
      value_and_grad(small_nets::residual),
      {.memory = Budget::minimum(), .device = cpu({.threads = 1}), .time_limit = 0.2, .correct = false});
  const Compiled& c = least.plan_for(net(), batch());
  const plan::SmallestPeak found = c.smallest(0);
  EXPECT_LE(found.budget, c.plan().peak);
  EXPECT_LE(found.plan.peak, found.budget);
  EXPECT_LE(found.bound, found.budget);
  const std::vector<plan::FrontierPoint> points = c.frontier(3, 0);
  ASSERT_FALSE(points.empty());
  EXPECT_LE(points.front().budget, c.plan().peak);
  for (const plan::FrontierPoint& p : points) EXPECT_LE(p.plan.peak, p.budget);
}

// Updates wait for copies to disk: what the least takes without that is no budget of an atomic step.
TEST(OtherBudgets, StepsHappenWholeUnderEach) {
  struct Next {
    Net net;
    Tensor value;
  };
  const auto step = [](const Net& p, const Tensor& x) {
    auto [value, grad] = value_and_grad(looped)(p, x);
    for (std::size_t i = 0; i < grad.w.size(); ++i) grad.w[i] = p.w[i] - 0.1 * grad.w[i];
    return Next{grad, value};
  };
  TierSpec tier = disk(testing::TempDir(), 8_MiB);
  tier.write_bytes_per_second = tier.read_bytes_per_second = 1e9;
  tier.latency_seconds = 1e-6;
  CompileOptions options{.memory = 0.4,
                         .device = cpu({.threads = 1}),
                         .state = 1,
                         .time_limit = 0.1,
                         .tiers = {tier},
                         .correct = false};
  auto f = compile(step, options);
  expect_accepted(step, options, f.plan_for(net(), batch()));
}

// A value that takes more to make again than to keep, and a code of it in a slot that may be too small.
TEST(OtherBudgets, TheLeastDoesNotRestOnSlotsThatMayOverflow) {
  plan::Problem p{.name = "slots"};
  const auto buffer = [&](const char* name, Bytes bytes) {
    p.buffers.push_back({.name = name, .bytes = bytes});
    return static_cast<plan::BufferId>(p.buffers.size() - 1);
  };
  const plan::BufferId a = buffer("a", 10), b = buffer("b", 10), code = buffer("code", 1),
                       out = buffer("out", 1);
  p.tasks.push_back({.name = "a", .writes = {a}, .seconds = 1, .workspace = 10});
  p.tasks.push_back({.name = "encode", .reads = {a}, .writes = {code}, .seconds = 1, .optional = true});
  p.tasks.push_back({.name = "b", .writes = {b}, .seconds = 1, .workspace = 5});
  p.tasks.push_back({.name = "decode", .reads = {code}, .writes = {a}, .seconds = 1, .optional = true});
  p.tasks.push_back({.name = "out", .reads = {a, b}, .writes = {out}, .seconds = 1});
  p.outputs = {out};
  Maker maker{.method = "zeros", .buffer = a, .run = {1, 3}, .saved = 9, .seconds = 2, .can_overflow = true};
  const auto least = [&] {
    return solve_with(p, {maker}, {.time_limit = 0.1, .offsets = true}, {.minimum = true});
  };
  const Chosen calm = least();
  EXPECT_EQ(calm.plan.peak, 25);
  EXPECT_FALSE(calm.without_overflow);
  maker.can_overflow = false;
  EXPECT_EQ(least().plan.peak, 21) << "what the code would be good for";
}

}  // namespace
}  // namespace tidemark
