// tidemark train: a model of the zoo, trained for real inside a budget, with checkpoints that a run resumes from exactly.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/checkpoint.h"
#include "tidemark/cli/data_source.h"
#include "tidemark/cli/terminal.h"

namespace tidemark::cli {
namespace {

class TrainVerb : public Command {
 public:
  void declare(Args& args) override {
    model_.declare_name(args);
    args.option("-b,--budget", budget_, kBudget + "; without it everything is kept");
    args.option("--data", data_,
                "A text file or folder; or IDX, CIFAR .bin or folders of pictures by class; without it, "
                "synthetic");
    model_.declare(args);
    model_.means.declare_running(args);
    args.option("--steps", steps_, "Train until so many steps are done");
    args.option("--rate", model_.rate, "The learning rate");
    args.option("--clip", model_.clip, "Largest norm of all gradients together; 0: as they are");
    args.option(
        "--seed", seed_,
        "Of the parameters and of what is drawn from the data; 0 unless given, a resumed run keeps its own");
    args.option("--checkpoint", checkpoint_,
                "Write a safetensors file there, every so many steps, at the end and at Ctrl-C");
    args.option("--every", every_, "Steps between checkpoints; 100 unless given");
    args.option("--resume", resume_,
                "Go on from this checkpoint; new ones go there too unless --checkpoint says otherwise");
    args.option("--print", print_, "Steps between lines");
    args.option("-t,--time", time_, "CPU time to plan for, e.g. 1s or 500ms");
    args.flag("--json", json_,
              "Print a list of {step, loss, samples_per_second, peak, libraries}, one a line as they come");
    args.footer(
        "Text is read as bytes: vocab is then 256, and for pictures classes is what the data has, unless "
        "--set says otherwise.\n"
        "A resumed run gives the bits that an uninterrupted one gives. Exit code 2: the budget is too small, "
        "or the loss is no number.\n"
        "Example: tidemark train gpt2-124m --set width=64,depth=2,heads=2 --batch 8 --seq 64 --budget 60% "
        "--steps 50 --checkpoint gpt.safetensors");
  }

  int run() override {
    const auto expect = [](const char* what, std::int64_t n) {
      if (n < 1) fail(Error::Kind::usage, "[train] {} {} vs at least 1", what, n);
    };
    expect("--steps", steps_);
    expect("--every", every_.value_or(100));
    expect("--print", print_);
    if (!(model_.rate > 0)) fail(Error::Kind::usage, "[train] --rate {} vs above 0", model_.rate);
    if (!(model_.clip >= 0)) fail(Error::Kind::usage, "[train] --clip {} vs 0 or more", model_.clip);
    if (checkpoint_.empty()) checkpoint_ = resume_;
    if (every_ && checkpoint_.empty())
      fail(Error::Kind::usage, "[train] --every {} without --checkpoint: there is no file to write", *every_);
    expect_writable(checkpoint_);
    const Budget budget = budget_.empty() ? Budget() : parse_memory(budget_);
    const double time_limit = parse_seconds(time_);
    const DataSource data(model_.model(), data_);
    adapt_sizes(data);
    data.expect_fits(model_.model());
    // Before the planning: what is wrong with the file is said at once.
    if (!resume_.empty()) adopt(checkpoint_metadata(resume_));

    std::optional<Training> training;
    {
      ProgressLine line;
      line.show("planning");
      training.emplace(model_, Training::Asked{.verb = "train", .memory = budget, .time_limit = time_limit});
    }
    std::int64_t step = 0;
    if (resume_.empty()) {
      training->start(seed());
    } else {
      Checkpoint from = read_checkpoint(resume_, training->model(), training->abstract_state());
      step = from.step;
      training->start(std::move(from.state));
    }
    say_what(*training, data, step);
    return train(*training, data, step);
  }

 private:
  std::uint64_t seed() const { return static_cast<std::uint64_t>(seed_.value_or(0)); }

  void adapt_sizes(const DataSource& data) {
    const auto wanted = data.wanted();
    const bool said = std::any_of(model_.sizes.begin(), model_.sizes.end(),
                                  [&](const std::string& s) { return s.starts_with(wanted.first + "="); });
    if (!said) model_.sizes.push_back(fmt::format("{}={}", wanted.first, wanted.second));
  }

  SafeMetadata about(std::int64_t step) const {
    std::vector<std::string> sizes = model_.sizes;
    std::sort(sizes.begin(), sizes.end());
    return {{"model", model_.name},
            {"sizes", join(sizes, ",")},
            {"batch", std::to_string(model_.batch.value_or(0))},
            {"size", std::to_string(model_.size.value_or(0))},
            {"seq", std::to_string(model_.seq.value_or(0))},
            {"optimizer", model_.optimizer.empty() ? "adamw" : model_.optimizer},
            {"dtype", model_.dtype.empty() ? "f32" : model_.dtype},
            {"rate", fmt::format("{}", model_.rate)},
            {"clip", fmt::format("{}", model_.clip)},
            {"seed", std::to_string(seed())},
            {"data", data_},
            {"step", std::to_string(step)}};
  }

