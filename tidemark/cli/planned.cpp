// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/planned.h"

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/smallest.h"

namespace tidemark::cli {

Asked ask(const ProblemSource& source) {
  if (source.is_file()) {
    std::string text;
    Asked asked{source.get(&text), {}};
    // Large files of others have none; looking for the word is quicker than reading them once more.
    if (text.find("\"x_types\"") != std::string::npos)
      asked.labels = read_labels(text, asked.problem.buffers.size());
    return asked;
  }
  Posed posed = source.posed();
  Labels labels = labels_of(posed);
  return {std::move(posed.problem), std::move(labels)};
}

int interrupted_planning(bool answered) {
  say("interrupted; {}", answered ? "this is the best plan so far" : "no plan so far");
  return Exit::interrupted;
}

plan::Plan read_plan_file(const plan::Problem& problem, const std::string& path) {
  return read_named(path, [&](const std::string& text) { return plan::read_plan(problem, text); });
}

void PlanSource::declare(Args& args) {
  args.option("--plan", plan_, "plan.json to show; without it the problem is planned now");
  args.option("-b,--budget", budget_,
              "Without --plan: 8GiB, 60% of what storing all takes beyond the resident buffers, or min; 100% "
              "unless given");
  options_.declare(args);
}

plan::Plan PlanSource::get(const plan::Problem& problem, const char* verb) const {
  plan::Options options = options_.get();
  if (!plan_.empty()) {
    if (!budget_.empty())
      fail(Error::Kind::usage, "[{}] --budget {} and --plan {} exclude each other: the plan has its budget",
           verb, budget_, plan_);
    plan::Plan plan = read_plan_file(problem, plan_);
    if (const std::string broken = plan::check(problem, plan); !broken.empty())
      fail(Error::Kind::data, "[{}] {}: {}", verb, plan_, broken);
    return plan;
  }
  ProgressLine line;
  options.progress = progress_on(line);
  plan::Plan plan;
  const std::string budget = budget_.empty() ? "100%" : budget_;
  if (budget == "min") {
    plan = plan::smallest_peak(problem, options).plan;
  } else {
    options.budget = plan::parse_budget(problem, budget);
    plan = plan::solve(problem, options);
  }
  if (!is_answer(plan) && !was_interrupted())
    throw Error(Error::Kind::infeasible,
                fmt::format("[{}] no plan for {}: {}", verb, budget, why_infeasible(plan)));
  return plan;
}

}  // namespace tidemark::cli
