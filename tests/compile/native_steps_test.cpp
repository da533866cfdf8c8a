// Steps on Vars, recorded as operations, as a Graph and as compiled code: the tape's bits, under every budget and along every path.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/native_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/tape/flow.h"
#include "tidemark/base/random.h"
#include "tidemark/compile/compiled.h"
#include "tidemark/front/eager.h"
#include "tidemark/tape/checkpointed.h"

namespace tidemark {
namespace {

using flow::Control;
using flow::flow_loss;
using flow::kControl;
using flow::numbers_of;
using ::testing::HasSubstr;

template <typename T>
struct Flow {
  std::vector<T> u;
  T dissipated{};
};
// A parameter that every cell reads, and a sum over all of them.
const auto flow_step = [](auto& s, const auto& p) {
  flow::advance_flow(s, p, [&](std::size_t k) { return p.force[k % 4]; });
  for (const auto& v : s.u) s.dissipated += p.viscosity * v * v;
};
Flow<double> flow_start(std::size_t n) { return flow::flow_start<Flow<double>>(n); }

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// A trace on numbers of the inputs; the last result is the number of failing guards.
std::vector<double> run_graph(const tape::Trace& trace, const std::vector<double>& numbers) {
  const TraceGraph made = graph_of(trace);
  Compiled compiled(made.graph, {.device = cpu({.threads = 1})}, cpu({.threads = 1}));
  Tensors inputs;
  std::size_t at = 0;
  for (const auto& i : trace.inputs) {
    const std::vector<double> part(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                                   numbers.begin() + static_cast<std::ptrdiff_t>(at + i.count));
    inputs.push_back(tensor(part, {static_cast<std::int64_t>(i.count)}));
    at += i.count;
  }
  inputs.insert(inputs.end(), made.tables.begin(), made.tables.end());
  std::vector<double> results;
  for (const Tensor& t : compiled.run(inputs))
    results.insert(results.end(), t.data<double>().begin(), t.data<double>().end());
  return results;
}

TEST(TraceGraph, RollsALoopOverCellsIntoAHandfulOfNodes) {
  const auto nodes = [](std::size_t n) {
    const tape::Trace t = tape::trace_adjoint<Flow, Control>(flow_step, flow_start(n), kControl, 0);
    EXPECT_TRUE(t.guards.empty());  // max and abs select, they do not branch
    const std::size_t count = graph_of(t).graph.nodes.size();
    EXPECT_LT(count, t.nodes.size() / 10);
    return count;
  };
  EXPECT_EQ(nodes(200), nodes(400));
}

TEST(TraceGraph, HasTheTracesBits) {
  const Flow<double> s = flow_start(37);
  const tape::Trace trace = tape::trace_adjoint<Flow, Control>(flow_step, s, kControl, 0);
  Rng rng(5);
  std::vector<double> numbers, expected;
  for (const auto& i : trace.inputs)
    for (std::uint32_t k = 0; k < i.count; ++k)
      numbers.push_back(rng.uniform() < 0.2 ? 0.0 : rng.uniform() - 0.5);
  ASSERT_TRUE(trace.run(numbers, expected));
  std::vector<double> results = run_graph(trace, numbers);
  EXPECT_EQ(results.back(), 0);
  results.pop_back();
  EXPECT_TRUE(same_bits(results, expected));
}

// A grid: rows and columns of interior cells, strided operands, constants that differ from cell to cell.
template <typename T>
struct Grid {
  std::vector<T> h;
};
template <typename T>
struct Depth {
  std::vector<T> bed;
};
constexpr std::size_t kWide = 9, kHigh = 7;
const auto grid_step = [](auto& s, const auto& p) {
  using std::exp;
  using T = std::remove_cvref_t<decltype(s.h[0])>;
  std::vector<T> next = s.h;
  for (std::size_t y = 1; y + 1 < kHigh; ++y)
    for (std::size_t x = 1; x + 1 < kWide; ++x) {
      const std::size_t i = y * kWide + x;
      const double weight = 0.01 * static_cast<double>(x * y);
      next[i] = s.h[i] + 0.1 * (s.h[i - 1] + s.h[i + 1] + s.h[i - kWide] + s.h[i + kWide] - 4.0 * s.h[i]) +
                weight * exp(-p.bed[i] * s.h[i]);
    }
  // Every second cell, and one picked from all over.
  for (std::size_t i = 0; i + 1 < next.size(); i += 2)
    next[i] += 0.001 * next[i + 1] * next[(i * 31) % next.size()];
  s.h = std::move(next);
};
TEST(TraceGraph, GridsStridesAndIndices) {
  Grid<double> s;
  Depth<double> p;
  Rng rng(9);
  for (std::size_t i = 0; i < kWide * kHigh; ++i) {
    s.h.push_back(rng.uniform());
    p.bed.push_back(rng.uniform());
  }
  const tape::Trace trace = tape::trace_adjoint<Grid, Depth>(grid_step, s, p, 0);
  std::vector<double> numbers, expected;
  for (const auto& i : trace.inputs)
    for (std::uint32_t k = 0; k < i.count; ++k) numbers.push_back(rng.uniform());
  ASSERT_TRUE(trace.run(numbers, expected));
  std::vector<double> results = run_graph(trace, numbers);
  results.pop_back();
  EXPECT_TRUE(same_bits(results, expected));
}

TEST(NativeSteps, EveryBudgetGivesTheTapesBits) {
  const std::int64_t n = 60;
  const Flow<double> start = flow_start(50);
  const auto taped = checkpointed(flow_step, flow_loss, start, kControl, n, {.memory = 1_GiB});
  const auto step = compiled(flow_step, {.compiler = native_steps()});
  const auto all = checkpointed(step, flow_loss, start, kControl, n, {.memory = 1_GiB});
  EXPECT_EQ(all.report.schedule, "store_all");
  const Bytes least = all.report.beside + all.report.state + all.report.tape;
  for (const Bytes memory : {least, least + 2_KiB, least + 9_KiB, 1_GiB}) {
    const auto g = checkpointed(step, flow_loss, start, kControl, n, {.memory = memory});
    EXPECT_TRUE(same_bits(numbers_of(g), numbers_of(taped)));
    EXPECT_EQ(g.report.compiled_steps, n) << g.report.not_compiled;
    EXPECT_EQ(g.report.paths, 1);
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_LE(g.report.peak, memory);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
  }
}

// A ball that bounces: which way a step goes depends on where it is.
template <typename T>
struct Ball {
  T height{}, speed{};
  std::int64_t kind = 3;
};
template <typename T>
struct Floor {
  T gravity{}, bounce{};
};
const auto ball_step = [](auto& s, const auto& p, auto) {
  s.speed = s.speed - 0.05 * p.gravity;
  s.height = s.height + 0.05 * s.speed;
  if (s.height < 0.0) {
    s.height = -p.bounce * s.height;
    s.speed = -p.bounce * s.speed;
  }
};
const auto ball_loss = [](const auto& s, const auto&) { return s.height * s.height + s.speed; };
const Ball<double> kBall{1.0, 0.0};
const Floor<double> kFloor{9.81, 0.8};

TEST(NativeSteps, AGuardThatFailsRecordsTheOtherPath) {
  const auto taped = checkpointed(ball_step, ball_loss, kBall, kFloor, 200, {.memory = 1_MiB});
  const auto g = checkpointed(compiled(ball_step, {.compiler = native_steps()}), ball_loss, kBall, kFloor,
                              200, {.memory = 1_MiB});
  EXPECT_EQ(g.report.paths, 2);
  EXPECT_EQ(g.report.compiled_steps, 200);
  EXPECT_THAT(g.report.explain(), HasSubstr("200 reversed by 2 compiled paths"));
  EXPECT_EQ(g.value, taped.value);
  EXPECT_EQ(g.state.height, taped.state.height);
  EXPECT_EQ(g.parameters.bounce, taped.parameters.bounce);
  // With room for one path only, the other's steps are taped.
  const auto one = checkpointed(compiled(ball_step, {.compiler = native_steps(), .paths = 1}), ball_loss,
                                kBall, kFloor, 200, {.memory = 1_MiB});
  EXPECT_GT(one.report.taped_steps, 0);
  EXPECT_EQ(one.report.taped_steps + one.report.compiled_steps, 200);
  EXPECT_EQ(one.report.not_compiled, "more than 1 paths");
  EXPECT_EQ(one.state.height, taped.state.height);
  EXPECT_EQ(one.parameters.bounce, taped.parameters.bounce);
}

TEST(NativeSteps, WhatCannotBeTracedIsTaped) {
  const auto step = [](auto& s, const auto& p) {
    using std::atan;
    s.height = s.height + 0.1 * atan(p.bounce * s.speed);
  };
  const auto taped = checkpointed(step, ball_loss, kBall, kFloor, 20, {.memory = 1_MiB});
  const auto g = checkpointed(compiled(step, {.compiler = native_steps()}), ball_loss, kBall, kFloor, 20,
                              {.memory = 1_MiB});
  EXPECT_EQ(g.report.taped_steps, 20);
  EXPECT_THAT(g.report.not_compiled, HasSubstr("atan"));
  EXPECT_EQ(g.parameters.bounce, taped.parameters.bounce);
  // Nor what changes a field that no trace sees.
  const auto changing = [](auto& s, const auto& p) {
    s.height = s.height * p.bounce;
    ++s.kind;
  };
  const auto h = checkpointed(compiled(changing, {.compiler = native_steps()}), ball_loss, kBall, kFloor, 20,
                              {.memory = 1_MiB});
  EXPECT_EQ(h.report.taped_steps, 20);
  EXPECT_THAT(h.report.not_compiled, HasSubstr("no T"));
}

// Every gradient is compared with the tape's; returns the report of the compiled one.
template <typename Step>
CheckpointReport same_as_taped(const Step& step, const CompiledStep<Step>& code, std::int64_t n,
                               const Ball<double>& start = kBall) {
  const auto taped = checkpointed(step, ball_loss, start, kFloor, n, {.memory = 1_MiB});
  const auto g = checkpointed(code, ball_loss, start, kFloor, n, {.memory = 1_MiB});
  EXPECT_EQ(g.value, taped.value);
  EXPECT_EQ(g.state.height, taped.state.height);
  EXPECT_EQ(g.state.speed, taped.state.speed);
  EXPECT_EQ(g.parameters.gravity, taped.parameters.gravity);
  EXPECT_EQ(g.parameters.bounce, taped.parameters.bounce);
  EXPECT_EQ(g.report.compiled_steps + g.report.taped_steps, n);
  return g.report;
}
template <typename Step>
CheckpointReport same_as_taped(const Step& step, std::int64_t n) {
  return same_as_taped(step, compiled(step, {.compiler = native_steps()}), n);
}

// At rest every step gives the same state, whatever it does with it: only the gradient tells.
TEST(NativeSteps, WhatAStepAsksOfItsNumberIsAFact) {
  const Ball<double> rest{0.0, 0.0};
  const auto rare = [](auto& s, const auto& p, auto i) {
    s.height = s.height + 0.01 * s.speed;
    s.speed = s.speed + 0.01 * s.height;
    if (i == 217) s.height = p.bounce * s.height;
    if (i >= 300 && i + 1 < 305) s.speed = 0.5 * s.speed;
  };
  const CheckpointReport r = same_as_taped(rare, compiled(rare, {.compiler = native_steps()}), 400, rest);
  EXPECT_EQ(r.compiled_steps, 400) << r.not_compiled;

  const CheckpointReport third = same_as_taped(
      [](auto& s, const auto& p, auto i) {
        s.height = s.height + (i % 3 == 0 ? 0.1 : 0.2) * p.bounce * s.height;
        s.speed = s.speed + s.height * 0.01 * static_cast<double>(i / 20);
      },
      40);
  EXPECT_EQ(third.compiled_steps, 40) << third.not_compiled;
  EXPECT_EQ(third.paths, 6);
}

TEST(NativeSteps, ANumberAsAValueIsAnInput) {
  const CheckpointReport r = same_as_taped(
      [](auto& s, const auto& p, auto i) {
        using T = std::remove_cvref_t<decltype(s.height)>;
        using std::sin;
        s.speed = s.speed + 0.1 * sin(0.3 * T(i + 1)) * p.bounce * s.height + i * p.gravity * 1e-4;
        s.height = s.height + 0.05 * s.speed;
      },
      120);
  EXPECT_EQ(r.compiled_steps, 120) << r.not_compiled;
  EXPECT_EQ(r.paths, 1);
}

TEST(NativeSteps, ANumberTakenAsAnIntegerIsLeftToTheTape) {
  const CheckpointReport r =
      same_as_taped([](auto& s, const auto& p,
                       std::int64_t i) { s.height = s.height + (i == 17 ? 0.1 : 0.2) * p.bounce * s.height; },
                    20);
  EXPECT_EQ(r.taped_steps, 20);
  EXPECT_THAT(r.not_compiled, HasSubstr("`auto i`"));
}

TEST(NativeSteps, WhatAStepCapturesMayChangeBetweenGradients) {
  double rate = 0.1;
  bool damped = false;
  const auto step = [&](auto& s, const auto& p) {
    s.height = s.height + rate * s.speed;
    if (damped) s.speed = s.speed * p.bounce;
  };
  const auto code = compiled(step, {.compiler = native_steps()});
  const Ball<double> rest{0.0, 0.0};
  EXPECT_EQ(same_as_taped(step, code, 30, rest).compiled_steps, 30);
  rate = 0.2;
  EXPECT_EQ(same_as_taped(step, code, 30, rest).compiled_steps, 30);
  damped = true;
  EXPECT_EQ(same_as_taped(step, code, 30, rest).compiled_steps, 30);
  damped = false;
  EXPECT_EQ(same_as_taped(step, code, 30, rest).paths, 1);
}

// Along one path only, which no recording of another sees.
TEST(NativeSteps, AFieldThatIsNoTMayChangeAlongTheWay) {
  const auto step = [](auto& s, const auto& p) {
    s.speed = s.speed - 0.05 * p.gravity;
    s.height = s.height + 0.05 * s.speed;
    if (s.kind == 4) s.height = s.height * p.bounce;
    if (s.height < -2.0 && s.kind == 3) s.kind = 4;
  };
  const CheckpointReport r = same_as_taped(step, 60);
  EXPECT_GT(r.compiled_steps, 0);
  EXPECT_GT(r.taped_steps, 0);
  EXPECT_THAT(r.not_compiled, HasSubstr("no T"));
}

TEST(NativeSteps, WithoutACompilerAreRefused) {
  EXPECT_THROW(compiled(flow_step, CompileSteps{}), Error);
  EXPECT_THROW(compiled(flow_step, {.compiler = native_steps(), .paths = -1}), Error);
}

}  // namespace
}  // namespace tidemark
