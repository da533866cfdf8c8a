// tidemark frontier: time against budget, as a table and a plot.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/frontier.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/solve_options.h"
#include "tidemark/plan/budget.h"

namespace tidemark::cli {
namespace {

constexpr int kPlotWidth = 64, kPlotHeight = 14;

// '*' plans, '.' what is proven: nothing lies below.
void plot(const std::vector<plan::FrontierPoint>& points) {
  if (points.size() < 2) return;
  const auto left = static_cast<double>(points.front().budget),
             right = static_cast<double>(points.back().budget);
  double low = points[0].plan.seconds, high = low;
  for (const plan::FrontierPoint& p : points) {
    low = std::min({low, p.plan.seconds, p.seconds_bound});
    high = std::max(high, p.plan.seconds);
  }
  std::vector<std::string> lines(kPlotHeight, std::string(kPlotWidth, ' '));
  const auto mark = [&](double budget, double seconds, char c) {
    const double x = right > left ? (budget - left) / (right - left) : 0,
                 y = high > low * (1 + 1e-9) ? (seconds - low) / (high - low) : 0;
    lines[static_cast<std::size_t>(std::lround((1 - y) * (kPlotHeight - 1)))]
         [static_cast<std::size_t>(std::lround(x * (kPlotWidth - 1)))] = c;
  };
  for (const char c : {'.', '*'}) {
    for (const plan::FrontierPoint& p : points)
      mark(static_cast<double>(p.budget), c == '*' ? p.plan.seconds : p.seconds_bound, c);
  }
  fmt::print("\n");
  for (int i = 0; i < kPlotHeight; ++i) {
    const std::string label = i == 0 ? format_seconds(high) : i == kPlotHeight - 1 ? format_seconds(low) : "";
    fmt::print("{:>12} |{}\n", label, lines[static_cast<std::size_t>(i)]);
  }
  fmt::print("{:>12} +{}\n{:>14}{:<{}}{:>12}\n", "", std::string(kPlotWidth, '-'), "",
             format_bytes(points.front().budget), kPlotWidth - 12, format_bytes(points.back().budget));
  fmt::print("{:>14}*: the plan   .: proven, no plan is faster\n", "");
}

class FrontierVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.option("--points", points_, "Budgets to plan for");
    options_.declare(args);
    args.flag("--json", json_, "Print a list of {budget, peak, seconds, seconds_bound, seconds_per_gib}");
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
    if (points.empty() && !was_interrupted()) {
      plan::Options any = options_.get();
      any.effort = 0;
      say("[frontier] no plan at any budget: {}", why_infeasible(plan::solve(problem, any)));
      return Exit::no;
    }
    json_ ? print_json(points) : print_table(problem, points);
    if (was_interrupted()) {
      say("interrupted; these are the points so far");
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
      w.field("seconds", p.plan.seconds).field("seconds_bound", p.seconds_bound);
      w.field("seconds_per_gib", p.seconds_per_gib).end_object();
    }
    w.new_line().end_array();
    fmt::print("{}\n", w.text());
  }

  static void print_table(const plan::Problem& problem, const std::vector<plan::FrontierPoint>& points) {
    const double floor = plan::floor_seconds(problem);
    fmt::print("{}\n", strong(fmt::format("{:>12} {:>12} {:>12} {:>10} {:>10} {:>12}", "budget", "peak",
                                          "time", "over floor", "gap", "a GiB saves")));
    for (const plan::FrontierPoint& p : points) {
      const double over = floor > 0 ? p.plan.seconds / floor - 1 : 0;
      const double gap = p.seconds_bound > 0 ? p.plan.seconds / p.seconds_bound - 1 : 0;
      fmt::print("{:>12} {:>12} {:>12} {:>10} {:>10} {:>12}\n", format_bytes(p.budget),
                 format_bytes(p.plan.peak), format_seconds(p.plan.seconds), format_percent(over),
                 format_percent(gap), p.seconds_per_gib > 0 ? format_seconds(p.seconds_per_gib) : "-");
    }
    plot(points);
  }

  ProblemSource source_;
  std::int64_t points_ = 12;
  SolveOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> frontier_verb() { return std::make_unique<FrontierVerb>(); }

}  // namespace tidemark::cli