  // The run that the checkpoint is of goes on; what was asked for differently is said.
  void adopt(SafeMetadata before) {
    if (before["model"] != model_.name)
      fail(Error::Kind::usage, "[train] {} is of {}, not {}", resume_, before["model"], model_.name);
    const std::string& text = before["seed"];
    std::int64_t kept = 0;
    std::from_chars(text.data(), text.data() + text.size(), kept);
    if (seed_ && *seed_ != kept)
      fail(Error::Kind::usage,
           "[train] --seed {} vs {} of the run that {} is of; a resumed run keeps its seed: leave --seed out",
           *seed_, kept, resume_);
    seed_ = kept;
    for (const auto& [what, now] : about(0)) {
      if (what != "step" && before[what] != now)
        fmt::print(
            stderr,
            "tidemark: [train] {} was '{}' and is now '{}': this is not the run that was interrupted\n", what,
            before[what], now);
    }
  }

  void say_what(const Training& training, const DataSource& data, std::int64_t step) const {
    if (json_) {
      fmt::print("[");
      std::fflush(stdout);
      return;
    }
    const plan::Plan& plan = training.compiled().plan();
    Table table;
    table.row("model", fmt::format("{} ({}), {} parameters", model_.name, join(model_.sizes, ","),
                                   training.model().parameter_count()));
    table.row("data", data.description());
    table.row("budget", plan.budget < 0 ? "none: everything is kept" : format_bytes(plan.budget));
    table.row("peak", fmt::format("{} predicted", format_bytes(plan.peak)));
    if (const int parts = training.compiled().micro_batches(); parts > 1)
      table.row("micro-batches", fmt::format("{}", parts));
    if (step > 0) table.row("resumed", fmt::format("{} at step {}", resume_, step));
    table.print();
    std::fflush(stdout);
  }

  int train(Training& training, const DataSource& data, std::int64_t step) {
    const std::int64_t first = step;
    const auto samples = static_cast<double>(training.model().batch[0].type.shape[0]);
    double loss = 0, since = wall_seconds();
    std::int64_t counted = 0;
    bool whole = true;
    std::string wrong;
    while (step < steps_ && !was_interrupted()) {
      loss = static_cast<double>(training.step(data.batch(training.model(), seed(), step)));
      ++step;
      ++counted;
      if (!std::isfinite(loss)) {
        wrong = fmt::format("the loss of step {} is {}; a lower --rate may help", step, loss);
        break;
      }
      whole = false;
      if (step % print_ == 0 || step == steps_ || step == first + 1) {
        const double now = wall_seconds();
        print_line(step, loss, samples * static_cast<double>(counted) / std::max(now - since, 1e-9),
                   training.compiled());
        since = now;
        counted = 0;
      }
      if (!checkpoint_.empty() && step % every_.value_or(100) == 0) {
        write_checkpoint(checkpoint_, training.model(), training.state(), about(step));
        whole = true;
      }
    }
    if (json_) fmt::print("\n]\n");
    if (!json_ && step > first) fmt::print("libraries   {}\n", describe(training.compiled().libraries()));
    if (!wrong.empty()) {
      say("[train] {}", wrong);
      return Exit::no;
    }
    if (!checkpoint_.empty() && !whole)
      write_checkpoint(checkpoint_, training.model(), training.state(), about(step));
    // Where no step was run, there is none but what it went on from.
    const bool written = !checkpoint_.empty() && step > first;
    if (!json_ && written) fmt::print("checkpoint  {} at step {}\n", checkpoint_, step);
    if (was_interrupted()) {
      say("interrupted after step {}{}", step,
          checkpoint_.empty() ? "; no checkpoint was asked for"
          : written           ? "; the checkpoint is whole"
                              : "; nothing was written");
      return Exit::interrupted;
    }
    return Exit::done;
  }

  void print_line(std::int64_t step, double loss, double rate, const Compiled& compiled) {
    if (json_) {
      JsonWriter w;
      w.begin_object()
          .field("step", step)
          .field("loss", loss)
          .field("samples_per_second", rate)
          .field("peak", compiled.peak_measured());
      write_libraries(w, compiled.libraries());
      w.end_object();
      fmt::print("{}\n{}", printed_ ? "," : "", w.text());
    } else {
      fmt::print("step {:>6}   loss {:<10.6g} {:>9.1f} samples/s   peak {}\n", step, loss, rate,
                 format_bytes(compiled.peak_measured()));
    }
    printed_ = true;
    std::fflush(stdout);
  }

  ModelSource model_;
  std::string budget_, data_, checkpoint_, resume_, time_ = "1s";
  std::int64_t steps_ = 100, print_ = 10;
  std::optional<std::int64_t> every_, seed_;
  bool json_ = false, printed_ = false;
};

}  // namespace

std::unique_ptr<Command> train_verb() { return std::make_unique<TrainVerb>(); }

}  // namespace tidemark::cli
