// tidemark bound: what no plan for this budget can beat, with its proof verified.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/bound.h"

#include <fmt/core.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/verb.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/smallest.h"

namespace tidemark::cli {
namespace {

class BoundVerb : public Command {
 public:
  void declare(Args& args) override {
    source_.declare(args);
    args.option("-b,--budget", budget_, kBudget);
    args.required("--budget");
    args.option("-t,--time", time_, "CPU time to spend, e.g. 1s or 500ms");
    args.option("-o,--output", output_, "Write the bounds and their proof there, as a plan without steps");
    args.flag("--json", json_,
              "Print {budget, infeasible, seconds_bound, floor_seconds, peak_bound, seconds_per_gib, proof}");
    args.footer(
        "Exit code 2: no plan for this budget exists. Ctrl-C ends the search with what is proven so far.\n"
        "Example: tidemark bound problem.json --budget 60%");
  }

  int run() override {
    expect_writable(output_);
    const double time_limit = parse_seconds(time_);
    const plan::Problem problem = source_.get();
    const double begin = cpu_seconds();
    const Bytes budget =
        budget_ == "min" ? smallest(problem, kForMin * time_limit) : plan::parse_budget(problem, budget_);
    const double left = std::max((1 - kForMin) * time_limit, time_limit - (cpu_seconds() - begin));
    const plan::BoundResult result =
        plan::bound(problem, {.budget = budget, .time_limit = left, .stop = &interrupt_flag()});
    const bool infeasible = result.infeasible || result.peak.bytes > budget;

    // The form in which bounds travel: an answer without a plan in it.
    plan::Plan answer{.status = infeasible ? plan::Plan::Status::infeasible : plan::Plan::Status::timed_out,
                      .planner = "bound"};
    answer.problem = problem.name;
    answer.problem_hash = plan::hash(problem);
    answer.budget = budget;
    answer.peak_bound = result.peak.bytes;
    if (!infeasible) answer.seconds_bound = result.seconds;
    answer.proof = result.proof;
    answer.solve_seconds = cpu_seconds() - begin;
    std::string wrong = answer.proof.json.empty() ? "no proof was made" : plan::verify_proof(problem, answer);
    TIDEMARK_CHECK(wrong.empty(), "[bound] {}", wrong);
    if (!output_.empty()) write_file(output_, plan::write_plan(problem, answer));
    json_ ? print_json(result, budget, infeasible) : print_table(problem, result, budget, infeasible);
    if (infeasible) {
      say("[bound] no plan fits {}: {}", format_bytes(budget),
          explain(plan::Values(problem), result.peak, budget));
    }
    if (was_interrupted()) say("interrupted; this is what was proven so far");
    return was_interrupted() ? Exit::interrupted : infeasible ? Exit::no : Exit::done;
  }

 private:
  static constexpr double kForMin = 0.5;  // of the time, to find the budget

  // What `plan --budget min` plans within.
  static Bytes smallest(const plan::Problem& problem, double time_limit) {
    const plan::SmallestPeak least = plan::smallest_peak(
        problem,
        {.time_limit = time_limit, .progress = [](const plan::Progress&) { return !was_interrupted(); }});
    if (least.budget < 0) throw Error(Error::Kind::infeasible, "[bound] --budget min: " + least.plan.reason);
    return least.budget;
  }

  static void print_json(const plan::BoundResult& result, Bytes budget, bool infeasible) {
    JsonWriter w;
    w.begin_object().field("budget", budget).field("infeasible", infeasible);
    if (!infeasible) w.field("seconds_bound", result.seconds);
    w.field("floor_seconds", result.floor_seconds).field("peak_bound", result.peak.bytes);
    w.field("seconds_per_gib", result.price * 0x1p30).field("proof", "verified").end_object();
    fmt::print("{}\n", w.text());
  }

  static void print_table(const plan::Problem& problem, const plan::BoundResult& result, Bytes budget,
                          bool infeasible) {
    Table table;
    table.row("problem", fmt::format("{}: {} tasks, {} buffers", problem.name, problem.tasks.size(),
                                     problem.buffers.size()));
    table.row("budget", fmt::format("{} ({} bytes)", format_bytes(budget), budget));
    table.row("floor", format_seconds(result.floor_seconds));
    if (!infeasible) {
      const double over = result.floor_seconds > 0 ? result.seconds / result.floor_seconds - 1 : 0;
      table.row("time", fmt::format("at least {}, +{} over the floor", format_seconds(result.seconds),
                                    format_percent(over)));
      if (result.price > 0)
        table.row("a GiB less",
                  fmt::format("raises this by {} or so", format_seconds(result.price * 0x1p30)));
    }
    table.row("peak", fmt::format("at least {} in any plan", format_bytes(result.peak.bytes)));
    table.row("where", explain(plan::Values(problem), result.peak));
    table.row("proof", "verified");
    table.print();
  }

  ProblemSource source_;
  std::string budget_, output_, time_ = "1s";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> bound_verb() { return std::make_unique<BoundVerb>(); }

}  // namespace tidemark::cli
