// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tidemark/plan/plan.h"

namespace tidemark::plan {
namespace {

// Sums in another order, and decimals, differ by less.
constexpr double kTolerance = 1e-9;

bool same_seconds(double a, double b) {
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}
bool is_time(double seconds) { return seconds >= 0 && std::isfinite(seconds); }

std::string check_bounds_alone(const Plan& plan) {
  if (plan.seconds_bound && !is_time(*plan.seconds_bound))
    return fmt::format("seconds_bound: {} is not a time", *plan.seconds_bound);
  if (plan.peak_bound && *plan.peak_bound < 0)
    return fmt::format("peak_bound: {} is negative", *plan.peak_bound);
  return {};
}

// Every required task once, and nothing dropped.
Replay replay_of_list(const Problem& problem) {
  Plan list;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (!problem.tasks[t].optional)
      list.steps.push_back({.kind = Step::Kind::run, .id = static_cast<TaskId>(t)});
  }
  return replay(problem, list);
}

// An answer without a plan in it.
std::string check_infeasible(const Problem& problem, const Plan& plan) {
  if (!plan.steps.empty()) return "status: an infeasible plan has no steps";
  if (plan.budget < 0) return "status: infeasible needs a budget";
  if (plan.smallest_peak && *plan.smallest_peak <= plan.budget) {
    return fmt::format("smallest_peak: {} fits the budget of {}, so it is not infeasible",
                       *plan.smallest_peak, plan.budget);
  }
  if (plan.smallest_peak && plan.peak_bound && *plan.peak_bound > *plan.smallest_peak) {
    return fmt::format("a bound holds for every plan: peak_bound {} is above smallest_peak {}",
                       *plan.peak_bound, *plan.smallest_peak);
  }
  if (!plan.smallest_peak && !(plan.peak_bound && *plan.peak_bound > plan.budget))
    return "status: infeasible needs a peak_bound above the budget or the smallest_peak found";
  if (const Replay list = replay_of_list(problem); list.broken.empty() && list.live_peak <= plan.budget) {
    return fmt::format("status: infeasible, but the list with everything kept takes {} of {} bytes",
                       list.live_peak, plan.budget);
  }
  return {};
}

Bytes resident(const Problem& problem) {
  Bytes total = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (problem.buffers[b].resident) total += problem.size(static_cast<BufferId>(b));
  }
  return total;
}

std::string check_figures(const Problem& problem, const Plan& plan, const Replay& truth) {
  const Bytes peak = plan.has_arena ? resident(problem) + plan.arena_bytes : truth.live_peak;
  if (plan.budget >= 0 && peak > plan.budget) {
    return fmt::format(
        "peak <= budget: {} is above {}{}", peak, plan.budget,
        plan.has_arena ? " (peak = resident + arena.bytes)" : fmt::format(" at step {}", truth.peak_step));
  }
  if (plan.peak >= 0 && plan.peak != peak)
    return fmt::format("peak is the true one: {}, not {}", peak, plan.peak);
  if (plan.live_peak >= 0 && plan.live_peak != truth.live_peak) {
    return fmt::format("live_peak is the true one: {} at step {}, not {}", truth.live_peak, truth.peak_step,
                       plan.live_peak);
  }
  if (!(plan.seconds < 0) && !same_seconds(plan.seconds, truth.seconds)) {
    return fmt::format("seconds is the true one: {}, not {}", truth.seconds, plan.seconds);
  }
  if (plan.seconds_bound && *plan.seconds_bound > truth.seconds &&
      !same_seconds(*plan.seconds_bound, truth.seconds)) {
    return fmt::format("a bound holds for every plan: seconds_bound {} is above {}", *plan.seconds_bound,
                       truth.seconds);
  }
  if (plan.peak_bound && *plan.peak_bound > truth.live_peak) {
    return fmt::format("a bound holds for every plan: peak_bound {} is above live_peak {}", *plan.peak_bound,
                       truth.live_peak);
  }
  if (plan.smallest_peak && *plan.smallest_peak > peak) {
    return fmt::format("smallest_peak is the least found: {} is above peak {}", *plan.smallest_peak, peak);
  }
  if (truth.lossy && !plan.lossy) return "a plan that runs a lossy task says so";
  if (plan.status == Plan::Status::optimal) {
    if (!plan.seconds_bound) return "status: optimal needs seconds_bound";
    if (!same_seconds(truth.seconds, *plan.seconds_bound)) {
      return fmt::format("status: optimal is within 1e-9 of the bound, {} against {}", truth.seconds,
                         *plan.seconds_bound);
    }
  }
  return {};
}

}  // namespace

std::string check(const Problem& problem, const Plan& plan) {
  if (!plan.problem.empty() && plan.problem != problem.name) {
    return fmt::format("problem: the plan is for '{}', not '{}'", plan.problem, problem.name);
  }
  if (!plan.problem_hash.empty() && plan.problem_hash != hash(problem)) {
    return fmt::format("problem_hash: the plan is for {}, not {}", plan.problem_hash, hash(problem));
  }
  if (std::string broken = check_bounds_alone(plan); !broken.empty()) return broken;
  if (plan.status == Plan::Status::infeasible) return check_infeasible(problem, plan);
  // Out of time before there was a plan.
  if (plan.status == Plan::Status::timed_out && plan.steps.empty()) return {};
  const Replay truth = replay(problem, plan);
  return truth.broken.empty() ? check_figures(problem, plan, truth) : truth.broken;
}

const char* name_of(Plan::Status status) {
  switch (status) {
    case Plan::Status::optimal:
      return "optimal";
    case Plan::Status::feasible:
      return "feasible";
    case Plan::Status::infeasible:
      return "infeasible";
    case Plan::Status::timed_out:
      return "timed_out";
  }
  return "?";
}

const char* name_of(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::run:
      return "run";
    case Step::Kind::drop:
      return "drop";
    case Step::Kind::evict:
      return "evict";
    case Step::Kind::fetch:
      return "fetch";
    case Step::Kind::wait:
      return "wait";
    case Step::Kind::discard:
      return "discard";
  }
  return "?";
}

}  // namespace tidemark::plan
