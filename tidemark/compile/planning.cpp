// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/planning.h"

#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/plan/solve.h"

namespace tidemark {

plan::Plan make_plan(const plan::Problem& problem, const CompileOptions& options) {
  plan::Options solve_options{.time_limit = options.time_limit, .target_gap = 1e-3};
  if (options.memory.kind == Budget::Kind::bytes && options.memory.bytes < 0) {
    fail(Error::Kind::usage, "[compile] a budget of {} bytes is negative", options.memory.bytes);
  }
  if (options.memory.kind == Budget::Kind::fraction && !(options.memory.fraction >= 0 && options.memory.fraction <= 10)) {
    fail(Error::Kind::usage, "[compile] a budget of {} is no fraction between 0 and 10; write bytes as an integer, e.g. 2_GiB", options.memory.fraction);
  }
  switch (options.memory.kind) {
    case Budget::Kind::unlimited:
      break;
    case Budget::Kind::bytes:
      solve_options.budget = options.memory.bytes;
      break;
    case Budget::Kind::fraction: {
      const Bytes resident = plan::resident_bytes(problem);
      solve_options.budget =
          resident + static_cast<Bytes>(options.memory.fraction *
                                        static_cast<double>(plan::store_all_live_peak(problem) - resident));
      break;
    }
    case Budget::Kind::minimum:
      break;
  }
  const bool minimum = options.memory.kind == Budget::Kind::minimum;
  const std::string planner = !options.planner.empty()               ? options.planner
                              : solve_options.budget < 0 && !minimum ? "store_all"
                                                                     : "solve";
  const plan::Planner* named = planner == "solve" ? nullptr : plan::find_planner(planner);
  if (planner != "solve" && named == nullptr)
    fail(Error::Kind::usage, "[compile] no planner is called '{}'", planner);
  plan::Plan plan = named     ? plan::run_planner(*named, problem, solve_options)
                    : minimum ? plan::smallest_peak(problem, solve_options).plan
                              : plan::solve(problem, solve_options);
  if (plan.status == plan::Plan::Status::infeasible || plan.status == plan::Plan::Status::timed_out) {
    std::string message =
        fmt::format("[compile] {} does not fit {}", problem.name, format_bytes(solve_options.budget));
    if (plan.peak_bound && *plan.peak_bound > solve_options.budget) {
      message += fmt::format("; needs at least {}", format_bytes(*plan.peak_bound));
    } else if (plan.smallest_peak) {
      message += fmt::format("; the least found in the time given is {}", format_bytes(*plan.smallest_peak));
    }
    if (!plan.reason.empty()) message += ": " + plan.reason;
    throw Error(Error::Kind::infeasible, message);
  }
  const std::string broken = plan::check(problem, plan);
  TIDEMARK_CHECK(broken.empty(), "the plan of {} breaks a rule: {}", problem.name, broken);
  return plan;
}

}  // namespace tidemark
