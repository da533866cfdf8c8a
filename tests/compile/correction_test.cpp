// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/correction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

Correction::Replanned nothing(std::vector<double>, const std::function<bool()>&) { return {}; }

TEST(Correction, APredictionThatHoldsIsLeftAlone) {
  Correction c(1, nothing);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(c.record(1), nullptr);
    c.ran(1.04, 1.0);
  }
  EXPECT_DOUBLE_EQ(c.measured(), 1.04);
  EXPECT_FALSE(c.busy());
  EXPECT_EQ(c.corrections(), 0);
}

TEST(Correction, TheFirstRunAndASingleSlowOneDoNotCount) {
  Correction c(1, nothing);
  c.ran(50, 1.0);
  for (int i = 0; i < 12; ++i) c.ran(i == 5 ? 9.0 : 1.0, 1.0);
  EXPECT_EQ(c.record(1), nullptr);
  EXPECT_DOUBLE_EQ(c.measured(), 1.0);
}

TEST(Correction, WhatIsOffIsTimedTaskByTaskAndPlannedAgain) {
  std::vector<double> told;
  Correction c(3, [&](std::vector<double> seconds, const std::function<bool()>&) {
    told = std::move(seconds);
    return Correction::Replanned{.planned = {.plan = {.planner = "again"}}};
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(c.record(2), nullptr);
    c.ran(2.0, 1.0);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(c.take().has_value());
    Timeline* t = c.record(2);
    ASSERT_NE(t, nullptr);
    t->entries[0] = {.begin_ns = 100, .end_ns = 1100, .task = 0};
    t->entries[1] = {.begin_ns = 1200, .end_ns = 1600, .task = 2};
    c.ran(2.0, 1.0);
  }
  c.wait();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_DOUBLE_EQ(told[0], 1000e-9);
  EXPECT_EQ(told[1], 0) << "it did not run";
  EXPECT_DOUBLE_EQ(told[2], 500e-9) << "the gap before it is its own";
  const auto next = c.take();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->planned.plan.planner, "again");
  EXPECT_EQ(c.corrections(), 1);
  EXPECT_EQ(c.measured(), 0) << "the new plan has not run yet";
}

TEST(Correction, TimeThatOtherProgramsTookIsNotATasks) {
  Timeline t;
  t.work = true;
  t.work_begin_ns = 50;
  t.entries = {{.begin_ns = 0, .end_ns = 9000, .task = 0, .work_ns = 1050}, {.begin_ns = 9000, .end_ns = 9500, .task = 1, .work_ns = 2050}};
  const std::vector<double> seconds = seconds_of_tasks({&t, 1}, 2);
  EXPECT_DOUBLE_EQ(seconds[0], 1000e-9) << "it had a core for so long only";
  EXPECT_DOUBLE_EQ(seconds[1], 500e-9) << "two threads worked at once";
}

TEST(Correction, AReplanThatFailsLeavesThePlanAndEndsAfterAFew) {
  int asked = 0;
  Correction c(1, [&](std::vector<double>, const std::function<bool()>&) -> Correction::Replanned {
    ++asked;
    throw Error(Error::Kind::infeasible, "no");
  });
  for (int i = 0; i < 100; ++i) {
    c.record(1);
    c.ran(3.0, 1.0);
    c.wait();
    EXPECT_FALSE(c.take().has_value());
  }
  EXPECT_EQ(asked, 3);
}

TEST(Correction, EndsItsThreadWhenItGoes) {
  std::atomic<bool> stopped = false;
  {
    Correction c(1, [&](std::vector<double>, const std::function<bool()>& stop) -> Correction::Replanned {
      while (!stop()) std::this_thread::yield();
      stopped = true;
      return {};
    });
    for (int i = 0; i < 7; ++i) c.record(1), c.ran(3.0, 1.0);
    EXPECT_TRUE(c.busy());
  }
  EXPECT_TRUE(stopped);
}

Tensor loss(const std::vector<Tensor>& w, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& m : w) h = tanh(matmul(h, m));
  return mean(square(h));
}

TEST(Correction, AProgramCorrectsItselfAndKeepsItsBits) {
  std::vector<Tensor> w;
  for (int i = 0; i < 6; ++i) w.push_back(full({16, 16}, 0.01 * (i + 1)));
  const Tensor x = full({128, 16}, 0.5);
  // A device a thousand times slower than any: off for certain.
  auto slow = std::make_shared<DeviceProfile>();
  slow->threads = 1;
  slow->roofline = {1e6, 1e6, 1e-3};
  const auto bits = [](const auto& r) {
    std::vector<float> all;
    for (const Tensor& t : r.grad)
      all.insert(all.end(), t.template data<float>().begin(), t.template data<float>().end());
    return all;
  };
  auto exact = compile(value_and_grad(loss), {.device = cpu({.threads = 1}), .correct = false});
  const std::vector<float> wanted = bits(exact(w, x));
  auto f = compile(value_and_grad(loss),
                   {.memory = 0.8, .device = cpu({.threads = 1}), .time_limit = 0.2, .profile = slow});
  Compiled& c = f.plan_for(w, x);
  const double before = c.prediction().predicted;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(bits(f(w, x)), wanted);
    c.wait_for_correction();
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_LE(c.peak_predicted(), c.plan().budget);
    EXPECT_EQ(plan::check(c.problem(), c.plan()), "");
  }
  EXPECT_GE(c.prediction().corrections, 1);
  EXPECT_LT(c.prediction().predicted, before / 10);
  EXPECT_FALSE(c.profile().points.empty());
  EXPECT_TRUE(slow->points.empty()) << "the caller's own is left alone";
  for (int i = 0; i < 8; ++i) exact(w, x);
  EXPECT_EQ(exact.plan_for(w, x).prediction().corrections, 0);
}

}  // namespace
}  // namespace tidemark
