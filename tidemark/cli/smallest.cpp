// tidemark smallest: the least budget for which a plan is found, and why no plan needs less than its bound.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/smallest.h"

#include <fmt/core.h>

#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/solve_options.h"

namespace tidemark::cli {
namespace {

class SmallestVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    options_.declare(args);
    args.option("-o,--output", output_, "Write the plan there");
    args.flag(
        "--json", json_,
        "Print {smallest_peak, peak_bound, seconds, why}; the first and third only where there is a plan");
    args.footer("Example: tidemark smallest problem.json --time 2s");
  }

  int run() override {
    expect_writable(output_);
    plan::Options options = options_.get();
    const plan::Problem problem = source_.get();
    plan::SmallestPeak least;
    {
      ProgressLine line;
      options.progress = progress_on(line);
      least = plan::smallest_peak(problem, options);
    }
    if (!output_.empty()) write_file(output_, plan::write_plan(problem, least.plan));
    const bool answered = least.budget >= 0;
    if (json_) {
      JsonWriter w;
      w.begin_object();
      if (answered) w.field("smallest_peak", least.budget);
      w.field("peak_bound", least.bound);
      if (answered) w.field("seconds", least.plan.seconds);
      w.field("why", answered ? least.why : least.plan.reason).end_object();
      fmt::print("{}\n", w.text());
    } else if (answered) {
      Table table;
      add_rows(table, problem, least.plan);
      table.row("smallest", fmt::format("{} ({} bytes)", format_bytes(least.budget), least.budget));
      table.row("proven",
                fmt::format("{} ({} bytes) at least, {} below", format_bytes(least.bound), least.bound,
                            format_percent(1 - static_cast<double>(least.bound) /
                                                   static_cast<double>(std::max<Bytes>(least.budget, 1)))));
      table.row("why", least.why);
      table.print();
    }
    if (!answered) {
      say("[smallest] no plan at any budget: {}", why_infeasible(least.plan));
      return was_interrupted() ? Exit::interrupted : Exit::no;
    }
    if (was_interrupted()) say("interrupted; this is the smallest so far");
    return was_interrupted() ? Exit::interrupted : Exit::done;
  }

 private:
  ProblemSource source_;
  std::string output_;
  SolveOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> smallest_verb() { return std::make_unique<SmallestVerb>(); }

}  // namespace tidemark::cli
