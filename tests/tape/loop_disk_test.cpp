// Loops with a folder: states on disk, killed and taken up again, damaged files, other loops' files.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/tape/flow.h"
#include "tests/tape/kill.h"
#include "tidemark/schedule/registry.h"
#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/schedules.h"
#include "tidemark/tape/checkpointed.h"

namespace tidemark {
namespace {

using flow::Control;
using flow::Flow;
using flow::flow_loss;
using flow::flow_start;
using flow::flow_step;
using flow::kControl;
using flow::numbers_of;
using killing::Folder;
using killing::kill_and_resume;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// What a step takes where there is a folder.
CheckpointReport with_folder(const Folder& folder) {
  return checkpointed(flow_step, flow_loss, flow_start(), kControl, 1,
                      {.memory = 1_GiB, .folder = folder.path()})
      .report;
}
CheckpointOptions on_disk(const Folder& folder) {
  const CheckpointReport one = with_folder(folder);
  return {.memory = one.beside + 5 * one.state + one.tape,
          .folder = folder.path(),
          .disk = 3_KiB,
          .disk_seconds = 0,
          .progress_seconds = 0};
}
const While kEnds{[](const auto& s, std::int64_t) { return s.time < 7.95; }};  // 80 steps

TEST(LoopOnDisk, SnapshotsOnDiskGiveTheSameBits) {
  const Folder folder("tidemark-disk-");
  // As a process leaves it that is killed while it writes.
  std::ofstream(folder.path() + "/state-7.tidemark.new") << "TMLOOP";
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB});
  const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, on_disk(folder));
  EXPECT_EQ(numbers_of(g), numbers_of(all));
  EXPECT_GT(g.report.disk_slots, 2);
  EXPECT_EQ(g.report.peak, g.report.measured_peak);
  EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
  EXPECT_EQ(g.report.resumed_at, -1);
  EXPECT_EQ(folder.files(), 0u);  // nothing is left behind
}

TEST(LoopOnDisk, AFewSnapshotsOnDiskAreUsedAgainAndAgain) {
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB});
  const Folder folder("tidemark-few-");
  CheckpointOptions options = on_disk(folder);
  options.progress_seconds = 1e9;
  const std::int64_t slots = 2;
  options.memory = with_folder(folder).beside + slots * all.report.state + all.report.tape;
  for (const std::int64_t on_disk : {1, 2, 5}) {
    options.disk = on_disk * all.report.state;
    const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options);
    EXPECT_EQ(numbers_of(g), numbers_of(all));
    EXPECT_EQ(g.report.disk_slots, on_disk);
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
    const auto named = schedule::h_revolve(80, slots, on_disk, {}, {1e-6, 1e-6});
    EXPECT_LE(g.report.forward_steps,
              schedule::replay(*named, {.steps = 80, .slots = {-1, -1}}).counts.forward_steps)
        << on_disk;
    EXPECT_EQ(folder.files(), 0u);
  }
  // A disk that takes longer than the steps it saves is left alone.
  options.disk_seconds = 1e6;
  EXPECT_EQ(checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options).report.disk_slots, 0);
}

// Many places on disk, beside a few in memory: as many steps as H-Revolve, Disk-Revolve and Multistage have with these, or fewer.
TEST(LoopOnDisk, NeverMoreStepsThanTheNamedSchedulesInTheSameMemoryAndDisk) {
  using State = std::vector<double>;
  const auto step = [](State& s, std::int64_t) { s[0] = 0.5 * s[0] + 1; };
  const auto keep = [&](State& s, std::int64_t i) {
    step(s, i);
    return State(8, 1.0);
  };
  const auto adjoint = [](State& bar, const State& kept, std::int64_t) { bar[0] *= 0.5 * kept[0]; };
  const auto finish = [](const State& s) { return s; };
  const Folder folder("tidemark-named-");
  const auto run = [&](std::int64_t steps, Bytes memory, Bytes disk) {
    return checkpointed_by_hand(step, keep, adjoint, finish, State{1.0, 2.0}, steps,
                                {.memory = memory,
                                 .folder = folder.path(),
                                 .disk = disk,
                                 .disk_seconds = 0,
                                 .progress_seconds = 1e9});
  };
  const CheckpointReport one = run(1, 1_GiB, 0).second;
  for (const auto& [steps, slots, on_disk] :
       {std::tuple<std::int64_t, std::int64_t, std::int64_t>{170, 1, 80}, {60, 3, 5}}) {
    SCOPED_TRACE(steps);
    const auto report = run(steps, one.beside + slots * one.state + one.tape, on_disk * one.state).second;
    for (const char* name : {"multistage", "disk_revolve", "h_revolve"}) {
      const schedule::Counts counts = schedule::count(
          name,
          {.steps = steps, .slots = slots, .disk_slots = on_disk, .disk_write = 1e-6, .disk_read = 1e-6});
      if (counts.tiers.at(1).snapshots > on_disk) continue;  // with no end of places
      EXPECT_LE(report.measured_forward_steps, counts.forward_steps) << name;
    }
    EXPECT_EQ(report.forward_steps, report.measured_forward_steps);
    EXPECT_EQ(report.peak, report.measured_peak);
    EXPECT_LE(report.disk_slots, on_disk);
  }
}

