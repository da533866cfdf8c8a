// Loops reversed under every budget: the same bits, the promised peak, the promised steps.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/checkpointed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "tests/tape/flow.h"
#include "tests/tape/kill.h"
#include "tidemark/schedule/registry.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark {
namespace {

using flow::Control;
using flow::Flow;
using flow::flow_loss;
using flow::flow_start;
using flow::flow_step;
using flow::kControl;
using flow::numbers_of;
using ::testing::HasSubstr;

template <typename T>
struct Stateless {};

TEST(Checkpointed, AStateMayBeEmpty) {
  const auto step = [](auto&, const auto&) {};
  const auto loss = [](const auto&, const auto& p) { return p.viscosity * p.viscosity; };
  for (const Bytes memory : {64_KiB, 1_MiB}) {
    const auto g = checkpointed(step, loss, Stateless<double>{}, kControl, 1000, {.memory = memory});
    EXPECT_EQ(g.parameters.viscosity, 2 * kControl.viscosity);
  }
}

TEST(Checkpointed, AgreesWithDifferences) {
  const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, 50, {.memory = 1_MiB});
  const auto run = [&](Flow<double> s, const Control<double>& p) {
    for (std::int64_t i = 0; i < 50; ++i) flow_step(s, p, i);
    return flow_loss(s, p);
  };
  EXPECT_EQ(g.value, run(flow_start(), kControl));
  const double h = 1e-6;
  Control<double> up = kControl, down = kControl;
  up.viscosity += h;
  down.viscosity -= h;
  EXPECT_NEAR(g.parameters.viscosity, (run(flow_start(), up) - run(flow_start(), down)) / (2 * h), 1e-6);
  Flow<double> a = flow_start(), b = flow_start();
  a.u[7] += h;
  b.u[7] -= h;
  EXPECT_NEAR(g.state.u[7], (run(a, kControl) - run(b, kControl)) / (2 * h), 1e-6);
}

TEST(Checkpointed, EveryBudgetGivesTheSameBitsThePromisedPeakAndSteps) {
  const std::int64_t n = 200;
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, n, {.memory = 1_GiB});
  EXPECT_EQ(all.report.schedule, "store_all");
  EXPECT_EQ(all.report.measured_forward_steps, n);
  const std::vector<double> expected = numbers_of(all);
  const Bytes least = all.report.beside + all.report.state + all.report.tape;
  std::set<std::string> schedules;
  for (const Bytes more : {0_B, 300_B, 1_KiB, 3_KiB, 10_KiB, 40_KiB, 200_KiB, 1_MiB}) {
    SCOPED_TRACE(more);
    const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, n, {.memory = least + more});
    EXPECT_EQ(numbers_of(g), expected);
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_LE(g.report.peak, least + more);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
    schedules.insert(g.report.schedule);
  }
  EXPECT_THAT(schedules, ::testing::Contains("revolve"));
  try {
    checkpointed(flow_step, flow_loss, flow_start(), kControl, n, {.memory = least - 1});
    FAIL() << "a budget too small was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
    EXPECT_THAT(e.what(), HasSubstr("vs at least " + format_bytes(least)));
  }
}

TEST(Checkpointed, AStepThatTapedComesToAnotherStateIsRefused) {
  const auto step = [](auto& s, const auto& p, std::int64_t i) {
    flow_step(s, p, i);
    if constexpr (std::same_as<std::remove_cvref_t<decltype(s.dissipated)>, double>)
      s.u[3] = std::nextafter(s.u[3], 1.0);
  };
  for (const auto& memory : {64_KiB, 1_GiB}) {
    try {
      checkpointed(step, flow_loss, flow_start(), kControl, 50, {.memory = memory});
      FAIL() << "two states were taken for one";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::usage);
      EXPECT_THAT(e.what(), HasSubstr("-ffp-contract=off"));
    }
  }
  // A NaN is as good as another.
  Flow<double> start = flow_start();
  start.u[2] = std::nan("");
  EXPECT_TRUE(std::isnan(checkpointed(flow_step, flow_loss, start, kControl, 5, {.memory = 1_GiB}).value));
}

