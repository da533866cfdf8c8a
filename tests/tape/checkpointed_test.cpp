// Loops reversed under every budget: the same bits, the promised peak, the promised steps; killed and taken up again.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/checkpointed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/tape/flow.h"
#include "tidemark/base/random.h"
#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark {
namespace {

using flow::Control;
using flow::flow_loss;
using flow::kControl;
using flow::numbers_of;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// The time is a passive part of the state.
template <typename T>
struct Flow {
  std::vector<T> u;
  T dissipated{};
  double time = 0;
};
const auto flow_step = [](auto& s, const auto& p, std::int64_t i) {
  flow::advance_flow(s, p, [&](std::size_t) { return p.force[static_cast<std::size_t>(i) % 4]; });
  s.dissipated += p.viscosity * s.u[s.u.size() / 2] * s.u[s.u.size() / 2];
  s.time += 0.1;
};
Flow<double> flow_start(std::size_t n = 24) { return flow::flow_start<Flow<double>>(n); }

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
  for (const Bytes more : {0_B, 1_KiB, 5_KiB, 1_MiB}) {
    const auto g =
        checkpointed(flow_step, flow_loss, flow_start(), kControl, go_on, {.memory = least + more});
    EXPECT_EQ(g.report.steps, 100);
    EXPECT_EQ(numbers_of(g), numbers_of(known));
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
    EXPECT_LE(g.report.measured_peak, least + more);
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

TEST(Checkpointed, AStepWithItsOwnAdjoint) {
  using State = std::vector<double>;
  const auto step = [](State& s, std::int64_t) {
    for (double& v : s) v = std::sin(v) + 0.5;
  };
  const auto keep = [&](State& s, std::int64_t i) {
    State before = s;
    step(s, i);
    return before;
  };
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
}

class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() / (name + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator{}));
  }

 private:
  fs::path path_;
};

CheckpointOptions on_disk(const Folder& folder) {
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 1, {.memory = 1_GiB});
  return {.memory = all.report.beside + 5 * all.report.state + all.report.tape,
          .folder = folder.path(),
          .disk = 3_KiB,
          .disk_seconds = 0,
          .progress_seconds = 0};
}

TEST(Checkpointed, SnapshotsOnDiskGiveTheSameBits) {
  const Folder folder("tidemark-disk-");
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB});
  const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, on_disk(folder));
  EXPECT_EQ(numbers_of(g), numbers_of(all));
  EXPECT_GT(g.report.disk_slots, 2);
  EXPECT_EQ(g.report.peak, g.report.measured_peak);
  EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
  EXPECT_EQ(g.report.resumed_at, -1);
  EXPECT_EQ(folder.files(), 0u);  // nothing is left behind
}

TEST(Checkpointed, AFewSnapshotsOnDiskAreUsedAgainAndAgain) {
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB});
  const Folder folder("tidemark-few-");
  CheckpointOptions options = on_disk(folder);
  options.progress_seconds = 1e9;
  const std::int64_t slots = 2;
  options.memory = all.report.beside + slots * all.report.state + all.report.tape;
  for (const std::int64_t on_disk : {1, 2, 5}) {
    options.disk = on_disk * all.report.state;
    const auto g = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options);
    EXPECT_EQ(numbers_of(g), numbers_of(all));
    EXPECT_EQ(g.report.disk_slots, on_disk);
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_EQ(g.report.forward_steps, g.report.measured_forward_steps);
    const auto named = schedule::h_revolve(80, slots, on_disk, {}, {1e-6, 1e-6});
    EXPECT_LE(g.report.forward_steps, schedule::replay(*named, {.steps = 80, .slots = {-1, -1}}).counts.forward_steps) << on_disk;
    EXPECT_EQ(folder.files(), 0u);
  }
  // A disk that takes longer than the steps it saves is left alone.
  options.disk_seconds = 1e6;
  EXPECT_EQ(checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options).report.disk_slots, 0);
}

TEST(Checkpointed, KilledAtAnyMomentItGoesOnWithTheSameBits) {
  const Folder folder("tidemark-kill-");
  const CheckpointOptions options = on_disk(folder);
  const auto all = checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, {.memory = 1_GiB});
  Rng rng(5);
  int killed = 0, resumed = 0;
  for (int round = 0; round < 4; ++round) {
    for (int tries = 0;; ++tries) {
      // The child dies by its own hand, SIGKILL, after a random number of steps; the last try is let through.
      const std::int64_t fuse = tries < 4 ? 1 + rng.below(150) : 1'000'000;
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        std::int64_t steps = 0;
        const auto step = [&](auto& s, const auto& p, std::int64_t i) {
          if (++steps > fuse) ::kill(::getpid(), SIGKILL);
          flow_step(s, p, i);
        };
        const auto g = checkpointed(step, flow_loss, flow_start(), kControl, 80, options);
        ::_exit(numbers_of(g) == numbers_of(all) ? (g.report.resumed_at >= 0 ? 2 : 0) : 1);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      if (WIFSIGNALED(status)) {
        ASSERT_EQ(WTERMSIG(status), SIGKILL);
        ++killed;
        continue;
      }
      ASSERT_TRUE(WIFEXITED(status));
      ASSERT_NE(WEXITSTATUS(status), 1) << "other bits after " << tries << " kills";
      resumed += WEXITSTATUS(status) == 2;
      break;
    }
  }
  EXPECT_GT(killed, 4);
  EXPECT_GT(resumed, 0);
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

TEST(Checkpointed, GoesOnWithLessRoomOnDisk) {
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

TEST(Checkpointed, DamagedFilesAreNamedAndCanBeMadeAgain) {
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

TEST(Checkpointed, AnotherLoopsFolderIsRefused) {
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

TEST(Checkpointed, AFullDiskIsSaid) {
  ASSERT_TRUE(fs::exists("/dev/full"));
  const Folder folder("tidemark-full-");
  const CheckpointOptions options = on_disk(folder);
  // Every snapshot is written beside first: a link to the full device stands in its way.
  for (int i = 1; i < 80; ++i)
    fs::create_symlink("/dev/full", folder.path() + "/state-" + std::to_string(i) + ".tidemark.new");
  try {
    checkpointed(flow_step, flow_loss, flow_start(), kControl, 80, options);
    FAIL() << "nothing was said";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::io);
    EXPECT_THAT(e.what(), HasSubstr("No space left on device"));
    EXPECT_THAT(e.what(), HasSubstr("/state-"));
  }
}

}  // namespace
}  // namespace tidemark
