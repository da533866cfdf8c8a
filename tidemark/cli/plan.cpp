// tidemark plan: a problem and a budget in, a plan out.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/plan.h"

#include <fmt/core.h>

#include <cmath>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/cli/planned.h"
#include "tidemark/cli/solve_options.h"
#include "tidemark/cli/verb.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/smallest.h"

namespace tidemark::cli {
namespace {

constexpr double kSpent = 0.5;  // of the time: with less of it used, more would not help

class PlanVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.option("-b,--budget", budget_, kBudget);
    args.required("--budget");
    args.option("--planner", planner_, "One of the planners below");
    std::vector<std::string> planners;
    for (const plan::Planner& p : plan::planners()) planners.emplace_back(p.name);
    args.choices("--planner", planners);
    options_.declare(args);
    args.option("--warm", warm_, "Start from this plan.json");
    args.option("-o,--output", output_, "Write the plan there");
    args.flag("--json", json_, "Print the plan file");
    std::string names = "Planners:\n";
    for (const plan::Planner& p : plan::planners()) names += fmt::format("  {:<18} {}\n", p.name, p.doc);
    args.footer(names + "Example: tidemark plan problem.json --budget 60% --time 1s -o plan.json");
  }

  int run() override {
    const plan::Planner* planner = plan::find_planner(planner_);
    if (planner == nullptr)
      fail(Error::Kind::usage, "[plan] no planner '{}'; see tidemark plan --help", planner_);
    expect_writable(output_);
    plan::Options options = options_.get();
    const Asked asked = ask(source_);
    const plan::Problem& problem = asked.problem;
    plan::Plan warm;
    if (!warm_.empty()) {
      warm = read_plan_file(problem, warm_);
      if (const std::string broken = check_steps(problem, warm); !broken.empty())
        fail(Error::Kind::data, "[plan] --warm {}: {}{}", warm_, broken,
             warm.problem_hash.empty() || warm.problem_hash == plan::hash(problem)
                 ? ""
                 : fmt::format("; it is a plan of another problem, '{}'", warm.problem));
      options.warm_start = &warm;
    }
    SolveOptions::expect_heeded_by(*planner, options);
    plan::Plan plan;
    {
      ProgressLine line;
      options.progress = progress_on(line);
      const double begin = cpu_seconds();
      plan = budget_ == "min" ? smallest(problem, options) : within_budget(*planner, problem, options);
      plan.solve_seconds = cpu_seconds() - begin;
    }
    const std::string text = json_ || !output_.empty() ? plan::write_plan(problem, plan) : "";
    if (!output_.empty()) write_file(output_, text);
    const bool answered = is_answer(plan);
    if (json_) {
      fmt::print("{}", text);
    } else if (answered) {
      Table table;
      add_rows(table, problem, plan);
      if (budget_ == "min") table.row("budget", "min: no smaller peak was found in the time given");
      if (!source_.device().empty()) table.row("device", source_.device());
      table.row("solved", fmt::format("in {} CPU by {}", format_seconds(plan.solve_seconds), plan.planner));
      if (!output_.empty()) table.row("written", output_);
      table.print();
      print_details(problem, plan, asked.labels);
    }
    if (was_interrupted()) return interrupted_planning(answered);
    if (plan.status == plan::Plan::Status::infeasible) {
      const bool proven = plan.peak_bound && *plan.peak_bound > plan.budget;
      if (proven) {
        say("[plan] budget {} is too small: {}", format_bytes(plan.budget), why_infeasible(plan));
      } else if (planner_ == "solve" && plan.solve_seconds < kSpent * options.time_limit) {
        say("[plan] no plan was found for {}: {}", format_bytes(plan.budget), why_infeasible(plan));
      } else {
        say("[plan] no plan was found for {}, though none is proven impossible: {}; {} may "
            "find one",
            format_bytes(plan.budget), why_infeasible(plan), cure(options));
      }
      return Exit::no;
    }
    if (!answered)
      say("[plan] no plan: {}; {} may find one",
          plan.reason.empty() ? "none within the time given" : plan.reason, cure(options));
    return answered ? Exit::done : Exit::no;
  }

 private:
  std::string cure(const plan::Options& options) const {
    if (planner_ != "solve") return "--planner solve";
    return options.recompute && options.reorder && options.makers && options.in_place && options.tiers
               ? "more --time"
               : "less of --without, or more --time,";
  }

  plan::Plan smallest(const plan::Problem& problem, const plan::Options& options) const {
    if (planner_ != "solve")
      fail(Error::Kind::usage, "[plan] --budget min is for the planner solve, not {}", planner_);
    return plan::smallest_peak(problem, options).plan;
  }
  plan::Plan within_budget(const plan::Planner& planner, const plan::Problem& problem,
                           plan::Options options) const {
    options.budget = plan::parse_budget(problem, budget_);
    return plan::run_planner(planner, problem, options);
  }
  // A plan for another budget is a good start too, so its figures do not count.
  static std::string check_steps(const plan::Problem& problem, const plan::Plan& plan) {
    return plan::replay(problem, plan).broken;
  }

  ProblemSource source_;
  std::string budget_, planner_ = "solve", warm_, output_;
  SolveOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> plan_verb() { return std::make_unique<PlanVerb>(); }

}  // namespace tidemark::cli
