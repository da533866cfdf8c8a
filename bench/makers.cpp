// What other makers (docs/makers.md) and micro-batches gain: predicted seconds of a training step within a budget, with recomputation
// alone, with the lossless makers, with bf16 allowed, and with the batch split where that is better. Plans only; nothing runs.
// Budgets are parts of the way from the least that recomputation found to keeping everything. Beside each time stands the bound: what
// no plan with those makers can beat, so that it shows whether costs or the search leave them out.
//   bench_makers [SECONDS [MODEL…]]    planner's time for each plan; default 5
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

namespace {

struct Case {
  const char* name;
  ModelOptions options;
};
const Case kCases[] = {
    {"resnet50", {.batch = 8, .size = 128}}, {"mobilenet-v2", {.batch = 8, .size = 128}},
    {"vgg16", {.batch = 8, .size = 128}},    {"unet", {.batch = 2, .size = 128}},
    {"vit-b-16", {.batch = 4, .size = 224}}, {"gpt2-124m", {.batch = 4, .seq = 256}},
};

struct Planner {
  const Model& model;
  double seconds;

  Function<TrainStep> step(const Budget& budget, bool makers, const std::vector<std::string>& allow,
                           MicroBatches parts) const {
    return compile(train_step(model), {.memory = budget,
                                       .device = cpu({.threads = 2}),
                                       .state = 1,
                                       .time_limit = seconds,
                                       .makers = makers,
                                       .allow = allow,
                                       .micro_batches = parts});
  }
  Compiled& planned(Function<TrainStep>& f) const {
    Init shapes({.abstract = true});
    const TrainState state = make_train_state(model, TrainOptions{}.optimizer, shapes);
    return f.plan_for(state, synthetic_batch(model, shapes));
  }
  // Milliseconds, and what the plan runs beside the program's own tasks.
  std::string cell(const Budget& budget, bool makers, const std::vector<std::string>& allow,
                   MicroBatches parts) const {
    auto f = step(budget, makers, allow, parts);
    try {
      const Compiled& c = planned(f);
      std::map<std::string, int> used;
      for (const plan::Step& s : c.plan().steps) {
        const auto t = static_cast<std::size_t>(s.id);
        if (s.kind == plan::Step::Kind::run && c.binding().node_of_task[t] < 0)
          ++used[c.problem().tasks[t].kind];
      }
      char text[64];
      std::snprintf(text, sizeof text, "%.1f (≥ %.1f)", 1e3 * c.plan().seconds,
                    1e3 * c.plan().seconds_bound.value_or(0));
      std::string out = text;
      if (c.micro_batches() > 1) out += " in " + std::to_string(c.micro_batches());
      for (const auto& [kind, n] : used) out += ", " + std::to_string(n) + " " + kind;
      return out;
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::infeasible) throw;
      return "does not fit";
    }
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  std::printf(
      "| model | budget | recompute, ms | + makers | + bf16 | + may_split |\n|---|---|---|---|---|---|\n");
  for (const Case& c : kCases) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i) wanted = wanted || c.name == std::string(argv[i]);
    if (!wanted) continue;
    const Model model = make_model(c.name, c.options);
    const Planner p{model, seconds};
    auto all = p.step({}, false, {}, 1);
    auto least = p.step(Budget::minimum(), false, {}, 1);
    const Bytes most = p.planned(all).plan().peak, fewest = p.planned(least).plan().peak;
    for (const int percent : {50, 20, 0}) {
      const Bytes budget = fewest + (most - fewest) * percent / 100;
      std::printf("| %s, batch %d | %s | %s | %s | %s | %s |\n", c.name, static_cast<int>(c.options.batch),
                  format_bytes(budget).c_str(), p.cell(budget, false, {}, 1).c_str(),
                  p.cell(budget, true, {}, 1).c_str(), p.cell(budget, true, {"bf16"}, 1).c_str(),
                  p.cell(budget, false, {}, may_split).c_str());
      std::fflush(stdout);
    }
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_makers: %s\n", e.what());
  return 1;
}
