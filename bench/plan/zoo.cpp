// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/zoo.h"

#include <fmt/core.h>

#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/compile/compile.h"
#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"

namespace tidemark::bench {
namespace {

constexpr double kTie = 1e-9;

plan::Problem pose_model(const std::string& name) {
  const Model model = make_model(name, {});
  const TrainOptions training{.optimizer = {.kind = Optimizer::Kind::adamw}};
  Init shapes({.abstract = true});
  const TrainState state = make_train_state(model, training.optimizer, shapes);
  const Tensors batch = synthetic_batch(model, shapes);
  return posed_problem(train_step(model, training), {.device = cpu({}), .state = 1, .name = name}, state,
                       batch);
}

struct Named {
  std::string name = "-";
  double seconds = std::numeric_limits<double>::infinity();
};

Named best_named(const plan::Problem& problem, plan::Options options) {
  Named best;
  options.bounds = false;
  for (const plan::Planner& planner : plan::planners()) {
    if (planner.name == std::string_view("solve")) continue;
    try {
      const plan::Plan plan = plan::run_planner(planner, problem, options);
      if (plan.steps.empty() || plan.seconds >= best.seconds) continue;
      best = {std::string(planner.name), plan.seconds};
    } catch (const Error&) {
      // Not for graphs of this kind, or built without what it needs: its own message says so.
    }
  }
  return best;
}

bool row(const plan::Problem& problem, const std::string& name, int percent, const ZooSettings& settings) {
  const double floor = plan::floor_seconds(problem);
  plan::Options options;
  options.budget = plan::budget_at(problem, percent / 100.0);
  options.time_limit = settings.time;
  options.offsets = false;
  const plan::Plan plan = plan::run_planner(*plan::find_planner("solve"), problem, options);
  const bool found = !plan.steps.empty();
  const auto over = [&](double seconds) { return fmt::format("{:.3f}", 100 * (seconds / floor - 1)); };
  fmt::print("{:<22} {:>5} {:<10} {:>9} {:>9} {:>7} {:>7.3f}", name, problem.tasks.size(),
             plan::name_of(plan.status), found ? over(plan.seconds) : "-",
             found && plan.seconds_bound ? over(*plan.seconds_bound) : "-",
             found && plan.seconds_bound
                 ? fmt::format("{:.3f}", 100 * (plan.seconds / *plan.seconds_bound - 1))
                 : "-",
             plan.solve_seconds);
  bool good = true;
  if (settings.against) {
    const Named other = best_named(problem, options);
    const bool other_found = other.seconds < std::numeric_limits<double>::infinity();
    good = !other_found || (found && plan.seconds <= other.seconds * (1 + kTie));
    fmt::print(" | {:>9} {:<18} {}", other_found ? over(other.seconds) : "-", other.name,
               good ? "ok" : "worse");
  }
  fmt::print("\n");
  std::fflush(stdout);
  return good;
}

}  // namespace

int run_zoo(const ZooSettings& settings) {
  fmt::print("overhead, bound and gap in % over running every task once; {} s of CPU each\n", settings.time);
  fmt::print("{:<22} {:>5} {:<10} {:>9} {:>9} {:>7} {:>7}{}\n", "model@budget", "tasks", "status", "overhead",
             "bound", "gap", "CPU s", settings.against ? " | best named planner" : "");
  int wrong = 0, rows = 0;
  for (const char* model : {"vgg16", "resnet18", "resnet50", "mobilenet-v2", "densenet121", "unet", "segnet",
                            "vit-b-16", "bert-base", "gpt2-124m", "llama-1b", "lstm"}) {
    plan::Problem problem;
    for (const int percent : {90, 80, 70, 60, 50, 40, 30, 20}) {
      const std::string name = fmt::format("zoo/{}@{}", model, percent);
      if (!glob_match(settings.rows, name)) continue;
      if (problem.tasks.empty()) problem = pose_model(model);
      ++rows;
      if (!row(problem, name, percent, settings)) ++wrong;
    }
  }
  fmt::print("{} rows; a named planner better: {}\n", rows, wrong);
  return wrong;
}

}  // namespace tidemark::bench
