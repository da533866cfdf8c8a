// Our side of bench/step, in the protocol of torch_step.py: prints `ready <parameters>`; then for every line read runs a
// compiled training step and prints its milliseconds; at the end of input prints `peak <bytes>`: the most resident memory
// of the steps, above what the process had before the model was made. `--timeline` prints where a step's time goes.
//   bench_step MODEL BATCH SIZE THREADS [BUDGET] [--timeline]
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

namespace {

Bytes status(const std::string& field) {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(field, 0) == 0) return std::atoll(line.c_str() + field.size() + 1) * 1024;
  }
  return 0;
}

// Milliseconds by op, dearest first.
void print_timeline(const Compiled& compiled, const Timeline& timeline) {
  std::map<std::string, std::pair<double, int>> by_op;
  for (std::size_t i = 0; i < timeline.entries.size(); ++i) {
    const Node& node = compiled.graph().nodes[static_cast<std::size_t>(
        compiled.binding().node_of_task[static_cast<std::size_t>(timeline.entries[i].task)])];
    auto& [seconds, count] = by_op[node.op->name];
    seconds += static_cast<double>(timeline.entries[i].end_ns - timeline.entries[i].begin_ns) * 1e-9;
    ++count;
  }
  std::vector<std::pair<std::string, std::pair<double, int>>> rows(by_op.begin(), by_op.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  for (const auto& [op, cost] : rows)
    std::fprintf(stderr, "%10.2f ms %6d  %s\n", cost.first * 1e3, cost.second, op.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: bench_step MODEL BATCH SIZE THREADS [BUDGET] [--timeline]\n");
    return 1;
  }
  const std::string name = argv[1];
  const std::int64_t batch_size = std::atoll(argv[2]), size = std::atoll(argv[3]);
  const bool timeline_wanted = std::string(argv[argc - 1]) == "--timeline";
  CompileOptions options{.device = cpu({.threads = std::atoi(argv[4])}), .state = 1, .name = name};
  if (argc > 5 && argv[5][0] != '-') options.memory = parse_bytes(argv[5]);

  const Bytes before = status("VmRSS");
  const Model model = make_model(name, {.batch = batch_size, .size = size, .seq = size});
  const TrainOptions training{.optimizer = {.weight_decay = 0.01}, .rate = constant_rate(1e-4)};
  Init init({.seed = 1});
  TrainState state = make_train_state(model, training.optimizer, init);
  const Tensors batch = synthetic_batch(model, init);
  auto train = compile(train_step(model, training), options);
  const auto step = [&] {
    Trained result = train(std::move(state), batch);
    state = std::move(result.next);
    return result.loss.item<float>();
  };
  const float first = step();
  step();
  std::ofstream("/proc/self/clear_refs") << "5";
  std::printf("ready %ld %g\n", static_cast<long>(model.parameter_count()), static_cast<double>(first));
  std::fflush(stdout);
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    std::printf("%.3f\n",
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    std::fflush(stdout);
  }
  std::printf("peak %ld\n", static_cast<long>(status("VmHWM") - before));
  Compiled& compiled = train.plan_for(state, batch);
  std::printf("planned %ld\n", static_cast<long>(compiled.peak_predicted()));
  if (timeline_wanted) {
    Timeline timeline = compiled.timeline();
    train.record_timeline(&timeline);
    step();
    print_timeline(compiled, timeline);
  }
}
