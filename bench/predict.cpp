// Predicted against measured seconds of a training step: models of the zoo (small sizes) at three budgets. Each plan is predicted
// twice. Before it has run: at the first budget from its kernels timed one by one, at the others from what runs at the budgets before
// taught. And after runs have corrected it, for the ten steps that follow. One thread; measured is the lesser of wall and CPU time,
// median of steps. No prediction can be better than `spread`, how far the medians of the first and the last five of those ten steps
// are apart, and `drift`, how much longer steps of one plan, which is not corrected, took after them than at the last correction.
// `outside` is the part of a call, by the wall, before its first and behind its last task: arguments and results, which are measured
// here and in no prediction.
//   bench_predict [--kinds] [MODEL…]
// --kinds: for the last budget of each model, the kinds of task that kernels timed alone are farthest off for.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <string>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/runtime/profiler.h"
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
    {"mlp", {.batch = 1024}},
    {"vgg16", {.batch = 8, .size = 32, .sizes = {{"hidden", 512}}}},
    {"resnet18", {.batch = 8, .size = 64}},
    {"resnet50", {.batch = 4, .size = 64}},
    {"mobilenet-v2", {.batch = 8, .size = 64}},
    {"densenet121", {.batch = 4, .size = 64}},
    {"unet", {.batch = 1, .size = 64, .sizes = {{"width", 16}}}},
    {"segnet", {.batch = 1, .size = 64}},
    {"lstm", {.batch = 16, .seq = 12, .sizes = {{"vocab", 4096}}}},
    {"vit-b-16", {.batch = 2, .size = 64, .sizes = {{"depth", 2}}}},
    {"bert-base", {.batch = 2, .seq = 64, .sizes = {{"depth", 2}, {"vocab", 4096}}}},
    {"gpt2-124m", {.batch = 2, .seq = 64, .sizes = {{"depth", 2}, {"vocab", 4096}}}},
    {"llama-1b",
     {.batch = 1, .seq = 64, .sizes = {{"depth", 2}, {"width", 512}, {"hidden", 1024}, {"vocab", 4096}}}},
};
// Of what lies between the least peak and keeping everything.
constexpr double kParts[] = {1, 0.5, 0.2};

struct Row {
  double off, spread, drift;  // per cent
};
std::vector<Row> rows;
bool show_kinds = false;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
double off(double predicted, double measured) { return 100 * (predicted / measured - 1); }

// Sums over a step by kind of task: what kernels timed alone give, and what they took in the step.
void print_kinds(const Compiled& c, const DeviceProfile& alone, const Timeline& timeline) {
  struct Sum {
    double alone = 0, measured = 0;
    int runs = 0;
  };
  std::map<std::string, Sum> kinds;
  double total = 0;
  for (const Timeline::Entry& e : timeline.entries) {
    if (e.task < 0) continue;
    const std::int32_t n = c.binding().node_of_task[static_cast<std::size_t>(e.task)];
    if (n < 0) continue;
    const Node& node = c.graph().nodes[static_cast<std::size_t>(n)];
    Sum& sum = kinds[node.op->name];
    sum.alone += estimate(alone, *node.op, spec_of(c.graph(), node, 1)).seconds;
    sum.measured += 1e-9 * static_cast<double>(e.end_ns - e.begin_ns);
    ++sum.runs;
    total += 1e-9 * static_cast<double>(e.end_ns - e.begin_ns);
  }
  for (const auto& [kind, s] : kinds) {
    if (std::abs(s.alone - s.measured) > 0.01 * total)
      std::printf("    %-28s %5d runs %10.3f ms alone %10.3f ms in the step\n", kind.c_str(), s.runs,
                  s.alone * 1e3, s.measured * 1e3);
  }
}

// Takes steps of a training, each with the state of the one before.
class Steps {
 public:
  Steps(const Model& model, const TrainOptions& training, const CompileOptions& options)
      : step_(compile(train_step(model, training), options)) {
    Init init({.seed = 1});
    state_ = make_train_state(model, training.optimizer, init);
    batch_ = synthetic_batch(model, init);
  }
  Compiled& compiled() { return step_.plan_for(state_, batch_); }
  void record(Timeline* timeline) { step_.record_timeline(timeline); }
  // `last`: wall seconds of the last of them.
  std::vector<double> take(int n, double* last = nullptr) {
    std::vector<double> seconds;
    for (int i = 0; i < n; ++i) {
      const double wall = seconds_of(CLOCK_MONOTONIC), work = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
      state_ = step_(std::move(state_), batch_).next;
      seconds.push_back(
          std::min(seconds_of(CLOCK_MONOTONIC) - wall, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - work));
      if (last != nullptr) *last = seconds_of(CLOCK_MONOTONIC) - wall;
      compiled().wait_for_correction();
    }
    return seconds;
  }
  // Of a step, caches and pages warm.
  double speed() {
    take(1);
    return median(take(5));
  }