// A loss that tapes more behind the last step than at the first state, where its size was learned.
TEST(Checkpointed, ALossThatGrowsIsInTheBudget) {
  const auto loss = [](const auto& s, const auto& p) {
    std::remove_cvref_t<decltype(s.dissipated)> sum = s.dissipated * p.viscosity;
    for (int i = 0; s.time > 1 && i < 20'000; ++i) sum += sin(sum) * s.u[3];
    return sum;
  };
  const auto g = checkpointed(flow_step, loss, flow_start(), kControl, 50, {.memory = 1_GiB});
  EXPECT_EQ(g.report.peak, g.report.measured_peak);
  // Where the plan leaves no room for it, there is another: more memory is never refused where less was enough.
  int refused = 0, planned_again = 0;
  for (Bytes memory = 64_KiB; memory <= 2_MiB; memory += 31_KiB) {
    try {
      const auto h = checkpointed(flow_step, loss, flow_start(), kControl, 50, {.memory = memory});
      EXPECT_EQ(numbers_of(h), numbers_of(g));
      EXPECT_EQ(h.report.peak, h.report.measured_peak);
      EXPECT_LE(h.report.peak, memory);
      planned_again += h.report.schedule != "store_all" ? 1 : 0;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::infeasible);
      EXPECT_EQ(planned_again, 0) << memory;
      EXPECT_THAT(e.what(), HasSubstr("at least"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(planned_again, 0);
  const While ends{[](const auto& s, std::int64_t) { return s.time < 4.95; }};
  try {
    checkpointed(flow_step, loss, flow_start(), kControl, ends, {.memory = 64_KiB});
    FAIL() << "a tape larger than the budget";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
    EXPECT_THAT(e.what(), HasSubstr("the loss"));
  }
}

TEST(Checkpointed, RefusesOptionsThatDoNotGoTogether) {
  const auto what = [](auto n, const CheckpointOptions& options) {
    try {
      checkpointed(flow_step, flow_loss, flow_start(), kControl, n, options);
    } catch (const Error& e) {
      return std::pair(e.kind(), std::string(e.what()));
    }
    return std::pair(Error::Kind::internal, std::string("no error"));
  };
  const auto sizes = measure_steps(flow_step, flow_start(), kControl, 5);
  const While ends{[](const auto&, std::int64_t step) { return step < 5; }};
  EXPECT_THAT(what(ends, {.steps = sizes}).second, HasSubstr("a loop that ends by itself"));
  EXPECT_THAT(what(std::int64_t{5}, {.disk = 1_MiB}).second, HasSubstr("no folder"));
  const auto [kind, text] = what(std::int64_t{5}, {.memory = 1_KiB, .steps = sizes});
  EXPECT_EQ(kind, Error::Kind::infeasible);
  EXPECT_THAT(text, HasSubstr("at least"));
}

// Steps that turn out to differ are measured, and planned for one by one.
TEST(Checkpointed, AStateThatGrowsIsMeasured) {
  const auto step = [](auto& s, const auto& p, std::int64_t i) {
    flow_step(s, p, i);
    if (i == 20 || i == 30) s.u.push_back(s.u[0]);
  };
  const auto all = checkpointed(step, flow_loss, flow_start(), kControl, 50, {.memory = 1_GiB});
  EXPECT_EQ(all.report.schedule, "chain");
  EXPECT_EQ(all.report.measured_forward_steps, 50);
  EXPECT_GT(all.report.largest_state, all.report.state);
  EXPECT_GT(all.report.all_states, 50 * all.report.state);
  for (const Bytes memory : {48_KiB, 64_KiB, 200_KiB}) {
    const auto g = checkpointed(step, flow_loss, flow_start(), kControl, 50, {.memory = memory});
    EXPECT_EQ(numbers_of(g), numbers_of(all));
    EXPECT_EQ(g.report.schedule, "chain");
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_LE(g.report.peak, memory);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
  }
  try {
    checkpointed(step, flow_loss, flow_start(), kControl, 50, {.memory = 28_KiB});
    FAIL() << "more than the budget";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
  }
  // While its length is not known, all are taken to be like the first.
  const While ends{[](const auto& s, std::int64_t) { return s.time < 4.95; }};
  try {
    checkpointed(step, flow_loss, flow_start(), kControl, ends, {.memory = 48_KiB});
    FAIL() << "more than was planned for";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
    EXPECT_THAT(e.what(), HasSubstr("measure_steps"));
  }
}

TEST(Checkpointed, ExplainsItself) {
  CheckpointReport r;
  r.steps = 10'000;
  r.state = 1258291;
  r.budget = 64_MiB;
  r.schedule = "revolve";
  r.slots = 51;
  r.tape = 2936012;
  r.forward_steps = 38'000;
  r.peak = 64_MiB;
  EXPECT_EQ(r.explain(),
            "10,000 steps of 1.20 MiB in 64.00 MiB: 51 snapshots and a 2.80 MiB step; 3.8 forward runs a "
            "step; peak 64.00 MiB; all states would "
            "take 11.72 GiB");
}

TEST(Checkpointed, ALoopThatEndsByItself) {
  const auto go_on = While{[](const Flow<double>& s, std::int64_t) { return s.time < 9.95; }};
  const auto known = checkpointed(flow_step, flow_loss, flow_start(), kControl, 100, {.memory = 1_GiB});
  const Bytes least = known.report.beside + known.report.state + known.report.tape;
  for (const Bytes more : {0_B, 1_KiB, 5_KiB, 1_MiB, 4_MiB}) {
    const auto g =
        checkpointed(flow_step, flow_loss, flow_start(), kControl, go_on, {.memory = least + more});
    EXPECT_EQ(g.report.steps, 100);
    EXPECT_EQ(numbers_of(g), numbers_of(known));
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
    EXPECT_LE(g.report.measured_peak, least + more);
    // Never more than the schedule of that name, and no step twice where all tapes fit.
    const auto named = schedule::online(1 + more / known.report.state);
    EXPECT_LE(g.report.forward_steps, schedule::replay(*named, {.steps = 100}).counts.forward_steps);
    EXPECT_EQ(g.report.forward_steps == 100, more >= 100 * (known.report.tape + known.report.state));
  }
}
TEST(Checkpointed, MemoryForMillionsOfStatesIsNoReasonToRefuseALoop) {
  const auto step = [](auto&, const auto&) {};
  const auto loss = [](const auto&, const auto& p) { return p.viscosity * p.viscosity; };
  const While go_on{[](const auto&, std::int64_t i) { return i < 10; }};
  const auto g = checkpointed(step, loss, Stateless<double>{}, kControl, go_on, {.memory = 1_GiB});
  EXPECT_EQ(g.report.steps, 10);
  EXPECT_EQ(g.parameters.viscosity, 2 * kControl.viscosity);
}

// The state grows and shrinks, and so do the cost and the tape of a step.
template <typename T>
struct Bag {
  std::vector<T> x;
};
const auto bag_step = [](auto& s, const auto&, std::int64_t i) {
  using T = std::remove_cvref_t<decltype(s.x[0])>;
  const std::size_t size = 20 + static_cast<std::size_t>((i * 37) % 90);
  std::vector<T> next(size);
  for (std::size_t k = 0; k < size; ++k)
    next[k] = sin(s.x[k % s.x.size()]) * 0.9 + 0.1 * s.x[(k * 7) % s.x.size()];
  s.x = std::move(next);
};
const auto bag_loss = [](const auto& s, const auto&) {
  std::remove_cvref_t<decltype(s.x[0])> sum = 0.0;
  for (const auto& v : s.x) sum += v;
  return sum;
};

TEST(Checkpointed, UnequalStepsByTheExactPlan) {
  using std::sin;
  Bag<double> start;
  for (int i = 0; i < 30; ++i) start.x.push_back(0.1 * i);
  const std::int64_t n = 60;
  auto sizes = measure_steps<Bag, NoParameters>(bag_step, start, {}, n);
  for (auto& s : sizes)
    s.forward = 1e-6 * static_cast<double>(s.state), s.adjoint = s.forward;  // the same plan on every machine
  const auto all =
      checkpointed<Bag, NoParameters>(bag_step, bag_loss, start, {}, n, {.memory = 1_GiB, .steps = sizes});
  EXPECT_EQ(all.report.measured_forward_steps, n);
  Bytes largest = 0;
  for (const auto& s : sizes) largest = std::max(largest, s.tape + s.state);
  for (const Bytes more : {2_KiB, 16_KiB, 64_KiB, 256_KiB}) {
    const auto g = checkpointed<Bag, NoParameters>(
        bag_step, bag_loss, start, {}, n, {.memory = all.report.beside + largest + more, .steps = sizes});
    EXPECT_EQ(g.value, all.value);
    EXPECT_EQ(g.state.x, all.state.x);
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_LE(g.report.peak, all.report.beside + largest + more);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
  }
}

// A step whose adjoint is written by hand, and what that needs of it.
void step_by_hand(std::vector<double>& s, std::int64_t) {
  for (double& v : s) v = std::sin(v) + 0.5;
}
std::vector<double> keep_by_hand(std::vector<double>& s, std::int64_t i) {
  std::vector<double> before = s;
  step_by_hand(s, i);
  return before;
}

TEST(Checkpointed, AStepWithItsOwnAdjoint) {
  using State = std::vector<double>;
  const auto step = step_by_hand;
  const auto keep = keep_by_hand;
  const auto adjoint = [](State& bar, const State& before, std::int64_t) {
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= std::cos(before[k]);
  };
  const auto finish = [](const State& s) {
    State bar;
    for (const double v : s) bar.push_back(2 * v);
    return bar;
  };
  const State start{0.1, 0.4, 2.0};
  const auto [all, first] = checkpointed_by_hand(step, keep, adjoint, finish, start, 300, {.memory = 1_GiB});
  const auto [bar, report] = checkpointed_by_hand(step, keep, adjoint, finish, start, 300, {.memory = 400_B});
  EXPECT_EQ(first.schedule, "store_all");
  EXPECT_NE(report.schedule, "store_all");
  EXPECT_EQ(bar, all);
  EXPECT_EQ(report.peak, report.measured_peak);
  EXPECT_LE(report.peak, 400);
  const While ends{[](const State&, std::int64_t i) { return i < 300; }};
  for (const Bytes memory : {400_B, 1_KiB, 1_GiB}) {
    const auto [until, own] =
        checkpointed_by_hand(step, keep, adjoint, finish, start, ends, {.memory = memory});
    EXPECT_EQ(until, all);
    EXPECT_EQ(own.steps, 300);
    EXPECT_EQ(own.peak, own.measured_peak);
    EXPECT_LE(own.peak, memory);
  }
}

// What is kept of a step shrinks, grows, or does both, from step to step.
TEST(Checkpointed, AStepWithItsOwnAdjointWhoseDataShrinkOrGrow) {
  using State = std::vector<double>;
  const std::int64_t n = 90;
  const auto step = [](State& s, std::int64_t) {
    for (double& v : s) v = std::sin(v) + 0.5;
  };
  const auto adjoint = [](State& bar, const State& kept, std::int64_t) {
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= std::cos(kept[k]);
  };
  const auto finish = [](const State& s) { return s; };
  const State start{0.1, 0.4, 2.0};
  const std::pair<const char*, std::function<std::int64_t(std::int64_t)>> sizes[] = {
      {"shrinks", [&](std::int64_t i) { return 3 + (n - i) / 4; }},
      {"grows", [&](std::int64_t i) { return 3 + i / 4; }},
      {"both", [&](std::int64_t i) { return 3 + (i * 37) % 29; }},
      {"all but the first are small", [&](std::int64_t i) { return i == 0 ? 40 : 3; }},
      {"all but the last are small", [&](std::int64_t i) { return i == n - 1 ? 40 : 3; }}};
  for (const auto& [how, size] : sizes) {
    SCOPED_TRACE(how);
    const auto keep = [&](State& s, std::int64_t i) {
      State kept = s;
      kept.resize(static_cast<std::size_t>(size(i)), 1.0);
      step(s, i);
      return kept;
    };
    Bytes all_data = 0, largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Bytes bytes = tape::fields::bytes(State(static_cast<std::size_t>(size(i))));
      all_data += bytes, largest = std::max(largest, bytes);
    }
    const auto [expected, all] =
        checkpointed_by_hand(step, keep, adjoint, finish, start, n, {.memory = 1_GiB});
    EXPECT_EQ(all.measured_forward_steps, n);
    EXPECT_EQ(all.schedule, "chain");
    EXPECT_EQ(all.peak, all.measured_peak);
    EXPECT_EQ(all.measured_peak, all.beside + all_data);  // not a byte that is not kept
    for (const Bytes more : {0_B, 100_B, 1_KiB, 4_KiB}) {
      const Bytes memory = all.beside + all.state + largest + more;
      const auto [bar, report] =
          checkpointed_by_hand(step, keep, adjoint, finish, start, n, {.memory = memory});
      EXPECT_EQ(bar, expected);
      EXPECT_EQ(report.peak, report.measured_peak);
      EXPECT_LE(report.peak, memory);
      EXPECT_EQ(report.forward_steps, report.measured_forward_steps);
    }
    // In a loop that ends by itself the first step's size is promised to all.
    const While ends{[&](const State&, std::int64_t i) { return i < n; }};
    for (const Bytes memory : {all.beside + all.state + largest, 1_GiB}) {
      try {
        const auto [bar, report] =
            checkpointed_by_hand(step, keep, adjoint, finish, start, ends, {.memory = memory});
        EXPECT_EQ(bar, expected);
        EXPECT_EQ(report.peak, report.measured_peak);
        EXPECT_LE(report.peak, memory);
        EXPECT_EQ(report.steps, n);
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::Kind::infeasible);
        EXPECT_THAT(e.what(), HasSubstr("planned for"));
      }
    }
  }
}

// A step's own adjoint may make the adjoints larger: one more number for each step here, as where a step adds a control.
TEST(Checkpointed, AdjointsThatGrowWhileTheyAreReversedAreCounted) {
  struct Adjoints {
    std::vector<double> state, controls;
  };
  using State = std::vector<double>;
  const std::int64_t n = 60;
  const auto step = step_by_hand;
  const auto keep = keep_by_hand;
  const auto adjoint = [](Adjoints& bar, const State& before, std::int64_t) {
    bar.controls.push_back(bar.state[0]);
    for (std::size_t k = 0; k < before.size(); ++k) bar.state[k] *= std::cos(before[k]);
  };
  const auto finish = [](const State& s) { return Adjoints{s, {}}; };
  const State start{0.1, 0.4, 2.0};
  const auto [expected, all] = checkpointed_by_hand(step, keep, adjoint, finish, start, n, {.memory = 1_GiB});
  ASSERT_EQ(expected.controls.size(), 60u);
  EXPECT_EQ(all.peak, all.measured_peak);
  const Bytes growth = 60 * 8;
  EXPECT_GE(all.measured_peak, all.beside + growth);
  const While ends{[&](const State&, std::int64_t i) { return i < n; }};
  const killing::Folder folder("tidemark-grown-");
  int refused = 0, done = 0;
  for (Bytes memory = all.beside + all.state + all.tape; memory < all.measured_peak + 300; memory += 40) {
    for (const int kind : {0, 1, 2}) {
      SCOPED_TRACE(::testing::Message() << memory << " bytes, " << kind);
      try {
        const CheckpointOptions in_memory{.memory = memory};
        CheckpointOptions with_files{.memory = memory + 200};
        with_files.folder = folder.path();
        with_files.disk = 400;
        const auto [bar, report] =
            kind == 0   ? checkpointed_by_hand(step, keep, adjoint, finish, start, n, in_memory)
            : kind == 1 ? checkpointed_by_hand(step, keep, adjoint, finish, start, ends, in_memory)
                        : checkpointed_by_hand(step, keep, adjoint, finish, start, n, with_files);
        EXPECT_EQ(bar.state, expected.state);
        EXPECT_EQ(bar.controls, expected.controls);
        EXPECT_LE(report.measured_peak, report.budget);
        EXPECT_LE(report.measured_peak, report.peak);
        EXPECT_GE(report.measured_peak, report.beside + growth);
        ++done;
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::Kind::infeasible);
        EXPECT_THAT(e.what(), HasSubstr("memory"));
        refused += std::string_view(e.what()).find("adjoints take") != std::string_view::npos ? 1 : 0;
        for (const auto& left : std::filesystem::directory_iterator(folder.path()))
          std::filesystem::remove(left.path());
      }
    }
  }
  EXPECT_GT(refused, 3);
  EXPECT_GT(done, 3);
}

// What the driver is given are bytes, and states and kept data have sizes of their own: in the bytes that a schedule with a name takes, it
// never runs more steps.
TEST(Checkpointed, NeverSlowerThanTheNamedSchedulesInTheSameBytes) {
  using State = std::vector<double>;
  const auto step = [](State& s, std::int64_t) {
    for (double& v : s) v = 0.5 * v + 1;
  };
  const auto adjoint = [](State& bar, const State& kept, std::int64_t) {
    for (double& v : bar) v *= 0.5 * kept[0];
  };
  const auto finish = [](const State& s) { return s; };
  std::set<std::string> used;
  for (const std::size_t numbers : {1, 4, 20}) {
    for (const std::size_t of_tape : {1, 4, 10, 60}) {
      const auto keep = [&](State& s, std::int64_t i) {
        step(s, i);
        return State(of_tape, 1.0);
      };
      const auto run = [&](std::int64_t steps, Bytes memory) {
        return checkpointed_by_hand(step, keep, adjoint, finish, State(numbers, 1.0), steps,
                                    {.memory = memory});
      };
      const CheckpointReport one = run(1, 1_GiB).second;
      const State expected = run(150, 1_GiB).first;
      for (const char* name : {"store_all", "periodic", "sqrt", "binary", "revolve", "mixed"}) {
        for (const std::int64_t steps : {2, 30, 150}) {
          for (const std::int64_t slots : {1, 2, 5, 12}) {
            SCOPED_TRACE(::testing::Message() << name << ", " << steps << " steps of " << one.state << " and "
                                              << one.tape << " in " << slots << " slots");
            const auto named = schedule::schedule_named(name).make({.steps = steps, .slots = slots});
            const schedule::Limits sizes{.steps = steps,
                                         .state_bytes = [&](std::int64_t) { return one.state; },
                                         .tape_bytes = [&](std::int64_t) { return one.tape; }};
            const schedule::Counts counts = schedule::replay(*named, sizes).counts;
            // Mixed has slots of one size, as large as the larger of the two.
            const bool mixed = std::string_view(name) == "mixed";
            const Bytes bytes = mixed ? slots * std::max(one.state, one.tape) + one.tape : counts.bytes;
            const auto [bar, report] = run(steps, one.beside + bytes);
            EXPECT_LE(report.measured_forward_steps, counts.forward_steps);
            EXPECT_EQ(report.forward_steps, report.measured_forward_steps);
            EXPECT_EQ(report.peak, report.measured_peak);
            EXPECT_LE(report.peak, one.beside + bytes);
            EXPECT_TRUE(steps != 150 || bar == expected);
            used.insert(report.schedule);
          }
        }
      }
    }
  }
  EXPECT_THAT(used, ::testing::Contains("sized"));
}

}  // namespace
}  // namespace tidemark
