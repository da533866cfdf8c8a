// tidemark pose: the training step of a model as a problem file.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/planned.h"
#include "tidemark/plan/budget.h"

namespace tidemark::cli {
namespace {

class PoseVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.option("-o,--output", output_, "Write the problem there instead of to standard output");
    args.flag("--json", json_, "With -o: print {tasks, buffers, resident, store_all}");
    args.footer("Example: tidemark pose gpt2-124m --batch 1 --seq 256 -o problem.json");
  }
  int run() override {
    expect_writable(output_);
    if (json_ && output_.empty())
      fail(Error::Kind::usage, "[pose] --json without -o: the problem itself goes to standard output");
    const Asked asked = ask(source_);
    const plan::Problem& problem = asked.problem;
    std::string text = plan::write_problem(problem);
    if (!asked.labels.type.empty()) text = with_labels(text, asked.labels);
    if (output_.empty()) {
      fmt::print("{}", text);
      return Exit::done;
    }
    write_file(output_, text);
    if (json_) {
      JsonWriter w;
      w.begin_object()
          .field("tasks", static_cast<std::int64_t>(problem.tasks.size()))
          .field("buffers", static_cast<std::int64_t>(problem.buffers.size()));
      w.field("resident", plan::resident_bytes(problem))
          .field("store_all", plan::store_all_live_peak(problem))
          .end_object();
      fmt::print("{}\n", w.text());
      return Exit::done;
    }
    Table table;
    table.row("written", output_);
    table.row("tasks", fmt::format("{}", problem.tasks.size()));
    table.row("buffers", fmt::format("{}", problem.buffers.size()));
    table.row("resident", format_bytes(plan::resident_bytes(problem)));
    table.row("keeping everything", format_bytes(plan::store_all_live_peak(problem)));
    table.print();
    return Exit::done;
  }

 private:
  ProblemSource source_;
  std::string output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> pose_verb() { return std::make_unique<PoseVerb>(); }

}  // namespace tidemark::cli
