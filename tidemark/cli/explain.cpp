// tidemark explain: what a plan did with a value, and why.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/explain.h"

#include <fmt/core.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/cli/planned.h"
#include "tidemark/plan/bound.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t kMostShown = 20;

class ExplainVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.positional("value", name_, "A buffer's name, or a pattern: 'blocks.3.*'");
    plan_.declare(args);
    args.flag("--json", json_,
              "Print a list of {name, buffer, bytes, done, makes, uses, seconds_spent, live_if_kept, "
              "remake_seconds}");
    args.footer(
        "Exit code 2: nothing has that name.\n"
        "Example: tidemark explain gpt2-124m 'blocks.3.*' --batch 4 --seq 256 --budget 60%");
  }

  int run() override {
    const Asked asked = ask(source_);
    std::vector<plan::BufferId> found;
    for (std::size_t b = 0; b < asked.problem.buffers.size(); ++b) {
      if (glob_match(name_, asked.problem.buffers[b].name)) found.push_back(static_cast<plan::BufferId>(b));
    }
    if (found.empty()) {
      say("[explain] no value is called '{}'; near it: {}", name_, near(asked.problem));
      return Exit::no;
    }
    const plan::Plan plan = plan_.get(asked.problem, "explain");
    if (was_interrupted() && !is_answer(plan)) return interrupted_planning(false);
    const Telling telling(asked.problem, plan, asked.labels);
    json_ ? print_json(telling.told, found) : print_text(telling.told, found);
    return was_interrupted() ? interrupted_planning(true) : Exit::done;
  }

 private:
  // Names that hold the text asked for, or its first part.
  std::string near(const plan::Problem& problem) const {
    std::vector<std::string> names;
    for (const std::string& part : {name_, split(name_, '.')[0], std::string()}) {
      for (const plan::Buffer& b : problem.buffers) {
        const bool new_one = names.empty() || names.back() != b.name;
        if (names.size() < 5 && !b.name.empty() && new_one && b.name.find(part) != std::string::npos)
          names.push_back(b.name);
      }
      if (!names.empty()) break;
    }
    return join(names, ", ");
  }

  static void print_json(const Told& told, const std::vector<plan::BufferId>& found) {
    JsonWriter w;
    w.begin_array();
    for (const plan::BufferId b : found) {
      const Fate& f = told.fates[static_cast<std::size_t>(b)];
      w.new_line().begin_object().field("name", told.problem.buffers[static_cast<std::size_t>(b)].name);
      w.field("buffer", static_cast<std::int64_t>(b))
          .field("bytes", told.problem.size(b))
          .field("done", name_of(f.kind));
      w.field("makes", static_cast<std::int64_t>(f.makes))
          .field("uses", static_cast<std::int64_t>(f.uses))
          .field("seconds_spent", f.spent);
      if (f.live_if_kept >= 0) w.field("live_if_kept", f.live_if_kept);
      if (f.remake_seconds >= 0) w.field("remake_seconds", f.remake_seconds);
      w.end_object();
    }
    w.new_line().end_array();
    fmt::print("{}\n", w.text());
  }

  static void print_text(const Told& told, std::vector<plan::BufferId> found) {
    // The largest first: what is asked of a pattern is mostly where the memory went.
    std::stable_sort(found.begin(), found.end(), [&](plan::BufferId a, plan::BufferId b) {
      return told.problem.size(a) > told.problem.size(b);
    });
    const std::size_t shown = std::min(found.size(), kMostShown);
    for (std::size_t i = 0; i < shown; ++i) {
      Table table;
      for (auto& [what, text] : explain(told, found[i])) table.row(what, text);
      table.print();
      fmt::print("\n");
    }
    if (shown < found.size()) fmt::print("and {} smaller ones\n", found.size() - shown);
    if (told.plan.budget >= 0) {
      const plan::BoundResult bound =
          plan::bound(told.problem, {.budget = told.plan.budget, .time_limit = 0.5});
      if (!bound.infeasible)
        fmt::print("a GiB less of budget would raise the bound by {} or so\n",
                   format_seconds(bound.price * 0x1p30));
    }
  }

  ProblemSource source_;
  std::string name_;
  PlanSource plan_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> explain_verb() { return std::make_unique<ExplainVerb>(); }

}  // namespace tidemark::cli
