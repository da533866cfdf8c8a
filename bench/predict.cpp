// Predicted against measured seconds of a training step: models of the zoo (small sizes) at three budgets, before anything was
// measured (the shipped profile) and after runs corrected it. One thread; measured is the lesser of wall and CPU time, median of steps.
//   bench_predict [MODEL…]
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

namespace {

double seconds_of(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Case {
  const char* name;
  ModelOptions options;
};
const Case kCases[] = {
    {"mlp", {.batch = 2048}},
    {"vgg16", {.batch = 8, .size = 32}},
    {"resnet18", {.batch = 8, .size = 64}},
    {"resnet50", {.batch = 4, .size = 64}},
    {"mobilenet-v2", {.batch = 8, .size = 64}},
    {"densenet121", {.batch = 4, .size = 64}},
    {"unet", {.batch = 1, .size = 64, .sizes = {{"width", 16}}}},
    {"segnet", {.batch = 1, .size = 64}},
    {"lstm", {.batch = 16, .seq = 16}},
    {"vit-b-16", {.batch = 2, .size = 64, .sizes = {{"depth", 4}}}},
    {"bert-base", {.batch = 2, .seq = 64, .sizes = {{"depth", 4}}}},
    {"gpt2-124m", {.batch = 2, .seq = 128, .sizes = {{"depth", 4}}}},
    {"llama-1b",
     {.batch = 1, .seq = 64, .sizes = {{"depth", 2}, {"width", 512}, {"hidden", 1024}, {"vocab", 4096}}}},
};
// Of what lies between the least peak and keeping everything.
constexpr double kParts[] = {1, 0.5, 0.2};

void run(const Case& c) {
  const Model model = make_model(c.name, c.options);
  const TrainOptions training;
  Bytes least = 0, all = 0;
  for (const double part : kParts) {
    Init init({.seed = 1});
    TrainState state = make_train_state(model, training.optimizer, init);
    const Tensors batch = synthetic_batch(model, init);
    CompileOptions options{.device = cpu({.threads = 1}), .state = 1, .name = c.name};
    if (part < 1) options.memory = least + static_cast<Bytes>(part * static_cast<double>(all - least));
    auto step = compile(train_step(model, training), options);
    const Compiled& planned = step.plan_for(state, batch);
    const double first_prediction = planned.prediction().predicted;
    if (part == 1) {
      all = planned.peak_predicted();
      least = planned.smallest(2).budget;
    }
    std::vector<double> first, later;
    for (int i = 0; i < 14; ++i) {
      Compiled& compiled = step.plan_for(state, batch);
      const double wall = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
      state = step(std::move(state), batch).next;
      const double seconds =
          std::min(seconds_of(CLOCK_MONOTONIC) - wall, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu);
      if (i > 0 && i < 4) first.push_back(seconds);
      if (i >= 9) later.push_back(seconds);
      compiled.wait_for_correction();
    }
    const auto median = [](std::vector<double> v) {
      std::sort(v.begin(), v.end());
      return v[v.size() / 2];
    };
    const Prediction now = step.plan_for(state, batch).prediction();
    const auto off = [](double predicted, double measured) { return 100 * (predicted / measured - 1); };
    std::printf("%-14s %4.0f %% %10.2f %10.2f %+8.1f %% %10.2f %10.2f %+8.1f %%\n", c.name, 100 * part,
                first_prediction * 1e3, median(first) * 1e3, off(first_prediction, median(first)),
                now.predicted * 1e3, median(later) * 1e3, off(now.predicted, median(later)));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%-14s %6s %10s %10s %10s %10s %10s %10s\n", "model", "budget", "shipped", "measured", "off",
              "corrected", "measured", "off");
  for (const Case& c : kCases) {
    if (argc > 1 &&
        std::none_of(argv + 1, argv + argc, [&](const char* a) { return std::string(a) == c.name; }))
      continue;
    run(c);
  }
}