 private:
  using Step = decltype(compile(train_step(std::declval<const Model&>(), TrainOptions{}), CompileOptions{}));
  Step step_;
  TrainState state_;
  Tensors batch_;
};

void run(const Case& c) {
  const Model model = make_model(c.name, c.options);
  const TrainOptions training;
  const auto device = cpu({.threads = 1});
  CompileOptions options{.device = device, .state = 1, .name = c.name, .correct = false};
  Steps fixed(model, training, options);
  DeviceProfile timed = cpu_profile(1);
  Profiler profiler(device, {.repeats = 5, .seconds = 0.1});
  measure(timed, fixed.compiled().binding(), profiler, 1);
  const auto alone = std::make_shared<const DeviceProfile>(std::move(timed));
  const Bytes all = fixed.compiled().peak_predicted(), least = fixed.compiled().smallest(2).budget;
  options.correct = true;
  options.profile = alone;
  for (const double part : kParts) {
    if (part < 1) options.memory = least + static_cast<Bytes>(part * static_cast<double>(all - least));
    Steps steps(model, training, options);
    steps.take(6);
    const Prediction before = steps.compiled().prediction();
    double speed = fixed.speed();
    for (Prediction p = before; p.checking;) {
      steps.take(17 - 6);  // 10 runs are timed, and the next takes the plan
      steps.take(6);       // which shows whether it is off
      const Prediction next = steps.compiled().prediction();
      if (next.corrections != p.corrections) speed = fixed.speed();
      p = next;
    }
    Compiled& compiled = steps.compiled();
    const Prediction now = compiled.prediction();
    options.profile = std::make_shared<const DeviceProfile>(compiled.profile());
    // Given a timeline, runs correct nothing: all ten are of one plan.
    Timeline timeline = compiled.timeline();
    steps.record(&timeline);
    double last = 0;
    const std::vector<double> later = steps.take(10, &last);
    const double inside =
        1e-9 * static_cast<double>(timeline.entries.back().end_ns - timeline.entries[0].begin_ns);
    const double drift = off(fixed.speed(), speed);
    const double measured = median(later);
    const double spread =
        off(median({later.begin(), later.begin() + 5}), median({later.begin() + 5, later.end()}));
    rows.push_back({off(now.predicted, measured), spread, drift});
    std::printf(
        "%-14s %4.0f %% %10.2f %10.2f %+8.1f %% %10.2f %10.2f %+8.1f %% %+8.1f %% %+8.1f %% %6.1f %% %6d\n",
        c.name, 100 * part, before.predicted * 1e3, before.measured * 1e3,
        off(before.predicted, before.measured), now.predicted * 1e3, measured * 1e3, rows.back().off, spread,
        drift, 100 * (1 - inside / last), now.corrections);
    std::fflush(stdout);
    if (show_kinds && part == kParts[std::size(kParts) - 1]) print_kinds(compiled, *alone, timeline);
  }
}

void print_summary() {
  int five = 0, ten = 0, quiet = 0, quiet_five = 0;
  std::vector<double> offs;
  for (const Row& r : rows) {
    five += std::abs(r.off) <= 5;
    ten += std::abs(r.off) <= 10;
    const bool calm = std::abs(r.spread) <= 2 && std::abs(r.drift) <= 2;
    quiet += calm;
    quiet_five += calm && std::abs(r.off) <= 5;
    offs.push_back(std::abs(r.off));
  }
  if (rows.empty()) return;
  std::printf(
      "corrected: %d of %zu within 5 %%, %d within 10 %%, median %.1f %%; where spread and drift are within "
      "2 %%: "
      "%d of %d within 5 %%\n",
      five, rows.size(), ten, median(offs), quiet_five, quiet);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--kinds") == 0)
      show_kinds = true;
    else
      models.emplace_back(argv[i]);
  }
  std::printf("%-14s %6s %10s %10s %10s %10s %10s %10s %10s %10s %8s %6s\n", "model", "budget", "before",
              "measured", "off", "corrected", "measured", "off", "spread", "drift", "outside", "times");
  for (const Case& c : kCases) {
    if (models.empty() || std::find(models.begin(), models.end(), c.name) != models.end()) run(c);
  }
  print_summary();
}
