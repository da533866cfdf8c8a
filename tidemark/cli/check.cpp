// tidemark check: is this plan valid, are its figures true, does its proof hold?
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/plan_report.h"
#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/verb.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/json_syntax.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/proof.h"

namespace tidemark::cli {
namespace {

class CheckVerb : public Command {
 public:
  void declare(Args& args) override {
    args.positional("problem", problem_file_, "problem.json");
    args.positional("plan", plan_file_, "plan.json");
    args.flag("--json", json_, "Print {valid, broken, status, peak, live_peak, seconds, proof}");
    args.footer(
        "Exit code 2: a rule is broken, and the first one is named. 1: a file is no problem or no plan at "
        "all.\n"
        "Example: tidemark check problem.json plan.json");
  }

  int run() override {
    const plan::Problem problem = read_problem_file(problem_file_);
    const std::string text = read_file(plan_file_);
    // What is no JSON, or does not say that it is a plan, is none at all; one that breaks the format is an invalid one.
    if (const std::string place = plan::json_error(text); !place.empty())
      fail(Error::Kind::data, "[check] {}: not JSON: {}", plan_file_, place);
    if (const std::string why = plan::not_of_format(text, "tidemark-plan"); !why.empty())
      fail(Error::Kind::data, "[check] {}: not a plan: {}; tidemark plan -o writes one", plan_file_, why);
    plan::Plan plan;
    std::string broken;
    try {
      plan = plan::read_plan(problem, text);
      broken = plan::check(problem, plan);
    } catch (const Error& e) {
      broken = e.what();
    }
    if (broken.empty() && is_answer(plan)) {
      const plan::Replay truth = plan::replay(problem, plan);
      plan.live_peak = truth.live_peak;
      plan.peak = plan.has_arena ? plan::resident_bytes(problem) + plan.arena_bytes : truth.live_peak;
      plan.seconds = truth.seconds;
    }
    const char* proof = "none";  // what the plan says of bounds is then its own word
    if (broken.empty() && !plan.proof.json.empty()) {
      broken = plan::verify_proof(problem, plan);
      if (!broken.empty()) broken = "proof: " + broken;
      if (proves_what_it_says(plan)) proof = "verified";
    }
    if (json_) {
      print_json(plan, broken, proof);
    } else if (broken.empty()) {
      Table table;
      add_rows(table, problem, plan);
      const bool unproven = std::string_view(proof) == "none";
      table.row("proof", !unproven ? proof
                         : plan.status == plan::Plan::Status::infeasible
                             ? "none that there is no plan: it is the planner's word"
                         : plan.status == plan::Plan::Status::optimal
                             ? "none that it is optimal: it is the planner's word"
                             : "none: stated bounds are not verified");
      table.row("check", "valid");
      table.print();
    }
    if (!broken.empty()) say("[check] {}: {}", plan_file_, broken);
    return broken.empty() ? Exit::done : Exit::no;
  }

 private:
  // A proof of something else than what is said is none of it.
  static bool proves_what_it_says(const plan::Plan& plan) {
    if (plan.status == plan::Plan::Status::infeasible)
      return plan.peak_bound && *plan.peak_bound > plan.budget;
    return plan.seconds_bound || plan.peak_bound;
  }

  static void print_json(const plan::Plan& plan, const std::string& broken, const char* proof) {
    JsonWriter w;
    w.begin_object().field("valid", broken.empty()).field("broken", broken);
    if (broken.empty()) {
      w.field("status", name_of(plan.status));
      if (is_answer(plan))
        w.field("peak", plan.peak).field("live_peak", plan.live_peak).field("seconds", plan.seconds);
      w.field("proof", proof);
    }
    w.end_object();
    fmt::print("{}\n", w.text());
  }

  std::string problem_file_, plan_file_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> check_verb() { return std::make_unique<CheckVerb>(); }

}  // namespace tidemark::cli
