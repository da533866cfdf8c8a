// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/fit.h"

#include <gtest/gtest.h>

#include "tidemark/front/grad.h"
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
const FitOptions kQuick{.solve = {.time_limit = 60, .effort = 200}};  // by rounds, whatever the machine

bool fits(std::int64_t batch, Bytes budget) {
  const plan::Problem p = posed_at(value_and_grad(loss), {}, arguments)(batch);
  return plan::solve(p, {.budget = budget, .time_limit = 60, .effort = 200}).status <= plan::Plan::Status::feasible;
}

TEST(Fit, LargestBatchFitsAndTheNextDoesNot) {
  const Bytes budget = 200'000;
  const Fit fit = max_batch(value_and_grad(loss), budget, arguments, {}, kQuick);
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
  const Fit fit = max_batch(value_and_grad(loss), 200'000, arguments, {}, options);
  EXPECT_EQ(fit.n % 16, 0);
  EXPECT_FALSE(fits(fit.n + 16, 200'000));
  options.most = 32;
  EXPECT_EQ(max_batch(value_and_grad(loss), 200'000, arguments, {}, options).n, 32);
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
  const Fit none = max_batch(value_and_grad(loss), 200'000, arguments, {}, options);
  const Fit any = max_batch(value_and_grad(loss), 200'000, arguments, {}, kQuick);
  EXPECT_LT(none.n, any.n);
  EXPECT_DOUBLE_EQ(none.overhead(), 0);
}

TEST(Fit, BestBatchIsAsFastAsEverySizeLookedAt) {
  const Fit fit = best_batch(value_and_grad(loss), 200'000, arguments, {}, kQuick);
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
  EXPECT_EQ(max_length(value_and_grad(loss), 1_GiB, limited, {}, kQuick).n, 5);
}

}  // namespace
}  // namespace tidemark
