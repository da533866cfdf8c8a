// What goes wrong outside: a process that is killed in the middle of a step, files that were cut short, a disk that is full. The rest of
// the list stands in tests/compile/tiers_test.cpp (copies, pins) and makers_test.cpp (slots that overflow).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/store/safetensors.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

const Model& model() {
  // Without convolutions: the workspace of the plain ones is nearly all there is to plan.
  static const Model m = make_model(
      "gpt2-124m",
      {.batch = 8, .seq = 24, .sizes = {{"vocab", 19}, {"positions", 24}, {"width", 16}, {"depth", 3}, {"heads", 2}}});
  return m;
}
TrainState start() {
  Init init({.seed = 9});
  return make_train_state(model(), TrainOptions{}.optimizer, init);
}
Tensors batch() {
  Init init({.seed = 10});
  return synthetic_batch(model(), init);
}
std::vector<std::vector<float>> bits(const TrainState& state) {
  std::vector<std::vector<float>> all;
  for (const Tensor& t : flatten(state)) all.emplace_back(t.data<float>().begin(), t.data<float>().end());
  return all;
}

// A part of the way from the least that fits to what keeping everything takes, whatever the kernels take.
Bytes part_way(double part) {
  auto all = compile(train_step(model()), {.state = 1});
  const Compiled& c = all.plan_for(start(), batch());
  const Bytes least = c.smallest(0.3).plan.peak;
  return least + static_cast<Bytes>(part * static_cast<double>(c.plan().peak - least));
}

void save(const std::string& path, const TrainState& state, int steps) {
  std::vector<SafeTensor> tensors;
  const Tensors flat = flatten(state);
  for (std::size_t i = 0; i < flat.size(); ++i)
    tensors.push_back({std::to_string(i), "F32", flat[i].shape().sizes(), flat[i].storage()->data(),
                       flat[i].type().bytes()});
  write_safetensors(path, tensors, {{"steps", std::to_string(steps)}});
}
int load(const std::string& path, TrainState& state) {
  const SafetensorsFile file(path);
  Tensors flat = flatten(state);
  for (std::size_t i = 0; i < flat.size(); ++i)
    file.read(*file.find(std::to_string(i)), flat[i].storage()->data());
  return std::stoi(file.metadata().at("steps"));
}

constexpr int kSteps = 6;

// What the test below runs in a process of its own, which ends by SIGKILL while a copy of its fourth step is under way.
void train_until_killed(const char* path) {
  static int step = 0, copies = 0;
  TierSpec tier = disk(TIDEMARK_BINARY_DIR, 64_MiB);
  tier.write_bytes_per_second = tier.read_bytes_per_second = 1e12;
  tier.latency_seconds = 1e-9;
  tier.fault = [](FileOp, std::byte*, Bytes) {
    if (step == 3 && ++copies == 2) kill(getpid(), SIGKILL);
    return 0;
  };
  auto f = compile(train_step(model()), {.memory = part_way(0.1),
                                         .state = 1,
                                         .time_limit = 0.3,
                                         .tiers = {tier},
                                         .atomic = false,
                                         .makers = false,
                                         .correct = false});
  TrainState state = start();
  for (; step < kSteps; ++step) {
    state = f(std::move(state), batch()).next;
    save(path, state, step + 1);
  }
}

TEST(Killed, AStepThatWasCutOffIsRunAgainFromTheLastParameters) {
  if (const char* given = std::getenv("TIDEMARK_TEST_CHECKPOINT")) return train_until_killed(given);
  const std::string path = std::string(TIDEMARK_BINARY_DIR) + "/killed-step.safetensors";
  fs::remove(path);
  const std::string self = fs::read_symlink("/proc/self/exe");
  const std::string command =
      "TIDEMARK_TEST_CHECKPOINT='" + path + "' '" + self +
      "' --gtest_filter=Killed.AStepThatWasCutOffIsRunAgainFromTheLastParameters >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  // The shell says 128 + 9 where it did not become the process itself.
  ASSERT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
              (WIFEXITED(status) && WEXITSTATUS(status) == 137))
      << status;
  auto f = compile(train_step(model()), {.state = 1});
  TrainState state = start(), uninterrupted = start();
  const int done = load(path, state);
  EXPECT_EQ(done, 3);
  for (int i = done; i < kSteps; ++i) state = f(std::move(state), batch()).next;
  for (int i = 0; i < kSteps; ++i) uninterrupted = f(std::move(uninterrupted), batch()).next;
  EXPECT_EQ(bits(state), bits(uninterrupted));
  fs::remove(path);
}

TEST(Faults, PlansThatWereCutShortAreMadeAnew) {
  const fs::path folder = fs::path(TIDEMARK_BINARY_DIR) / "cut-short-plans";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const CompileOptions options{.memory = part_way(0.5),
                               .state = 1,
                               .time_limit = 0.3,
                               .makers = false,
                               .correct = false,
                               .plan_cache = folder.string()};
  const auto run = [&] {
    auto f = compile(train_step(model()), options);
    return bits(f(start(), batch()).next);
  };
  const auto wanted = run();
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
    ++files;
  }
  EXPECT_GT(files, 0);
  EXPECT_EQ(run(), wanted);
  fs::remove_all(folder);
}

TEST(Faults, APlanFileThatWasCutShortIsNamed) {
  auto f = compile(train_step(model()), {.memory = part_way(0.5), .state = 1, .time_limit = 0.2, .makers = false});
  const TrainState state = start();
  const Compiled& c = f.plan_for(state, batch());
  const std::string text = plan::write_plan(c.problem(), c.plan());
  EXPECT_NO_THROW(plan::read_plan(c.problem(), text));
  for (const double part : {0.1, 0.5, 0.9}) {
    try {
      plan::read_plan(c.problem(),
                      text.substr(0, static_cast<std::size_t>(part * static_cast<double>(text.size()))));
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::data) << e.what();
    }
  }
}

}  // namespace
}  // namespace tidemark
