// tidemark frontier: time against budget, as a table with a plot beside it.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/frontier.h"

#include <fmt/core.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/solve_options.h"
#include "tidemark/plan/budget.h"

namespace tidemark::cli {
namespace {

constexpr double kPlotWidth = 32;

class FrontierVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.option("--points", points_, "Budgets to plan for");
    options_.declare(args);
    args.flag("--json", json_, "Print a list of {budget, peak, seconds, seconds_bound}");
    args.footer(
        "The time is for each point. Budgets go from the smallest that was planned to the one that keeps "
        "everything.\n"
        "Example: tidemark frontier problem.json --points 8 --time 500ms");
  }

  int run() override {
    if (points_ < 2 || points_ > 1000)
      fail(Error::Kind::usage, "[frontier] --points {} vs between 2 and 1000", points_);
    plan::FrontierOptions options{.points = static_cast<int>(points_), .solve = options_.get()};
    const plan::Problem problem = source_.get();
    std::vector<plan::FrontierPoint> points;
    {
      ProgressLine line;
      options.solve.progress = progress_on(line);
      points = plan::frontier(problem, options);
    }
    json_ ? print_json(points) : print_table(problem, points);
    if (was_interrupted()) {
      fmt::print(stderr, "tidemark: interrupted; these are the points so far\n");
      return Exit::interrupted;
    }
    return Exit::done;
  }

 private:
  static void print_json(const std::vector<plan::FrontierPoint>& points) {
    JsonWriter w;
    w.begin_array();
    for (const plan::FrontierPoint& p : points) {
      w.new_line().begin_object().field("budget", p.budget).field("peak", p.plan.peak);
      w.field("seconds", p.plan.seconds).field("seconds_bound", p.seconds_bound).end_object();
    }
    w.new_line().end_array();
    fmt::print("{}\n", w.text());
  }

  static void print_table(const plan::Problem& problem, const std::vector<plan::FrontierPoint>& points) {
    const double floor = plan::floor_seconds(problem);
    double most = 0;
    for (const plan::FrontierPoint& p : points) most = std::max(most, p.plan.seconds - floor);
    fmt::print("{:>12} {:>12} {:>12} {:>10} {:>10} {:>12}\n", "budget", "peak", "time", "over floor", "gap",
               "a GiB saves");
    for (const plan::FrontierPoint& p : points) {
      const double over = floor > 0 ? p.plan.seconds / floor - 1 : 0;
      const double gap = p.seconds_bound > 0 ? p.plan.seconds / p.seconds_bound - 1 : 0;
      const auto bar =
          static_cast<std::size_t>(most > 0 ? kPlotWidth * (p.plan.seconds - floor) / most + 0.5 : 0);
      fmt::print("{:>12} {:>12} {:>12} {:>10} {:>10} {:>12}  |{}\n", format_bytes(p.budget),
                 format_bytes(p.plan.peak), format_seconds(p.plan.seconds), format_percent(over),
                 format_percent(gap), p.seconds_per_gib > 0 ? format_seconds(p.seconds_per_gib) : "-",
                 std::string(bar, '#'));
    }
  }

  ProblemSource source_;
  std::int64_t points_ = 12;
  SolveOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> frontier_verb() { return std::make_unique<FrontierVerb>(); }

}  // namespace tidemark::cli
