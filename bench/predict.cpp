// Predicted against measured seconds of a training step: models of the zoo (small sizes) at three budgets. Each plan is predicted
// twice. Before it has run: at the first budget from its kernels timed one by one, at the others from what runs at the budgets before
// taught. And after runs have corrected it, for the ten steps that follow. One thread; measured is the lesser of wall and CPU time,
// median of steps. Machines change their speed by more than a prediction is off: every step is taken beside one of a fixed plan, which
// nothing corrects. `off` is as it is; `beside` is off with the prediction in units of the fixed plan's steps when it was made, and each
// measured step in units of the one beside it. `drift` is how much longer these took, `spread` how far the medians of the first and the
// last five of the ten steps are apart. Where the fixed plan drifted by more than 5 %, the ten are taken anew, at most five times in
// all (`takes`): whether they are depends on the machine only, never on the prediction. `outside` is the part of a call, by the wall,
// before its first and behind its last task: arguments and results, which are no task's and are measured and predicted with it.
//   bench_predict [--kinds] [--rounds N] [MODEL…]
// --kinds: for the last budget of each model, the kinds of task that kernels timed alone are farthest off for.
// --rounds: each model from its profile on so often; the summary then counts the median of a row's rounds.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
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
// Steps are taken anew where the machine's speed changed by more, so often at most.
constexpr double kDrift = 0.05;
constexpr int kTakes = 5;

struct Row {
  std::string name;
  double off, beside;  // per cent
};
std::vector<Row> rows;
bool show_kinds = false;
int rounds = 1;

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
  // The seconds of one. `wall`: by the wall.
  double take(double* wall = nullptr) {
    const double began = seconds_of(CLOCK_MONOTONIC), work = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    state_ = step_(std::move(state_), batch_).next;
    const double passed = seconds_of(CLOCK_MONOTONIC) - began;
    const double worked = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - work;
    compiled().wait_for_correction();
    if (wall != nullptr) *wall = passed;
    return std::min(passed, worked);
  }

 private:
  using Step = decltype(compile(train_step(std::declval<const Model&>(), TrainOptions{}), CompileOptions{}));
  Step step_;
  TrainState state_;
  Tensors batch_;
};

// Steps of a plan and of the fixed one in turn.
class Pair {
 public:
  Pair(Steps& steps, Steps& fixed) : steps_(steps), fixed_(fixed) {}
  void take(int n) {
    for (int i = 0; i < n; ++i) {
      seconds_.push_back(steps_.take(&wall_));
      beside_.push_back(fixed_.take());
    }
  }
  // The last n of each; `behind`: and so many steps.
  std::vector<double> seconds(int n) const { return {seconds_.end() - n, seconds_.end()}; }
  double beside(int n, int behind = 0) const {
    return median({beside_.end() - n - behind, beside_.end() - behind});
  }
  // The last n, each in units of the one beside it.
  double units(int n) const {
    std::vector<double> ratios(seconds_.end() - n, seconds_.end());
    std::transform(ratios.begin(), ratios.end(), beside_.end() - n, ratios.begin(), std::divides<>());
    return median(std::move(ratios));
  }
  double wall() const { return wall_; }

 private:
  Steps &steps_, &fixed_;
  std::vector<double> seconds_, beside_;
  double wall_ = 0;  // of the last step
};

