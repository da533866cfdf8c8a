// What a budget means and what is told of it agree: fractions with micro-batches, sizes in refusals, shapes that share an arena.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/compile/compile.h"
#include "tidemark/compile/refusal.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

Tensor loss(const std::vector<Tensor>& w, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& each : w) h = tanh(matmul(h, each));
  return mean(square(h));
}
std::vector<Tensor> weights() { return std::vector<Tensor>(6, full({32, 32}, 0.1)); }

TEST(Account, AFractionIsOfTheWholeBatchInAnyNumberOfParts) {
  const Tensor x = full({512, 32}, 0.5);
  const auto budget = [&](int parts) {
    CompileOptions options{.memory = 0.8, .time_limit = 0.1, .correct = false};
    options.micro_batches = parts;
    auto f = compile(value_and_grad(loss), options);
    return f.plan_for(weights(), x).plan().budget;
  };
  EXPECT_EQ(budget(1), budget(4));
}

TEST(Account, SizesAreRoundedUpWhereTheyAreNamed) {
  EXPECT_EQ(format_bytes(rounded_up(90176)), "88.07 KiB");
  EXPECT_EQ(rounded_up(96_KiB), 96_KiB);
  EXPECT_EQ(rounded_up(1000), 1000);
  for (const Bytes b : {1025, 90176, 1048577, 123456789}) {
    EXPECT_GE(rounded_up(b), b);
    EXPECT_GE(parse_bytes(format_bytes(rounded_up(b))), b);
  }
}

TEST(Account, WhatMaySplitIsNotRefusedByTheWholeBatchsBound) {
  auto f = compile(value_and_grad(loss),
                   {.memory = 80_KiB, .time_limit = 0.02, .micro_batches = may_split, .correct = false});
  try {
    f.plan_for(weights(), full({256, 32}, 0.5));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("does not fit 80.00 KiB in any number of parts; as a whole: "));
    EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("none below")));
  }
}

TEST(Account, EveryShapeMeasuresWhatItPredictsWithinItsBudget) {
  auto f = compile(
      value_and_grad(loss),
      {.memory = 0.7, .time_limit = 0.1, .correct = false, .shapes = {{Type{Shape{128, 32}, DType::f32}}}});
  for (const std::int64_t batch : {512, 128, 512, 128}) {
    const Tensor x = full({batch, 32}, 0.5);
    f(weights(), x);
    const Compiled& c = f.plan_for(weights(), x);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted()) << batch;
    EXPECT_LE(c.peak_measured(), c.plan().budget) << batch;
    for (const MemoryRow& row : c.memory()) EXPECT_GE(row.bytes, 0) << row.what;
  }
}

}  // namespace
}  // namespace tidemark
