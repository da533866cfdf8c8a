// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/plan_report.h"

#include <fmt/core.h>

#include <set>

#include "tidemark/plan/budget.h"

namespace tidemark::cli {
namespace {

using plan::Plan;
using plan::Problem;
using plan::Step;

std::string what_was_done(const Problem& problem, const Plan& plan) {
  std::vector<bool> ran(problem.tasks.size(), false);
  std::int64_t again = 0, other_makers = 0, in_place = 0;
  double again_seconds = 0;
  std::set<plan::BufferId> moved;
  Bytes moved_bytes = 0;
  for (const Step& step : plan.steps) {
    if (step.kind == Step::Kind::run) {
      const auto t = static_cast<std::size_t>(step.id);
      in_place += static_cast<std::int64_t>(step.in_place.size());
      if (problem.tasks[t].optional) ++other_makers;
      if (ran[t]) {
        ++again;
        again_seconds += problem.tasks[t].seconds;
      }
      ran[t] = true;
    } else if (step.kind == Step::Kind::evict || step.kind == Step::Kind::fetch) {
      moved.insert(step.id);
      moved_bytes += problem.size(step.id);
    }
  }
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (again > 0) add(fmt::format("{} runs again ({})", again, format_seconds(again_seconds)));
  if (other_makers > 0) add(fmt::format("{} runs of optional tasks", other_makers));
  if (in_place > 0) add(fmt::format("{} in place", in_place));
  if (!moved.empty()) add(fmt::format("{} buffers moved ({})", moved.size(), format_bytes(moved_bytes)));
  if (plan.lossy) add("lossy");
  return out.empty() ? "everything kept until its last use" : out;
}

}  // namespace

void add_rows(Table& table, const Problem& problem, const Plan& plan) {
  const double floor = plan::floor_seconds(problem);
  const auto over = [&](double seconds) {
    return floor > 0 ? fmt::format("{}  +{} over the floor", format_seconds(seconds),
                                   format_percent(seconds / floor - 1))
                     : format_seconds(seconds);
  };
  table.row("problem",
            fmt::format("{}: {} tasks, {} buffers", problem.name.empty() ? "(no name)" : problem.name,
                        problem.tasks.size(), problem.buffers.size()));
  table.row("status", name_of(plan.status));
  const std::string budget = plan.budget >= 0 ? " of " + format_bytes(plan.budget) : ", no budget";
  const bool answered = !plan.steps.empty() || problem.tasks.empty();
  if (answered) table.row("time", over(plan.seconds));
  if (plan.seconds_bound) {
    std::string text = over(*plan.seconds_bound);
    if (answered && *plan.seconds_bound > 0)
      text += "  gap " + format_percent(plan.seconds / *plan.seconds_bound - 1);
    table.row("bound", text + (plan.bound_order_given ? "  (for the given order)" : ""));
  }
  const std::string resident = format_bytes(plan::resident_bytes(problem));
  if (answered) {
    table.row("peak", format_bytes(plan.peak) + budget);
    const std::string arena = plan.has_arena ? fmt::format(", {} arena", format_bytes(plan.arena_bytes)) : "";
    table.row("of it", fmt::format("{} resident, {} live{}", resident, format_bytes(plan.live_peak), arena));
  } else {
    table.row("peak", "no plan" + budget);
    table.row("of it", fmt::format("{} resident", resident));
  }
  if (plan.peak_bound)
    table.row("least", fmt::format("{} is live in any plan", format_bytes(*plan.peak_bound)));
  table.row("store all", fmt::format("{} live", format_bytes(plan::store_all_live_peak(problem))));
  if (answered) table.row("done", what_was_done(problem, plan));
}

std::string why_infeasible(const Plan& plan) {
  std::string out = plan.reason.empty() ? "no plan was found" : plan.reason;
  if (plan.peak_bound && *plan.peak_bound > plan.budget) {
    out += fmt::format("; proven: at least {} ({} bytes) in any plan", format_bytes(*plan.peak_bound),
                       *plan.peak_bound);
  }
  if (plan.smallest_peak)
    out += fmt::format("; the smallest found is {} ({} bytes)", format_bytes(*plan.smallest_peak),
                       *plan.smallest_peak);
  return out;
}

}  // namespace tidemark::cli