void run(const Case& c) {
  const Model model = make_model(c.name, c.options);
  const TrainOptions training;
  const auto device = cpu({.threads = 1});
  CompileOptions options{.device = device, .state = 1, .name = c.name, .correct = false};
  Steps fixed(model, training, options);
  DeviceProfile timed = cpu_profile(1);
  Profiler profiler(device, {.repeats = 5, .seconds = 0.1});
  std::vector<double> meanwhile(6);
  std::generate(meanwhile.begin(), meanwhile.begin() + 3, [&] { return fixed.take(); });
  measure(timed, fixed.compiled().binding(), profiler, 1);
  std::generate(meanwhile.begin() + 3, meanwhile.end(), [&] { return fixed.take(); });
  double then = median(meanwhile);  // what the fixed plan took when what is predicted from was measured
  const auto alone = std::make_shared<const DeviceProfile>(std::move(timed));
  const Bytes all = fixed.compiled().peak_predicted(), least = fixed.compiled().smallest(2).budget;
  options.correct = true;
  options.profile = alone;
  for (const double part : kParts) {
    if (part < 1) options.memory = least + static_cast<Bytes>(part * static_cast<double>(all - least));
    Steps steps(model, training, options);
    Pair pair(steps, fixed);
    pair.take(6);
    const Prediction before = steps.compiled().prediction();
    // Six steps under a plan show whether it is off.
    for (int steps_in_peace = before.checking ? 0 : 6, corrections = 0; steps_in_peace < 6;
         ++steps_in_peace) {
      pair.take(1);
      const Prediction p = steps.compiled().prediction();
      if (p.corrections != corrections)
        then = pair.beside(10, 1);  // behind the ten that were timed, one takes the plan
      if (p.corrections != corrections || p.checking) steps_in_peace = -1;
      corrections = p.corrections;
    }
    Compiled& compiled = steps.compiled();
    const Prediction now = compiled.prediction();
    options.profile = std::make_shared<const DeviceProfile>(compiled.profile());
    // Given a timeline, runs correct nothing: all ten are of one plan.
    Timeline timeline = compiled.timeline();
    steps.record(&timeline);
    double speed = 1;
    int takes = 0;
    do {
      pair.take(10);
      speed = pair.beside(10) / then;
    } while (++takes < kTakes && std::abs(speed - 1) > kDrift);
    const std::vector<double> later = pair.seconds(10);
    const double inside =
        1e-9 * static_cast<double>(timeline.entries.back().end_ns - timeline.entries[0].begin_ns);
    const double measured = median(later);
    const double spread =
        off(median({later.begin(), later.begin() + 5}), median({later.begin() + 5, later.end()}));
    rows.push_back({std::string(c.name) + " at " + std::to_string(std::lround(100 * part)) + " %",
                    off(now.predicted, measured), off(now.predicted / then, pair.units(10))});
    std::printf(
        "%-14s %4.0f %% %10.2f %10.2f %+8.1f %% %10.2f %10.2f %+8.1f %% %+8.1f %% %+8.1f %% %+8.1f %% %6.1f "
        "%% %6d %6d\n",
        c.name, 100 * part, before.predicted * 1e3, before.measured * 1e3,
        off(before.predicted, before.measured), now.predicted * 1e3, measured * 1e3, rows.back().off,
        rows.back().beside, spread, 100 * (speed - 1), 100 * (1 - inside / pair.wall()), now.corrections,
        takes);
    std::fflush(stdout);
    if (show_kinds && part == kParts[std::size(kParts) - 1]) print_kinds(compiled, *alone, timeline);
  }
}

// The median of a row's rounds, for each row.
std::map<std::string, double> medians(double Row::*off) {
  std::map<std::string, std::vector<double>> of_row;
  for (const Row& r : rows) of_row[r.name].push_back(r.*off);
  std::map<std::string, double> result;
  for (const auto& [name, offs] : of_row) result[name] = median(offs);
  return result;
}

void print_summary() {
  if (rows.empty()) return;
  const auto print = [](const char* what, double Row::*off) {
    int five = 0, ten = 0;
    std::string beyond;
    std::vector<double> offs;
    for (const auto& [name, value] : medians(off)) {
      five += std::abs(value) <= 5;
      ten += std::abs(value) <= 10;
      offs.push_back(std::abs(value));
      char text[64];
      std::snprintf(text, sizeof text, "; %s: %+.1f %%", name.c_str(), value);
      if (std::abs(value) > 5) beyond += text;
    }
    std::printf("%s: %d of %zu within 5 %%, %d within 10 %%, median %.1f %%%s\n", what, five, offs.size(),
                ten, median(offs), beyond.c_str());
  };
  if (rounds > 1) std::printf("medians of %d rounds\n", rounds);
  print("corrected", &Row::off);
  print("beside the fixed plan", &Row::beside);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--kinds") == 0)
      show_kinds = true;
    else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      rounds = std::max(1, std::atoi(argv[++i]));
    else
      models.emplace_back(argv[i]);
  }
  std::printf("%-14s %6s %10s %10s %10s %10s %10s %10s %10s %10s %10s %8s %6s %6s\n", "model", "budget",
              "before", "measured", "off", "corrected", "measured", "off", "beside", "spread", "drift",
              "outside", "times", "takes");
  for (const Case& c : kCases) {
    if (models.empty() || std::find(models.begin(), models.end(), c.name) != models.end())
      for (int round = 0; round < rounds; ++round) run(c);
  }
  print_summary();
}
