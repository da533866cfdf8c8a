// tidemark emit: the planned training step of a model as one C++ file.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

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
    args.option("-b,--budget", budget_,
                "8GiB, 60% of what storing all takes beyond the resident buffers, or min");
    args.option("-t,--time", time_, "CPU time to plan for, e.g. 1s or 500ms");
    args.option("-o,--output", output_, "Write the file there instead of to standard output");
    args.footer(
        "A loop for each task, one arena with its offsets, libm and nothing else. Products are plain loops; "
        "an op that has\n"
        "none (convolutions, attention and others) is refused by name.\n"
        "Example: tidemark emit mlp --budget 60% -o step.cpp");
  }
  int run() override {
    expect_writable(output_);
    CompileOptions options =
        model_.compile_options(budget_.empty() ? Budget() : parse_memory(budget_), parse_seconds(time_));
    options.name = model_.name;
    const Compiled compiled(model_.step_graph(), options, model_.device());
    const std::string text = compiled.emitted();
    if (output_.empty()) {
      fmt::print("{}", text);
      return Exit::done;
    }
    write_file(output_, text);
    Table table;
    table.row("written", output_);
    table.row("lines", fmt::format("{}", std::count(text.begin(), text.end(), '\n')));
    table.row("tasks", fmt::format("{}", compiled.program().instrs.size()));
    table.row("arena", format_bytes(compiled.program().arena_bytes));
    table.row("peak", format_bytes(compiled.peak_predicted()));
    table.print();
    return Exit::done;
  }

 private:
  ModelSource model_;
  std::string budget_, time_ = "1s", output_;
};

}  // namespace

std::unique_ptr<Command> emit_verb() { return std::make_unique<EmitVerb>(); }

}  // namespace tidemark::cli
