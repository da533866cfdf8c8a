// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/correction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/plan/solve.h"

namespace tidemark {
namespace {

using Stop = std::function<bool()>;

Correction::Replanned nothing(const Correction::Learned&, const Stop&) { return {}; }

TEST(Correction, APredictionThatHoldsIsLeftAlone) {
  Correction c(1, nothing);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(c.record(1), nullptr);
    c.ran(1.02, 1.0);
  }
  EXPECT_DOUBLE_EQ(c.measured(), 1.02);
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
  std::vector<TaskTime> told;
  Correction c(3, [&](const Correction::Learned& learned, const Stop&) {
    told = learned.times;
    EXPECT_DOUBLE_EQ(learned.seconds, 2.0);
    EXPECT_FALSE(learned.last);
    return Correction::Replanned{.planned = {.plan = {.planner = "again"}}};
  });
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(c.record(2), nullptr);
    c.ran(2.0, 1.0);
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(c.take().has_value());
    Timeline* t = c.record(2);
    ASSERT_EQ(t == nullptr, i % 2 == 1) << "as a whole and task by task in turn";
    if (t != nullptr) {
      t->entries[0] = {.begin_ns = 100, .end_ns = 1100, .task = 0};
      t->entries[1] = {.begin_ns = 1200, .end_ns = 1600, .task = 2};
    }
    c.ran(2.0, 1.0);
  }
  c.wait();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_DOUBLE_EQ(told[0].seconds, 1000e-9);
  EXPECT_EQ(told[1].runs, 0);
  EXPECT_DOUBLE_EQ(told[2].seconds, 500e-9) << "the gap before it is its own";
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
  const std::vector<TaskTime> times = times_of_tasks({&t, 1}, 2);
  EXPECT_DOUBLE_EQ(times[0].seconds, 1000e-9) << "it had a core for so long only";
  EXPECT_DOUBLE_EQ(times[1].seconds, 500e-9) << "two threads worked at once";
}

TEST(Correction, TasksAddUpToTheStepTheyRanIn) {
  // Task 0 runs twice, the second time from the caches.
  std::vector<Timeline> runs(3);
  for (int r = 0; r < 3; ++r) {
    const std::int64_t slow = r == 1 ? 4000 : 0;  // once disturbed, elsewhere each time
    runs[static_cast<std::size_t>(r)].entries = {{.begin_ns = 0, .end_ns = 3000 + slow, .task = 0},
                                                 {.begin_ns = 3000 + slow, .end_ns = 5000 + slow, .task = 1},
                                                 {.begin_ns = 5000 + slow, .end_ns = 6000 + slow, .task = 0}};
  }
  std::vector<TaskTime> times = times_of_tasks(runs, 3);
  EXPECT_EQ(times[0].runs, 2);
  EXPECT_DOUBLE_EQ(times[0].seconds, 2000e-9);
  EXPECT_DOUBLE_EQ(times[1].seconds, 2000e-9);
  times = times_of_tasks(runs, 3, 6600e-9);
  EXPECT_DOUBLE_EQ(2 * times[0].seconds + times[1].seconds, 6600e-9);
  EXPECT_EQ(times[2].runs, 0);
  // Without copies under way, Correction scales to the runs that were not timed task by task.
  std::vector<TaskTime> told;
  Correction c(2, [&](const Correction::Learned& learned, const Stop&) {
    told = learned.times;
    return Correction::Replanned{};
  }, {.cores_only = true});
  for (int i = 0; i < 16; ++i) {
    if (Timeline* t = c.record(1)) t->entries[0] = {.begin_ns = 0, .end_ns = 3000, .task = 1, .work_ns = 3000};
    c.ran(2500e-9, 1e-6);
  }
  c.wait();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_DOUBLE_EQ(told[1].seconds, 2500e-9);
}

