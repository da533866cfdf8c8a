// What a second of counted work takes: searches under a WorkClock (plan/cpu_clock.h), beside the CPU seconds of their thread. Small programs and models of the
// zoo; the least budget, and little and much above it. bench_work_clock [seconds of each search]
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/plan/solve.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

Tensor chain(const std::vector<Tensor>& w, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& v : w) h = tanh(matmul(h, v)) + 0.3 * h;
  return mean(square(h));
}

struct Ratios {
  double least = 1e9, most = 0;
  std::vector<double> all;
};

// `search` with so many seconds; one that ends by itself tells nothing.
template <typename Search>
void row(const std::string& name, const plan::Problem& problem, const char* what, double seconds,
         const Search& search, Ratios& ratios) {
  double counted = 0;
  const double begin = plan::thread_seconds();
  {
    plan::WorkClock clock(problem.tasks.size());
    search();
    counted = clock.look();
  }
  const double took = plan::thread_seconds() - begin, ratio = took / counted;
  const bool ended = counted < 0.5 * seconds;
  std::printf("%-14s %6zu %-10s %8.3f %8.3f ", name.c_str(), problem.tasks.size(), what, counted, took);
  std::printf(ended ? "  ended\n" : "%7.2f\n", ratio);
  std::fflush(stdout);
  if (ended) return;
  ratios.least = std::min(ratios.least, ratio), ratios.most = std::max(ratios.most, ratio);
  ratios.all.push_back(ratio);
}

void rows(const std::string& name, const plan::Problem& problem, double seconds, Ratios& ratios) {
  const Bytes most = plan::run_planner(*plan::find_planner("store_all"), problem, {}).peak;
  Bytes least = most;
  row(
      name, problem, "least", seconds,
      [&] { least = plan::smallest_peak(problem, {.time_limit = seconds}).plan.peak; }, ratios);
  for (const auto& [part, what] : {std::pair{0.02, "2 %"}, std::pair{0.1, "10 %"}, std::pair{0.4, "40 %"}}) {
    const Bytes budget = least + static_cast<Bytes>(part * static_cast<double>(most - least));
    row(
        name, problem, what, seconds,
        [&] { plan::solve(problem, {.budget = budget, .time_limit = seconds}); }, ratios);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.3;
  std::printf("%-14s %6s %-10s %8s %8s %7s\n", "program", "tasks", "budget", "counted", "CPU s", "ratio");
  Ratios ratios;
  for (const int layers : {4, 8, 16, 40, 120}) {
    const std::vector<Tensor> w(static_cast<std::size_t>(layers), full({16, 16}, 0.02));
    rows("chain " + std::to_string(layers), posed_problem(value_and_grad(chain), {}, w, full({512, 16}, 0.5)),
         seconds, ratios);
  }
  struct Entry {
    const char* name;
    ModelOptions options;
  };
  const Entry entries[] = {{"mlp", {.batch = 1024}},
                           {"resnet18", {.batch = 16, .size = 64}},
                           {"unet", {.batch = 2, .size = 64, .sizes = {{"width", 16}}}},
                           {"gpt2-124m", {.batch = 4, .seq = 64, .sizes = {{"depth", 4}, {"vocab", 4096}}}},
                           {"lstm", {.batch = 16, .seq = 12, .sizes = {{"vocab", 4096}}}},
                           {"mobilenet-v2", {.batch = 8, .size = 64}},
                           {"densenet121", {.batch = 4, .size = 64}}};
  for (const Entry& e : entries) {
    const Model model = make_model(e.name, e.options);
    const TrainOptions training;
    Init init({.seed = 1});
    const auto state = make_train_state(model, training.optimizer, init);
    const auto batch = synthetic_batch(model, init);
    rows(e.name, posed_problem(train_step(model, training), {.state = 1}, state, batch), seconds, ratios);
  }
  std::sort(ratios.all.begin(), ratios.all.end());
  if (!ratios.all.empty())
    std::printf("CPU seconds for each that is counted: %.2f to %.2f, half of them up to %.2f\n", ratios.least,
                ratios.most, ratios.all[ratios.all.size() / 2]);
}
