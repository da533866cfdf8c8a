// tidemark report: a plan as a page to look at, or as a trace for Perfetto.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/report.h"

#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/cli/planned.h"
#include "tidemark/plan/frontier.h"

namespace tidemark::cli {
namespace {

class ReportVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    plan_.declare(args);
    args.option("--points", points_, "Budgets of the curve of time against memory; 0: no curve");
    args.option("--point-time", point_time_, "CPU time for each of them");
    args.option("--diff", other_, "A second plan.json of the same problem: what differs, and its profile");
    args.option("--title", title_, "Heading of the page; the problem's name otherwise");
    args.option("--perfetto", perfetto_, "Also write a trace for Perfetto or chrome://tracing there");
    args.option("-o,--output", output_, "The page (report.html)");
    args.flag("--json", json_, "Print {page, trace, peak}");
    args.footer("Example: tidemark report problem.json --budget 50% -o report.html");
  }

  int run() override {
    if (points_ < 0 || points_ > 1000 || points_ == 1)
      fail(Error::Kind::usage, "[report] --points {} vs 0, or between 2 and 1000", points_);
    const double point_time = parse_seconds(point_time_);
    expect_writable(output_);
    expect_writable(perfetto_);
    const Asked asked = ask(source_);
    const plan::Plan plan = plan_.get(asked.problem, "report");
    if (!is_answer(plan)) return interrupted_planning(false);
    plan::Plan other;
    if (!other_.empty()) other = read_plan_file(asked.problem, other_);
    const std::vector<FrontierPoint> curve = points_ > 0 && !was_interrupted()
                                                 ? frontier(asked.problem, plan, point_time)
                                                 : std::vector<FrontierPoint>();
    write_file(output_, html_report(asked.problem, plan,
                                    {.title = title_,
                                     .frontier = curve,
                                     .other = other_.empty() ? nullptr : &other,
                                     .labels = &asked.labels}));
    if (!perfetto_.empty()) write_file(perfetto_, perfetto_trace(asked.problem, plan));
    if (json_) {
      JsonWriter w;
      w.begin_object().field("page", output_);
      if (!perfetto_.empty()) w.field("trace", perfetto_);
      fmt::print("{}\n", w.field("peak", plan.peak).end_object().text());
    } else {
      Table table;
      table.row("page", output_);
      if (!perfetto_.empty()) table.row("trace", perfetto_);
      table.row("peak", format_bytes(plan.peak));
      table.print();
    }
    return was_interrupted() ? interrupted_planning(true) : Exit::done;
  }

 private:
  std::vector<FrontierPoint> frontier(const plan::Problem& problem, const plan::Plan& plan,
                                      double point_time) const {
    ProgressLine line;
    plan::FrontierOptions options{.points = static_cast<int>(points_)};
    options.solve.time_limit = point_time;
    options.solve.offsets = plan.has_arena;
    options.solve.progress = progress_on(line);
    std::vector<FrontierPoint> curve;
    for (const plan::FrontierPoint& p : plan::frontier(problem, options))
      curve.push_back({p.budget, p.plan.peak, p.plan.seconds, p.seconds_bound});
    return curve;
  }

  ProblemSource source_;
  PlanSource plan_;
  std::string other_, title_, perfetto_, output_ = "report.html", point_time_ = "300ms";
  std::int64_t points_ = 8;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> report_verb() { return std::make_unique<ReportVerb>(); }

}  // namespace tidemark::cli
