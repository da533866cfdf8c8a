// tidemark emit: the planned training step of a model as one C++ file.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/model_source.h"
#include "tidemark/cli/terminal.h"

namespace tidemark::cli {
namespace {

class EmitVerb : public Command {
 public:
  void declare(Args& args) override {
    model_.declare_name(args);
    model_.declare(args);
    args.option("-b,--budget", budget_, kBudget);
    args.option("-t,--time", time_, "CPU time to plan for, e.g. 1s or 500ms");
    args.option("-o,--output", output_, "Write the file there instead of to standard output");
    args.flag("--json", json_, "With -o: print {lines, tasks, arena, peak}");
    args.footer(
        "A loop for each task, one arena with its offsets, libm and nothing else. Products, convolutions and "
        "attention are plain\n"
        "loops; an op that has none (sort, random numbers and others) is refused by name.\n"
        "Example: tidemark emit mlp --batch 512 --budget 90% -o step.cpp");
  }
  int run() override {
    expect_writable(output_);
    if (json_ && output_.empty())
      fail(Error::Kind::usage, "[emit] --json without -o: the file itself goes to standard output");
    CompileOptions options =
        model_.compile_options(budget_.empty() ? Budget() : parse_memory(budget_), parse_seconds(time_));
    options.name = model_.name;
    options.makers = false;  // codecs and masks are kernels, and the file is to need none
    const Compiled compiled = [&] {
      const EndAtInterrupt nothing_to_keep;
      return Compiled(model_.step_graph(), options, model_.device());
    }();
    const std::string text = compiled.emitted();
    if (output_.empty()) {
      fmt::print("{}", text);
      return Exit::done;
    }
    write_file(output_, text);
    const std::int64_t lines = std::count(text.begin(), text.end(), '\n');
    const auto tasks = static_cast<std::int64_t>(compiled.program().instrs.size());
    if (json_) {
      JsonWriter w;
      w.begin_object().field("lines", lines).field("tasks", tasks);
      w.field("arena", compiled.program().arena_bytes).field("peak", compiled.peak_predicted()).end_object();
      fmt::print("{}\n", w.text());
      return Exit::done;
    }
    Table table;
    table.row("written", output_);
    table.row("lines", fmt::format("{}", lines));
    table.row("tasks", fmt::format("{}", tasks));
    table.row("arena", format_bytes(compiled.program().arena_bytes));
    table.row("peak", format_bytes(compiled.peak_predicted()));
    table.print();
    return Exit::done;
  }

 private:
  ModelSource model_;
  std::string budget_, time_ = "1s", output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> emit_verb() { return std::make_unique<EmitVerb>(); }

}  // namespace tidemark::cli
