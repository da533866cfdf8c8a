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
};

void run(const Case& c) {
  const Model model = make_model(c.name, c.options);
  const TrainOptions training;
  for (const double fraction : {1.0, 0.85, 0.7}) {
    Init init({.seed = 1});
    TrainState state = make_train_state(model, training.optimizer, init);
    const Tensors batch = synthetic_batch(model, init);
    auto step = compile(train_step(model, training),
                        {.memory = fraction, .device = cpu({.threads = 1}), .state = 1, .name = c.name});
    double first_prediction = 0;
    try {
      first_prediction = step.plan_for(state, batch).prediction().predicted;
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::infeasible) throw;
      std::printf("%-14s %4.0f %%  does not fit\n", c.name, 100 * fraction);
      continue;
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
    std::printf("%-14s %4.0f %% %10.2f %10.2f %+8.1f %% %10.2f %10.2f %+8.1f %%\n", c.name, 100 * fraction,
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