std::vector<double> all_in_memory() {
  return numbers_of(checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB}));
}

TEST(LoopOnDisk, KilledAtAnyMomentItGoesOnWithTheSameBitsAndThePredictedPeak) {
  const Folder folder("tidemark-kill-");
  const CheckpointOptions options = on_disk(folder);
  kill_and_resume(
      flow_step,
      [&](const auto& step) { return checkpointed(step, flow_loss, flow_start(), kControl, 80, options); },
      all_in_memory(), 4, 150, 5);
  EXPECT_EQ(folder.files(), 0u);
}

TEST(LoopOnDisk, ALoopThatEndsByItselfIsKilledAndGoesOnToo) {
  const Folder folder("tidemark-while-kill-");
  CheckpointOptions options = on_disk(folder);
  int budget = 0;
  for (const auto& [slots, disk] : {std::pair<Bytes, Bytes>{5, 3_KiB}, {1, 1_KiB}, {3, 0}, {1000, 3_KiB}}) {
    SCOPED_TRACE(slots);
    const CheckpointReport one = with_folder(folder);
    options.memory = one.beside + slots * one.state + one.tape;
    options.disk = disk;
    kill_and_resume(
        flow_step,
        [&](const auto& step) {
          return checkpointed(step, flow_loss, flow_start(), kControl, kEnds, options);
        },
        all_in_memory(), 2, 220, 7 + static_cast<std::uint64_t>(++budget));
    EXPECT_EQ(folder.files(), 0u);
  }
}

TEST(LoopOnDisk, ALoopThatEndsByItselfUsesTheDisk) {
  const Folder folder("tidemark-while-");
  CheckpointOptions options = on_disk(folder);
  const CheckpointReport one = with_folder(folder);
  options.memory = one.beside + 2 * one.state + one.tape;
  std::int64_t before = 1'000'000;
  for (const Bytes states : {0, 1, 4, 20, 100}) {
    SCOPED_TRACE(states);
    options.disk = states * one.state;
    const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, kEnds, options);
    EXPECT_EQ(numbers_of(g), all_in_memory());
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
    EXPECT_LE(g.report.disk_slots, states);
    EXPECT_EQ(g.report.disk_slots > 0, states > 0);
    EXPECT_LE(g.report.forward_steps, before);
    before = g.report.forward_steps;
    EXPECT_EQ(folder.files(), 0u);
  }
  EXPECT_EQ(before, 160);  // every state on disk: each step once more, taped
}

// Runs until the first progress is on disk, then stops by an exception.
void leave_half_done(const CheckpointOptions& options) {
  std::int64_t steps = 0;
  const auto step = [&](auto& s, const auto& p, std::int64_t i) {
    if (++steps > 110) throw std::runtime_error("stopped");
    flow_step(s, p, i);
  };
  EXPECT_THROW(checkpointed(step, flow_loss, flow_start(), kControl, 80, options), std::runtime_error);
}

TEST(LoopOnDisk, GoesOnWithLessRoomOnDisk) {
  const Folder folder("tidemark-less-");
  CheckpointOptions options = on_disk(folder);
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB});
  leave_half_done(options);
  options.disk = 500;
  const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options);
  EXPECT_EQ(numbers_of(g), numbers_of(all));
  EXPECT_LE(g.report.disk_slots * g.report.state, options.disk);
  EXPECT_EQ(folder.files(), 0u);
  options.steps = measure_steps(flow_step, flow_start(), kControl, 80);
  EXPECT_THROW(checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options), Error);
}

TEST(LoopOnDisk, DamagedFilesAreNamedAndCanBeMadeAgain) {
  const Folder folder("tidemark-damage-");
  const CheckpointOptions options = on_disk(folder);
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB});
  leave_half_done(options);
  ASSERT_TRUE(fs::exists(folder.path() + "/progress.tidemark"));
  // The last snapshot still there is the one that is read next.
  std::string victim;
  std::int64_t highest = -1;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    if (name.rfind("state-", 0) == 0 && std::stoll(name.substr(6)) > highest) {
      highest = std::stoll(name.substr(6));
      victim = entry.path();
    }
  }
  ASSERT_FALSE(victim.empty());
  const auto message = [&] {
    try {
      checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::data);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  {
    std::fstream file(victim, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\x5a');
  }
  EXPECT_THAT(message(), HasSubstr(victim + " is damaged"));
  fs::resize_file(victim, 90);
  EXPECT_THAT(message(), HasSubstr(victim + " is cut short"));
  fs::remove(victim);
  const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options);
  EXPECT_EQ(numbers_of(g), numbers_of(all));
  EXPECT_GE(g.report.resumed_at, 0);
}

