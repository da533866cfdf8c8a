// tidemark report: a plan as a page to look at, or as a trace for Perfetto.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/report.h"

#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/solve_options.h"
#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/verb.h"
#include "tidemark/plan/budget.h"

namespace tidemark::cli {
namespace {

class ReportVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.option("--plan", plan_, "plan.json to show; without it the problem is planned now");
    args.option("-b,--budget", budget_, "Without --plan: 8GiB, or 60% of what storing all takes beyond the resident buffers");
    options_.declare(args);
    args.option("--diff", other_, "A second plan.json of the same problem: a table of what differs");
    args.option("--title", title_, "Heading of the page; the problem's name otherwise");
    args.option("--perfetto", perfetto_, "Also write a trace for Perfetto or chrome://tracing there");
    args.option("-o,--output", output_, "The page (report.html)");
    args.footer("Example: tidemark report problem.json --budget 50% -o report.html");
  }

  int run() override {
    expect_writable(output_);
    expect_writable(perfetto_);
    const plan::Problem problem = source_.get();
    plan::Plan plan;
    if (!plan_.empty()) {
      plan = plan::read_plan(problem, read_file(plan_));
    } else {
      plan::Options options = options_.get();
      options.budget = plan::parse_budget(problem, budget_);
      ProgressLine line;
      options.progress = progress_on(line);
      plan = plan::solve(problem, options);
      if (plan.steps.empty() && !problem.tasks.empty()) {
        fmt::print(stderr, "tidemark: [report] no plan for {}: {}\n", budget_, plan.reason);
        return Exit::no;
      }
    }
    plan::Plan other;
    if (!other_.empty()) other = plan::read_plan(problem, read_file(other_));
    write_file(output_, html_report(problem, plan, {.title = title_, .other = other_.empty() ? nullptr : &other}));
    if (!perfetto_.empty()) write_file(perfetto_, perfetto_trace(problem, plan));
    Table table;
    table.row("page", output_);
    if (!perfetto_.empty()) table.row("trace", perfetto_);
    table.row("peak", format_bytes(plan.peak));
    table.print();
    return was_interrupted() ? Exit::interrupted : Exit::done;
  }

 private:
  ProblemSource source_;
  std::string plan_, budget_ = "100%", other_, title_, perfetto_, output_ = "report.html";
  SolveOptions options_;
};

}  // namespace

std::unique_ptr<Command> report_verb() { return std::make_unique<ReportVerb>(); }

}  // namespace tidemark::cli
