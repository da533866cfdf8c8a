// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

struct Net {
  std::vector<Tensor> w;
};

Tensor loss(const Net& net, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& w : net.w) h = tanh(matmul(h, w));
  return mean(square(h));
}

Net shapes_of_net() {
  Net net;
  for (int i = 0; i < 6; ++i) net.w.push_back(abstract({{32, 32}, DType::f32}));
  return net;
}

const auto arguments = [](std::int64_t batch) {
  return std::tuple(shapes_of_net(), abstract({{batch, 32}, DType::f32}));
};
// By rounds, whatever the machine.
const FitOptions kQuick{.solve = {.time_limit = 60, .effort = 200}, .retries = 0};

// The problem as it is posed, solved: the search over sizes is the same for what compile plans, at a fraction of the time.
Fit largest(Bytes budget, FitOptions options) {
  options.budget = budget;
  return largest_fit(posed_at(value_and_grad(loss), {}, arguments), options);
}

bool fits(std::int64_t batch, Bytes budget) {
  const plan::Problem p = posed_at(value_and_grad(loss), {}, arguments)(batch);
  return plan::solve(p, {.budget = budget, .time_limit = 60, .effort = 200}).status <= plan::Plan::Status::feasible;
}

TEST(Fit, LargestBatchFitsAndTheNextDoesNot) {
  const Bytes budget = 200'000;
  const Fit fit = largest(budget, kQuick);
  ASSERT_GT(fit.n, 1);
  EXPECT_LE(fit.plan.peak, budget);
  EXPECT_EQ(plan::check(fit.problem, fit.plan), "");
  EXPECT_TRUE(fits(fit.n, budget));
  EXPECT_FALSE(fits(fit.n + 1, budget));
  EXPECT_LT(fit.tried.size(), 20u);
}

