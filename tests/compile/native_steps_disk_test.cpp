// Compiled steps with a folder: killed and taken up again, of known length and until they end by themselves; and on floats.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tape/flow.h"
#include "tests/tape/kill.h"
#include "tidemark/compile/native_steps.h"
#include "tidemark/tape/checkpointed.h"

namespace tidemark {
namespace {

using flow::Control;
using flow::flow_loss;
using flow::kControl;
using flow::numbers_of;
using killing::Folder;

template <typename T>
struct Flow {
  std::vector<T> u;
  T dissipated{};
};
// Which of two paths a step takes depends on its number.
const auto flow_step = [](auto& s, const auto& p, auto i) {
  flow::advance_flow(s, p, [&](std::size_t k) { return p.force[k % 4]; });
  if (i < 33)
    s.dissipated += p.viscosity * s.u[3] * s.u[3];
  else
    s.dissipated = 0.99 * s.dissipated + 0.01 * s.u[5];
};
Flow<double> flow_start() { return flow::flow_start<Flow<double>>(24); }
const While kEnds{[](const auto&, std::int64_t i) { return i < 80; }};

CompileSteps native() {
  return {.compiler = native_steps({.cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache"})};
}

// Nothing is compiled in this process, whose children have its threads no more.
constexpr Bytes kCopies = 1_KiB;  // that a folder takes, and more

template <typename Until>
void killed(const char* name, const Until& until, Bytes states, Bytes disk, std::uint64_t seed) {
  const Folder folder(name);
  const auto expected =
      numbers_of(checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB}));
  killing::kill_and_resume(
      flow_step,
      [&](const auto& step) {
        const CheckpointReport one = checkpointed(compiled(flow_step, native()), flow_loss, flow_start(),
                                                  kControl, 80, {.memory = 1_GiB})
                                         .report;
        const CheckpointOptions options{.memory = one.beside + one.tape + states * one.state + kCopies,
                                        .folder = folder.path(),
                                        .disk = disk,
                                        .disk_seconds = 0,
                                        .progress_seconds = 0};
        auto g = checkpointed(compiled(step, native()), flow_loss, flow_start(), kControl, until, options);
        const CheckpointReport& r = g.report;
        const std::int64_t left = r.resumed_at < 0 ? 80 : r.resumed_at;
        if (r.compiled_steps != left || r.taped_steps != 0)
          fail(Error::Kind::internal, "{} steps compiled and {} taped of {}: {}", r.compiled_steps,
               r.taped_steps, left, r.not_compiled);
        return g;
      },
      expected, 2, 140, seed);
  EXPECT_EQ(folder.files(), 0u);
}

TEST(NativeStepsOnDisk, KilledAtAnyMomentTheyGoOn) {
  killed("tidemark-native-kill-", std::int64_t{80}, 4, 2_KiB, 3);
}
TEST(NativeStepsOnDisk, UntilTheyEndTheyAreKilledAndGoOnToo) {
  killed("tidemark-native-while-", kEnds, 3, 2_KiB, 4);
  killed("tidemark-native-until-", kEnds, 4, 0, 5);
}

// Every budget, with a folder and without: the tape's bits.
TEST(NativeStepsOnDisk, UntilTheyEndEveryBudgetGivesTheTapesBits) {
  const auto expected =
      numbers_of(checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB}));
  const auto step = compiled(flow_step, native());
  const auto all = checkpointed(step, flow_loss, flow_start(), kControl, kEnds, {.memory = 1_GiB});
  EXPECT_EQ(numbers_of(all), expected);
  EXPECT_EQ(all.report.compiled_steps, 80) << all.report.not_compiled;
  const Folder folder("tidemark-native-budgets-");
  const Bytes least = all.report.beside + all.report.state + all.report.tape;
  for (const Bytes more : {0_B, 1_KiB, 4_KiB}) {
    for (const bool files : {false, true}) {
      CheckpointOptions options{.memory = least + more + (files ? kCopies : 0)};
      if (files) options.folder = folder.path(), options.disk = 1_KiB, options.disk_seconds = 0;
      const auto g = checkpointed(step, flow_loss, flow_start(), kControl, kEnds, options);
      EXPECT_EQ(numbers_of(g), expected);
      EXPECT_EQ(g.report.compiled_steps, 80);
      EXPECT_GE(g.report.paths, 2);
      EXPECT_EQ(g.report.peak, g.report.measured_peak);
      EXPECT_LE(g.report.peak, options.memory);
      EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
    }
  }
}

TEST(NativeStepsOnDisk, FloatsHaveTheBitsOfTheTape) {
  Flow<float> start;
  for (const double v : flow_start().u) start.u.push_back(static_cast<float>(v));
  const Control<float> control{0.05f, {0.1f, -0.2f, 0.3f, 0.05f}};
  const auto taped = checkpointed(flow_step, flow_loss, start, control, 80, {.memory = 1_GiB});
  const Folder folder("tidemark-native-floats-");
  const auto step = compiled(flow_step, native());
  for (const Bytes memory : {64_KiB, 1_GiB}) {
    const CheckpointOptions options{
        .memory = memory, .folder = folder.path(), .disk = 1_KiB, .disk_seconds = 0};
    for (const auto& g : {checkpointed(step, flow_loss, start, control, 80, options),
                          checkpointed(step, flow_loss, start, control, kEnds, options)}) {
      EXPECT_EQ(g.value, taped.value);
      EXPECT_EQ(g.state.u, taped.state.u);
      EXPECT_EQ(g.parameters.force, taped.parameters.force);
      EXPECT_EQ(g.report.peak, g.report.measured_peak);
      EXPECT_EQ(g.parameters.viscosity, taped.parameters.viscosity);
      EXPECT_EQ(g.report.taped_steps, 0) << g.report.not_compiled;
      EXPECT_EQ(g.report.compiled_steps, 80);
    }
  }
}

}  // namespace
}  // namespace tidemark
