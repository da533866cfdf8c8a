// tidemark show: a model's graph, its gradient, its training step or a planned program as text.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/cli/planned.h"
#include "tidemark/cli/training.h"
#include "tidemark/compile/optimise.h"
#include "tidemark/front/trace.h"

namespace tidemark::cli {
namespace {

class ShowVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.option("--what", what_,
                "graph (the loss), gradient, step (optimised, as it is posed) or program (planned)");
    args.choices("--what", {"graph", "gradient", "step", "program"});
    plan_.declare(args);
    args.option("--find", find_, "Only lines that match, e.g. '*attention*'");
    args.option("-o,--output", output_, "Write the text there instead of to standard output");
    args.flag("--json", json_, "Print {what, lines}");
    args.footer(
        "A problem file has a program only. The text form of a graph can be read back; the user's lines are "
        "comments.\n"
        "Example: tidemark show mlp --what gradient");
  }

  int run() override {
    expect_writable(output_);
    const std::string text = this->text();
    if (text.empty()) return interrupted_planning(false);
    std::vector<std::string> lines = split(text, '\n');
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    if (!find_.empty()) std::erase_if(lines, [&](const std::string& l) { return !glob_match(find_, l); });
    const std::string out = json_ ? as_json(lines) : join(lines, "\n") + (lines.empty() ? "" : "\n");
    if (output_.empty()) {
      std::fwrite(out.data(), 1, out.size(), stdout);
    } else {
      write_file(output_, out);
    }
    if (lines.empty()) {
      say("[show] no line matches '{}'", find_);
      return Exit::no;
    }
    return was_interrupted() ? interrupted_planning(true) : Exit::done;
  }

 private:
  // "" only where Ctrl-C came before there was a plan.
  std::string text() const {
    if (what_ != "graph" && what_ != "gradient" && what_ != "step" && what_ != "program")
      fail(Error::Kind::usage, "[show] --what {} is none of graph, gradient, step, program", what_);
    if (what_ == "program") {
      const Asked asked = ask(source_);
      const plan::Plan plan = plan_.get(asked.problem, "show");
      if (!is_answer(plan)) return "";
      const Telling telling(asked.problem, plan, asked.labels);
      return program_text(telling.told);
    }
    if (source_.is_file()) fail(Error::Kind::usage, "[show] a problem file has no {}; --what program", what_);
    const ModelSource& source = source_.model();
    if (what_ == "step") return print(optimise(source.step_graph()));
    const Model model = source.model();
    Init shapes({.abstract = true});
    const Tensors params = model.parameters(shapes), state = model.state(shapes),
                  batch = abstract_batch(model);
    if (what_ == "gradient") {
      return print(trace([&](const Tensors& p, const Tensors& s,
                             const Tensors& b) { return loss_and_grads(model, p, s, b); },
                         params, state, batch));
    }
    return print(trace(
        [&](const Tensors& p, const Tensors& s, const Tensors& b) {
          Tensors next = s;
          return model.loss(p, next, b);
        },
        params, state, batch));
  }

  std::string as_json(const std::vector<std::string>& lines) const {
    JsonWriter w;
    w.begin_object().field("what", what_).key("lines").begin_array();
    for (const std::string& l : lines) w.new_line().value(std::string_view(l));
    w.new_line().end_array().end_object();
    return w.take() + "\n";
  }

  ProblemSource source_;
  PlanSource plan_;
  std::string what_ = "graph", find_, output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> show_verb() { return std::make_unique<ShowVerb>(); }

}  // namespace tidemark::cli
