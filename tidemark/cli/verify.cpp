// tidemark verify: training steps inside a budget and with everything kept; the same bits, and the peak that was promised.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <bit>
#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/training.h"

namespace tidemark::cli {
namespace {

struct Outcome {
  std::vector<float> losses;
  TrainState state;
  Bytes budget = 0, predicted = 0, measured = 0;
  double seconds = 0;  // CPU, of the steps
  LibraryMemory libraries;
};

class VerifyVerb : public Command {
 public:
  void declare(Args& args) override {
    model_.declare_name(args);
    args.option("-b,--budget", budget_, kBudget);
    args.required("--budget");
    model_.declare(args);
    model_.means.declare_running(args);
    args.option("--steps", steps_, "Training steps to run each way");
    args.option("--seed", seed_, "Of the parameters and the batches");
    args.option("-t,--time", time_, "CPU time to plan for, e.g. 1s or 500ms");
    args.flag("--json", json_, "Print {budget, peak_predicted, peak_measured, bitwise_equal, libraries}");
    args.footer(
        "Compared byte by byte: every loss, and after the last step every parameter, running statistic and "
        "optimizer\n"
        "state (the first moment of adam and adamw holds the gradients). Exit code 2: a bit differs, or more "
        "was\n"
        "allocated than promised.\n"
        "Example: tidemark verify resnet18 --batch 8 --size 64 --budget 60%");
  }

  int run() override {
    if (steps_ < 1 || steps_ > 1'000'000)
      fail(Error::Kind::usage, "[verify] --steps {} vs between 1 and 1000000", steps_);
    Training::Asked asked{
        .verb = "verify", .memory = parse_memory(budget_), .time_limit = parse_seconds(time_)};
    std::optional<Training> inside(std::in_place, model_, asked);
    const Model model = inside->model();
    // Planned before anything runs, so that it is said at once where this machine has no room for it.
    asked.memory = {};
    model_.means.settle(inside->compiled().micro_batches());  // other parts are other sums
    asked.held = inside->state_bytes();
    Training keeping(model_, asked);
    const Outcome under = run_steps(*inside, "inside the budget");
    inside.reset();
    const Outcome all = was_interrupted() ? Outcome{} : run_steps(keeping, "with everything kept");
    if (was_interrupted()) {
      say("interrupted; nothing was compared");
      return Exit::interrupted;
    }
    std::string differs;
    for (std::size_t i = 0; i < all.losses.size() && differs.empty(); ++i) {
      if (std::bit_cast<std::uint32_t>(under.losses[i]) != std::bit_cast<std::uint32_t>(all.losses[i]))
        differs = fmt::format("the loss of step {}", i);
    }
    if (differs.empty()) differs = first_difference(model, under.state, all.state);
    const bool kept = under.measured == under.predicted && under.measured <= under.budget;
    if (json_) {
      JsonWriter w;
      w.begin_object().field("budget", under.budget).field("peak_predicted", under.predicted);
      w.field("peak_measured", under.measured).field("bitwise_equal", differs.empty());
      write_libraries(w, under.libraries);
      w.end_object();
      fmt::print("{}\n", w.text());
    } else {
      print(model, under, all, differs);
    }
    if (!differs.empty()) say("[verify] {} differs", differs);
    if (!kept) {
      say("[verify] {} bytes measured vs {} predicted and a budget of {}", under.measured, under.predicted,
          under.budget);
    }
    return differs.empty() && kept ? Exit::done : Exit::no;
  }

 private:
  Outcome run_steps(Training& training, const char* how) const {
    Outcome outcome;
    ProgressLine line;
    training.start(static_cast<std::uint64_t>(seed_));
    const double begin = cpu_seconds();
    for (std::int64_t i = 0; i < steps_ && !was_interrupted(); ++i) {
      line.show(fmt::format("step {} of {} {}", i + 1, steps_, how));
      outcome.losses.push_back(
          training.step(random_batch(training.model(), static_cast<std::uint64_t>(seed_), i)));
    }
    outcome.seconds = cpu_seconds() - begin;
    outcome.state = training.state();
    outcome.budget = training.compiled().plan().budget;
    outcome.predicted = training.compiled().peak_predicted();
    outcome.measured = training.compiled().peak_measured();
    outcome.libraries = training.compiled().libraries();
    return outcome;
  }

  void print(const Model& model, const Outcome& under, const Outcome& all, const std::string& differs) const {
    Table table;
    table.row("model",
              fmt::format("{}, {} parameters, {} steps", model.name, model.parameter_count(), steps_));
    table.row("budget", fmt::format("{} ({} bytes)", format_bytes(under.budget), under.budget));
    table.row("peak", fmt::format("{} predicted, {} measured", format_bytes(under.predicted),
                                  format_bytes(under.measured)));
    table.row("libraries", describe(under.libraries));
    table.row("store all", fmt::format("{} measured", format_bytes(all.measured)));
    table.row("CPU time", fmt::format("{} a step vs {} with everything kept",
                                      format_seconds(under.seconds / static_cast<double>(steps_)),
                                      format_seconds(all.seconds / static_cast<double>(steps_))));
    table.row("loss", fmt::format("{} after {} steps", under.losses.back(), steps_ - 1));
    table.row("bits", differs.empty() ? "the same" : "differ first in " + differs);
    table.print();
  }

  ModelSource model_;
  std::string budget_, time_ = "1s";
  std::int64_t steps_ = 2, seed_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> verify_verb() { return std::make_unique<VerifyVerb>(); }

}  // namespace tidemark::cli
