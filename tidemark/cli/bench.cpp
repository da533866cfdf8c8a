// tidemark bench: measured time and peak of a model's training step at several budgets, beside what was predicted.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/training.h"

namespace tidemark::cli {
namespace {

struct Line {
  std::string asked;
  std::string why_not;  // "": it was measured
  Bytes budget = 0, predicted = 0, measured = 0;
  double seconds_predicted = 0, seconds = 0, samples = 0;  // wall seconds of a step, samples a second
  LibraryMemory libraries;
};

class BenchVerb : public Command {
 public:
  void declare(Args& args) override {
    model_.declare_name(args);
    args.option("-b,--budget", budgets_,
                "Budgets with commas: 8GiB, 60%, min; keeping everything is always measured first");
    model_.declare(args);
    model_.means.declare_running(args);
    args.option("--steps", steps_,
                "Steps to time at each budget, after one that is not counted; the median stands");
    args.option("-t,--time", time_, "CPU time to plan each budget for, e.g. 1s or 500ms");
    args.flag("--json", json_,
              "Print a list of {budget, peak_predicted, peak_measured, seconds_predicted, seconds, "
              "samples_per_second, libraries}");
    args.footer(
        "libraries: bytes that libraries kept on the heap inside steps, beside the peak; flat where later "
        "is a few KiB at most.\n"
        "Times are of the clock on the wall: leave the machine alone meanwhile. Exit code 2: a budget is too "
        "small.\n"
        "Example: tidemark bench mlp --batch 512 --budget 100%,min");
  }

  int run() override {
    if (steps_ < 1 || steps_ > 1'000'000)
      fail(Error::Kind::usage, "[bench] --steps {} vs between 1 and 1000000", steps_);
    const double time_limit = parse_seconds(time_);
    std::vector<Budget> budgets{Budget()};
    for (const std::string& text : budgets_) budgets.push_back(parse_memory(text));
    std::vector<Line> lines;
    for (std::size_t i = 0; i < budgets.size() && !was_interrupted(); ++i) {
      Line line{.asked = i == 0 ? "store all" : budgets_[i - 1]};
      try {
        measure(budgets[i], time_limit, line);
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::infeasible) throw;
        const bool machine = std::string_view(e.what()).starts_with("[bench]");
        line.why_not = machine ? "too much for this machine" : "too small";
        say("{}", text_of(e));
      }
      if (!was_interrupted()) lines.push_back(line);
    }
    json_ ? print_json(lines) : print_table(lines);
    if (was_interrupted()) {
      say("interrupted; these are the budgets so far");
      return Exit::interrupted;
    }
    const bool all = std::all_of(lines.begin(), lines.end(), [](const Line& l) { return l.why_not.empty(); });
    return all ? Exit::done : Exit::no;
  }

 private:
  void measure(const Budget& budget, double time_limit, Line& line) const {
    ProgressLine progress;
    progress.show("planning for " + line.asked);
    Training training(model_, {.verb = "bench", .memory = budget, .time_limit = time_limit});
    training.start(0);
    std::vector<double> seconds;
    const Tensors batch = random_batch(training.model(), 0, 0);
    for (std::int64_t i = 0; i <= steps_ && !was_interrupted(); ++i) {
      progress.show(fmt::format("{}: step {} of {}", line.asked, i, steps_));
      const double begin = wall_seconds();
      training.step(batch);
      if (i > 0) seconds.push_back(wall_seconds() - begin);
    }
    if (seconds.empty()) return;
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                     seconds.end());
    line.seconds = seconds[seconds.size() / 2];
    line.samples = static_cast<double>(batch[0].size(0)) / line.seconds;
    const Compiled& compiled = training.compiled();
    line.predicted = compiled.peak_predicted();
    line.measured = compiled.peak_measured();
    line.budget = compiled.plan().budget < 0 ? line.predicted : compiled.plan().budget;
    line.seconds_predicted = compiled.plan().seconds;
    line.libraries = compiled.libraries();
  }

  static void print_json(const std::vector<Line>& lines) {
    JsonWriter w;
    w.begin_array();
    for (const Line& l : lines) {
      if (!l.why_not.empty()) continue;
      w.new_line().begin_object().field("budget", l.budget).field("peak_predicted", l.predicted);
      w.field("peak_measured", l.measured)
          .field("seconds_predicted", l.seconds_predicted)
          .field("seconds", l.seconds);
      w.field("samples_per_second", l.samples);
      write_libraries(w, l.libraries);
      w.end_object();
    }
    w.new_line().end_array();
    fmt::print("{}\n", w.text());
  }

  static void print_table(const std::vector<Line>& lines) {
    fmt::print("{}\n", strong(fmt::format("{:>10} {:>12} {:>12} {:>12} {:>12} {:>10} {:>12}", "budget",
                                          "bytes", "peak", "a step", "predicted", "vs all", "samples/s")));
    for (const Line& l : lines) {
      if (!l.why_not.empty()) {
        fmt::print("{:>10} {:>12}\n", l.asked, l.why_not);
        continue;
      }
      const bool compared = lines[0].why_not.empty();
      fmt::print("{:>10} {:>12} {:>12} {:>12} {:>12} {:>10} {:>12.1f}\n", l.asked, format_bytes(l.budget),
                 format_bytes(l.measured), format_seconds(l.seconds), format_seconds(l.seconds_predicted),
                 compared ? fmt::format("{:+.1f} %", 100 * (l.seconds / lines[0].seconds - 1)) : "-",
                 l.samples);
    }
    for (const Line& l : lines) {
      if (l.why_not.empty()) fmt::print("libraries, {}: {}\n", l.asked, describe(l.libraries));
    }
  }

  ModelSource model_;
  std::vector<std::string> budgets_;
  std::string time_ = "1s";
  std::int64_t steps_ = 5;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> bench_verb() { return std::make_unique<BenchVerb>(); }

}  // namespace tidemark::cli