TEST(Correction, ARunningPlanIsLeftForWhatIsClearlyBetterOnly) {
  plan::Problem problem;
  problem.buffers = {{.name = "a", .bytes = 64}, {.name = "b", .bytes = 64}};
  problem.tasks = {{.name = "a", .writes = {0}, .seconds = 1}, {.name = "b", .reads = {0}, .writes = {1}, .seconds = 2}};
  problem.outputs = {1};
  const plan::Plan running = plan::solve(problem);
  for (plan::Task& t : problem.tasks) t.seconds *= 2;
  plan::Plan next = plan::solve(problem);
  next.seconds = 5.9;
  const std::optional<plan::Plan> same = stay_with(problem, running, next);
  ASSERT_TRUE(same.has_value());
  EXPECT_DOUBLE_EQ(same->seconds, 6) << "by the problem as it is now";
  EXPECT_EQ(plan::check(problem, *same), "");
  next.seconds = 5.5;
  EXPECT_FALSE(stay_with(problem, running, next).has_value());
  EXPECT_TRUE(stay_with(problem, running, next, 0.1).has_value()) << "less than a tenth is saved";
}

TEST(Correction, WhatLastsAFewStepsTeachesNothing) {
  // Runs as predicted; but something else has the machine for a while, just when the prediction is looked at.
  int asked = 0;
  Correction c(1, [&](const Correction::Learned&, const Stop&) {
    ++asked;
    return Correction::Replanned{};
  });
  const auto run = [&](double seconds) {
    c.record(1);
    c.ran(seconds, 1.0);
    c.wait();
    c.take();
  };
  for (int i = 0; i < 9; ++i) run(1.5);
  EXPECT_TRUE(c.recording());
  for (int i = 0; i < 40; ++i) run(1.0);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(c.recording());
  EXPECT_DOUBLE_EQ(c.measured(), 1.0);
  EXPECT_EQ(c.corrections(), 0) << "none was used up";
}

TEST(Correction, LearnsFromRunsThatAgreeWithThoseBefore) {
  double told = 0;
  Correction c(1, [&](const Correction::Learned& learned, const Stop&) {
    told = learned.seconds;
    return Correction::Replanned{};
  });
  const auto run = [&](int n, double seconds) {
    for (int i = 0; i < n; ++i) c.record(1), c.ran(seconds, 1.0);
  };
  run(6, 1.5);
  run(10, 1.2);
  EXPECT_FALSE(c.busy()) << "a window apart from the runs before it";
  run(10, 1.2);
  EXPECT_TRUE(c.busy());
  c.wait();
  EXPECT_DOUBLE_EQ(told, 1.2);
  // A machine that never comes to rest is learned from all the same.
  c.take();
  for (const double seconds : {1.5, 1.7, 1.9, 2.1}) run(seconds == 1.5 ? 6 : 10, seconds);
  EXPECT_FALSE(c.busy());
  run(10, 2.3);
  EXPECT_TRUE(c.busy());
  c.wait();
  EXPECT_DOUBLE_EQ(told, 2.3);
}

TEST(Correction, AReplanThatFailsLeavesThePlanAndEndsAfterAFew) {
  int asked = 0;
  std::vector<bool> last;
  Correction c(1, [&](const Correction::Learned& learned, const Stop&) -> Correction::Replanned {
    ++asked;
    last.push_back(learned.last);
    throw Error(Error::Kind::infeasible, "no");
  });
  for (int i = 0; i < 100; ++i) {
    c.record(1);
    c.ran(3.0, 1.0);
    c.wait();
    EXPECT_FALSE(c.take().has_value());
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(last, (std::vector<bool>{false, false, true}));
}

TEST(Correction, EndsItsThreadWhenItGoes) {
  std::atomic<bool> stopped = false;
  {
    Correction c(1, [&](const Correction::Learned&, const Stop& stop) -> Correction::Replanned {
      while (!stop()) std::this_thread::yield();
      stopped = true;
      return {};
    });
    for (int i = 0; i < 16; ++i) c.record(1), c.ran(3.0, 1.0);
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
  for (int i = 0; i < 60; ++i) {
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
  for (int i = 0; i < 20; ++i) exact(w, x);
  EXPECT_EQ(exact.plan_for(w, x).prediction().corrections, 0);
}

}  // namespace
}  // namespace tidemark