TEST(LoopOnDisk, AnotherLoopsFolderIsRefused) {
  const Folder folder("tidemark-other-");
  const CheckpointOptions options = on_disk(folder);
  leave_half_done(options);
  Flow<double> other = flow_start();
  other.u[3] += 1;
  Control<double> stronger = kControl;
  stronger.force[2] += 1;
  for (const auto& [state, control] : {std::pair(other, kControl), std::pair(flow_start(), stronger)}) {
    try {
      checkpointed(flow_step, flow_loss, state, control, 80, options);
      FAIL() << "another loop's progress was taken";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(),
                  HasSubstr("progress.tidemark is of a loop of 80 steps from another state, or with "
                            "other parameters"));
    }
  }
  try {
    CheckpointOptions missing = options;
    missing.folder = folder.path() + "/nowhere";
    checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, missing);
    FAIL() << "a folder that is not there was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::io);
    EXPECT_THAT(e.what(), HasSubstr("nowhere"));
  }
}

// What a step captures, and parameters of loops by hand, are seen by what they do.
TEST(LoopOnDisk, OtherParametersThatAreCapturedAreRefused) {
  const auto by_hand = [](const std::string& folder, const std::vector<double>& rates, std::int64_t fuse,
                          std::span<const std::byte> depends_on = {}) {
    using State = std::vector<double>;
    std::int64_t steps = 0;
    const auto step = [&](State& s, std::int64_t i) {
      if (++steps > fuse) throw std::runtime_error("stopped");
      for (double& v : s) v = std::sin(rates[static_cast<std::size_t>(i)] * v) + 0.5;
    };
    const auto keep = [&](State& s, std::int64_t i) {
      State before = s;
      step(s, i);
      return before;
    };
    const auto adjoint = [&](State& bar, const State& before, std::int64_t i) {
      const double r = rates[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= r * std::cos(r * before[k]);
    };
    const auto finish = [](const State& s) { return s; };
    return checkpointed_by_hand(step, keep, adjoint, finish, State{0.1, 0.4, 2.0}, 60,
                                {.memory = 500_B,
                                 .folder = folder,
                                 .disk = 200,
                                 .disk_seconds = 0,
                                 .progress_seconds = 0,
                                 .depends_on = depends_on})
        .first;
  };
  const std::vector<double> rates(60, 0.9);
  const auto expected = [&] {
    const Folder folder("tidemark-rates-");
    return by_hand(folder.path(), rates, 1'000'000);
  }();
  for (const std::int64_t fuse : {70, 90}) {
    for (const std::size_t changed : {0, 1, 3, 12}) {
      SCOPED_TRACE(changed);
      const Folder folder("tidemark-captured-");
      EXPECT_THROW(by_hand(folder.path(), rates, fuse), std::runtime_error);
      ASSERT_GT(folder.files(), 0u);
      std::vector<double> other = rates;
      other[changed] = 0.8;
      try {
        by_hand(folder.path(), other, 1'000'000);
        FAIL() << "progress of other parameters was taken up";
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::Kind::data);
        EXPECT_THAT(e.what(), HasSubstr(folder.path()));
        EXPECT_THAT(e.what(), HasSubstr("parameters"));
      }
      EXPECT_EQ(by_hand(folder.path(), rates, 1'000'000), expected);  // nothing was lost
    }
  }
  // What no step shows can be said.
  const Folder folder("tidemark-depends-");
  const std::vector<double> one{1.0}, two{2.0};
  EXPECT_THROW(by_hand(folder.path(), rates, 90, std::as_bytes(std::span(one))), std::runtime_error);
  EXPECT_THROW(by_hand(folder.path(), rates, 1'000'000, std::as_bytes(std::span(two))), Error);
  EXPECT_EQ(by_hand(folder.path(), rates, 1'000'000, std::as_bytes(std::span(one))), expected);
}

TEST(LoopOnDisk, AFullDiskIsSaid) {
  ASSERT_TRUE(fs::exists("/dev/full"));
  const Folder folder("tidemark-full-");
  const CheckpointOptions options = on_disk(folder);
  // Every snapshot is written beside first: a link to the full device stands in its way.
  for (int i = 1; i < 80; ++i)
    fs::create_symlink("/dev/full", folder.path() + "/state-" + std::to_string(i) + ".tidemark.new");
  const auto known = [&] { checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options); };
  const auto unknown = [&] { checkpointed(flow_step, flow_loss, flow_start(), kControl, kEnds, options); };
  for (const std::function<void()>& run : {std::function<void()>(known), std::function<void()>(unknown)}) {
    try {
      run();
      FAIL() << "nothing was said";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::io);
      EXPECT_THAT(e.what(), HasSubstr("No space left on device"));
      EXPECT_THAT(e.what(), HasSubstr("/state-"));
    }
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove(entry.path());
    for (int i = 1; i < 80; ++i)
      fs::create_symlink("/dev/full", folder.path() + "/state-" + std::to_string(i) + ".tidemark.new");
  }
}

}  // namespace
}  // namespace tidemark