TEST(Fit, MultiplesAndLimitsAreKept) {
  FitOptions options = kQuick;
  options.multiple_of = 16;
  const Fit fit = largest(200'000, options);
  EXPECT_EQ(fit.n % 16, 0);
  EXPECT_FALSE(fits(fit.n + 16, 200'000));
  options.most = 32;
  EXPECT_EQ(largest(200'000, options).n, 32);
  // No limit, as a caller may write it.
  options = kQuick;
  const std::int64_t n = largest(200'000, options).n;
  options.most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(largest(200'000, options).n, n);
  options.most_overhead = std::nan("");
  EXPECT_THROW(largest(200'000, options), Error);
}

TEST(Fit, NothingFitsATinyBudgetAndItSaysWhy) {
  const Fit fit = max_batch(value_and_grad(loss), 1000, arguments, {}, kQuick);
  EXPECT_EQ(fit.n, 0);
  EXPECT_FALSE(fit.why_not.empty());
  ASSERT_EQ(fit.tried.size(), 1u);
  EXPECT_FALSE(fit.tried[0].fits);
}

TEST(Fit, ALimitOnTheOverheadFitsNoMore) {
  FitOptions options = kQuick;
  options.most_overhead = 0;
  const Fit none = largest(200'000, options);
  const Fit any = largest(200'000, kQuick);
  EXPECT_LT(none.n, any.n);
  EXPECT_DOUBLE_EQ(none.overhead(), 0);
}

TEST(Fit, BestBatchIsAsFastAsEverySizeLookedAt) {
  FitOptions options = kQuick;
  options.budget = 200'000;
  const Fit fit = best_fit(posed_at(value_and_grad(loss), {}, arguments), options);
  ASSERT_GT(fit.n, 0);
  for (const FitTry& t : fit.tried) {
    if (t.fits) {
      EXPECT_LE(static_cast<double>(t.n) / t.seconds, fit.per_second());
    }
  }
}

TEST(Fit, StopsWhenTold) {
  FitOptions options = kQuick;
  int seen = 0;
  options.progress = [&](const FitTry&) { return ++seen < 2; };
  const Fit fit = max_batch(value_and_grad(loss), 200'000, arguments, {}, options);
  EXPECT_TRUE(fit.stopped);
  EXPECT_EQ(fit.tried.size(), 2u);
  EXPECT_GT(fit.n, 0);
}

TEST(Fit, SizesThatCannotBeTracedDoNotFit) {
  const auto limited = [](std::int64_t n) {
    if (n > 5) fail(Error::Kind::usage, "[test] {} is past the table", n);
    return arguments(n);
  };
  const Fit fit = max_length(value_and_grad(loss), 1_GiB, limited, {}, kQuick);
  EXPECT_EQ(fit.n, 5);
  EXPECT_EQ(fit.refused, 6);
  EXPECT_TRUE(fit.proven);
}

TEST(Fit, TheMostThatWasAskedForHasNothingAbove) {
  FitOptions options = kQuick;
  options.most = 4;
  const Fit fit = max_batch(value_and_grad(loss), 1_GiB, arguments, {}, options);
  EXPECT_EQ(fit.n, 4);
  EXPECT_EQ(fit.refused, 0);
  EXPECT_TRUE(fit.proven);
}

// What compile would be refused is no size that fits, and what it does fits.
const FitOptions kShort{.most = 4096, .solve = {.time_limit = 0.05}, .retries = 0};

Compiled& compiled_at(Function<decltype(value_and_grad(loss))>& f, std::int64_t n) {
  return f.plan_for(shapes_of_net(), abstract({{n, 32}, DType::f32}));
}

constexpr Bytes kRow = 32 * 4,
                kWeights =
                    6 * 32 * kRow;  // a sample of a layer's result; resident with the samples themselves

TEST(Fit, PinsAreHeld) {
  constexpr Bytes kBudget = 200'000;
  const CompileOptions pinned{.pins = {{"*", keep}}};
  const Fit fit = max_batch(value_and_grad(loss), kBudget, arguments, pinned, kShort);
  ASSERT_GT(fit.n, 0);
  EXPECT_LE(kWeights + 7 * kRow * fit.n, kBudget) << "every layer's result waits for the backward pass";
  EXPECT_EQ(plan::check(fit.problem, fit.plan), "");
  auto f = compile(value_and_grad(loss), {.memory = kBudget, .pins = pinned.pins});
  EXPECT_LE(compiled_at(f, fit.n).peak_predicted(), kBudget);
}

TEST(Fit, OptionsThatCompileRefusesAreRefused) {
  const auto ask = [](const CompileOptions& options) {
    return max_batch(value_and_grad(loss), 200'000, arguments, options, kShort);
  };
  EXPECT_THROW(ask({.pins = {{"nonsense", keep}}}), Error);
  EXPECT_THROW(ask({.allow = {"nonsense"}}), Error);
  EXPECT_THROW(ask({.planner = "nonsense"}), Error);
  EXPECT_THROW(ask({.micro_batches = {2, {7}}}), Error);
}

TEST(Fit, LoopsAreFittedToTheBudget) {
  constexpr Bytes kBudget = 128'000;
  const auto looped = value_and_grad([](const Net& net, const Tensor& x) {
    return mean(square(scan(40, x, [&](const Tensor& h) { return tanh(matmul(h, net.w[0])); })));
  });
  const Fit fit = max_batch(looped, kBudget, arguments, {}, kShort);
  EXPECT_GT(40 * kRow * fit.n, kBudget) << "not every state is kept";
  EXPECT_EQ(plan::check(fit.problem, fit.plan), "");
  EXPECT_FALSE(fit.proven) << "what is proven with these areas is not of others";
  auto f = compile(looped, {.memory = kBudget});
  EXPECT_LE(f.plan_for(shapes_of_net(), abstract({{fit.n, 32}, DType::f32})).peak_predicted(), kBudget);
}

TEST(Fit, BatchesAreSplit) {
  constexpr Bytes kBudget = 200'000;
  // As a whole, a layer's result and two gradients of its size meet beside the samples.
  constexpr std::int64_t kWhole = (kBudget - kWeights) / (4 * kRow);
  CompileOptions options;
  options.micro_batches = 4;
  const Fit parts = max_batch(value_and_grad(loss), kBudget, arguments, options, kShort);
  EXPECT_EQ(parts.n % 4, 0);
  EXPECT_GT(parts.n, kWhole);
  options.micro_batches = may_split;
  FitOptions even = kShort;
  even.least = even.most = 384;
  static_assert(384 > kWhole);
  EXPECT_EQ(max_batch(value_and_grad(loss), kBudget, arguments, options, even).n, 384);
}

// What a size needs is not known from one search that found no plan: a bound tells, or another with more rounds.
TEST(Fit, WhatWasNotFoundIsLookedAtAgain) {
  // Of each size n: a chain of n tasks whose values of 5 bytes are wanted again in reverse, each by a task that has to run in place, which no
  // simple planner does.
  const PoseAt pose_at = [](std::int64_t n) {
    plan::Problem p{.name = "chain"};
    for (std::int64_t i = 0; i < n; ++i) {
      p.buffers.push_back({.name = fmt::format("a{}", i), .bytes = 5});
      p.tasks.push_back(
          {.name = p.buffers.back().name, .writes = {static_cast<plan::BufferId>(i)}, .seconds = 1});
      if (i > 0) p.tasks.back().reads = {static_cast<plan::BufferId>(i - 1)};
    }
    for (std::int64_t i = n; i-- > 0;) {
      const auto b = static_cast<plan::BufferId>(p.buffers.size());
      p.buffers.push_back({.name = fmt::format("b{}", i), .bytes = 10});
      p.tasks.push_back({.name = p.buffers.back().name,
                         .reads = {static_cast<plan::BufferId>(i)},
                         .writes = {b},
                         .seconds = 1});
      if (b == n) continue;
      p.tasks.back().reads.push_back(b - 1);
      p.tasks.back().in_place = {{b - 1, b}};
    }
    p.outputs = {static_cast<plan::BufferId>(p.buffers.size() - 1)};
    return p;
  };
  FitOptions options{.budget = 24, .most = 40, .solve = {.time_limit = 1e-6}, .retries = 0};
  const Fit once = largest_fit(pose_at, options);
  EXPECT_LT(once.n, 40);
  EXPECT_GT(once.refused, once.n);
  EXPECT_FALSE(once.proven) << "no time is no proof";
  options.retries = 1;
  options.more_time = 5e5;
  const Fit again = largest_fit(pose_at, options);
  EXPECT_EQ(again.n, 40) << "all of it can be made again within 24 bytes";
  EXPECT_EQ(again.refused, 0);
  EXPECT_TRUE(again.proven);
  EXPECT_EQ(plan::check(again.problem, again.plan), "");
  options.retries = 0;
  EXPECT_FALSE(best_fit(pose_at, options).proven);
}

// n values of 10 bytes meet at one task: no plan of more than 9 fits 100 bytes, and no time changes that.
TEST(Fit, WhatIsProvenIsLookedAtOnce) {
  const PoseAt pose_at = [](std::int64_t n) {
    plan::Problem p{.name = "meeting"};
    plan::Task last{.name = "last", .writes = {static_cast<plan::BufferId>(n)}, .seconds = 1};
    for (std::int64_t i = 0; i <= n; ++i) p.buffers.push_back({.name = fmt::format("a{}", i), .bytes = 10});
    for (plan::BufferId b = 0; b < static_cast<plan::BufferId>(n); ++b) {
      p.tasks.push_back({.name = p.buffers[static_cast<std::size_t>(b)].name, .writes = {b}, .seconds = 1});
      last.reads.push_back(b);
    }
    p.tasks.push_back(last);
    p.outputs = last.writes;
    return p;
  };
  for (const bool best : {false, true}) {
    const FitOptions options{.budget = 100, .solve = {.time_limit = 0.05}};
    const Fit fit = best ? best_fit(pose_at, options) : largest_fit(pose_at, options);
    if (!best) {
      EXPECT_EQ(fit.n, 9);
    }
    EXPECT_GE(fit.refused, 10);
    EXPECT_TRUE(fit.proven);
    std::set<std::int64_t> sizes;
    for (const FitTry& t : fit.tried) {
      EXPECT_TRUE(sizes.insert(t.n).second) << t.n << " twice";
      EXPECT_EQ(t.fits, t.n <= 9);
      EXPECT_EQ(t.proven, !t.fits);
    }
  }
}

}  // namespace
}  // namespace tidemark
