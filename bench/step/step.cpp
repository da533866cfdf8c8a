// Our side of bench/step, in the protocol of torch_step.py: prints `ready <parameters>`; then for every line read runs a
// compiled training step and prints its milliseconds, by the clock and of the processors; at the end of input prints `peak <bytes>`: the most resident memory
// of the steps, above what the process had before the model was made. `--timeline` prints where a step's time goes.
//   bench_step MODEL BATCH SIZE THREADS [BUDGET] [--timeline]
// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "tidemark/ir/op.h"
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

double cpu_milliseconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// Milliseconds, GFLOP/s and GB/s by op and shapes, dearest first.
void print_timeline(const Compiled& compiled, const Timeline& timeline) {
  struct Row {
    double seconds = 0;
    Cost cost;
    int count = 0;
  };
  std::map<std::string, Row> by_kind;
  const Graph& g = compiled.graph();
  for (const Timeline::Entry& entry : timeline.entries) {
    const auto n = compiled.binding().node_of_task[static_cast<std::size_t>(entry.task)];
    const Node& node = g.nodes[static_cast<std::size_t>(n)];
    KernelSpec spec{.attrs = node.attrs, .regions = node.regions};
    std::string kind = node.op->name;
    for (const ValueId v : node.in) {
      spec.in.push_back(g.value(v));
      kind += ' ' + to_string(g.type(v).shape) + to_string(g.value(v).layout);
    }
    for (const ValueId v : node.out) {
      spec.out.push_back(g.value(v));
      kind += (v == node.out[0] ? " -> " : " ") + to_string(g.type(v).shape);
    }
    for (const Graph& region : node.regions) {
      kind += " [";
      for (const Node& inner : region.nodes) kind += std::string(inner.op->name) + (&inner == &region.nodes.back() ? "]" : " ");
    }
    const Cost cost = cost_of(*node.op, spec);
    Row& row = by_kind[kind];
    row.seconds += static_cast<double>(entry.end_ns - entry.begin_ns) * 1e-9;
    row.cost.flops += cost.flops;
    row.cost.bytes += cost.bytes;
    ++row.count;
  }
  std::vector<std::pair<std::string, Row>> rows(by_kind.begin(), by_kind.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  std::fprintf(stderr, "        ms  count  GFLOP/s   GB/s  op\n");
  for (const auto& [kind, row] : rows) {
    std::fprintf(stderr, "%10.2f %6d %8.1f %6.1f  %.240s\n", row.seconds * 1e3, row.count,
                 row.cost.flops / row.seconds * 1e-9, row.cost.bytes / row.seconds * 1e-9, kind.c_str());
  }
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
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  std::printf("ready %ld %g\n", static_cast<long>(model.parameter_count()), static_cast<double>(first));
  std::fflush(stdout);
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_milliseconds();
    step();
    std::printf("%.3f %.3f\n",
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count(),
                cpu_milliseconds() - cpu);
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
