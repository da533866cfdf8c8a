// Steps on Vars, recorded as operations, as a Graph and as compiled code: the tape's bits, under every budget and along every path.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/native_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tidemark/base/random.h"
#include "tidemark/compile/compiled.h"
#include "tidemark/front/eager.h"
#include "tidemark/tape/checkpointed.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

template <typename T>
struct Flow {
  std::vector<T> u;
  T dissipated{};
};
template <typename T>
struct Control {
  T viscosity{};
  std::array<T, 4> force{};
};
// Burgers with viscosity; a parameter that every cell reads, and a sum over all of them.
const auto flow_step = [](auto& s, const auto& p, std::int64_t) {
  using T = std::remove_cvref_t<decltype(s.dissipated)>;
  using std::abs;
  using std::max;
  const std::size_t n = s.u.size();
  std::vector<T> flux(n);
  for (std::size_t k = 0; k + 1 < n; ++k)
    flux[k] = 0.25 * (s.u[k] * s.u[k] + s.u[k + 1] * s.u[k + 1]) -
              (p.viscosity + 0.5 * max(abs(s.u[k]), abs(s.u[k + 1]))) * (s.u[k + 1] - s.u[k]);
  for (std::size_t k = 1; k + 1 < n; ++k)
    s.u[k] = s.u[k] - 0.1 * (flux[k] - flux[k - 1]) + 0.01 * p.force[k % 4];
  for (const T& v : s.u) s.dissipated += p.viscosity * v * v;
};
const auto flow_loss = [](const auto& s, const auto& p) {
  std::remove_cvref_t<decltype(s.dissipated)> total = s.dissipated * p.force[0];
  for (const auto& v : s.u) total += v * v;
  return total;
};
Flow<double> flow_start(std::size_t n) {
  Flow<double> s;
  for (std::size_t i = 0; i < n; ++i) s.u.push_back(std::sin(0.4 * static_cast<double>(i)));
  return s;
}
const Control<double> kControl{0.05, {0.1, -0.2, 0.3, 0.05}};

template <typename G>
std::vector<double> bits_of(const G& g) {
  std::vector<double> all{g.value, g.state.dissipated, g.parameters.viscosity};
  all.insert(all.end(), g.state.u.begin(), g.state.u.end());
  all.insert(all.end(), g.parameters.force.begin(), g.parameters.force.end());
  return all;
}
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
const auto grid_step = [](auto& s, const auto& p, std::int64_t) {
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
    EXPECT_TRUE(same_bits(bits_of(g), bits_of(taped)));
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
const auto ball_step = [](auto& s, const auto& p, std::int64_t) {
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
  const auto step = [](auto& s, const auto& p, std::int64_t) {
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
  const auto changing = [](auto& s, const auto& p, std::int64_t) {
    s.height = s.height * p.bounce;
    ++s.kind;
  };
  const auto h = checkpointed(compiled(changing, {.compiler = native_steps()}), ball_loss, kBall, kFloor, 20,
                              {.memory = 1_MiB});
  EXPECT_EQ(h.report.taped_steps, 20);
  EXPECT_THAT(h.report.not_compiled, HasSubstr("no T"));
}

TEST(NativeSteps, StepsThatDependOnTheirNumberNeedAPeriod) {
  const auto step = [](auto& s, const auto& p, std::int64_t i) {
    s.height = s.height + (i % 3 == 0 ? 0.1 : 0.2) * p.bounce * s.height;
  };
  try {
    checkpointed(compiled(step, {.compiler = native_steps()}), ball_loss, kBall, kFloor, 20,
                 {.memory = 1_MiB});
    FAIL() << "a step that depends on its number was compiled as if not";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::usage);
    EXPECT_THAT(e.what(), HasSubstr("period"));
  }
  const auto taped = checkpointed(step, ball_loss, kBall, kFloor, 20, {.memory = 1_MiB});
  const auto g = checkpointed(compiled(step, {.compiler = native_steps(), .period = 3}), ball_loss, kBall,
                              kFloor, 20, {.memory = 1_MiB});
  EXPECT_EQ(g.report.compiled_steps + g.report.taped_steps, 20);
  EXPECT_EQ(g.report.paths, 3);
  EXPECT_EQ(g.parameters.bounce, taped.parameters.bounce);
}

TEST(NativeSteps, WithoutACompilerAreRefused) {
  EXPECT_THROW(compiled(flow_step, CompileSteps{}), Error);
  EXPECT_THROW(compiled(flow_step, {.compiler = native_steps(), .paths = -1}), Error);
}

}  // namespace
}  // namespace tidemark
