// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/plan_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "tidemark/base/text.h"
#include "tidemark/cli/planned.h"
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

bool is_answer(const Plan& plan) { return !plan.steps.empty() || plan::has_plan(plan); }

void add_rows(Table& table, const Problem& problem, const Plan& plan) {
  const double floor = plan::floor_seconds(problem);
  const auto over = [&](double seconds) {
    return floor > 0 && seconds > floor * (1 - 1e-9)
               ? fmt::format("{}  +{} over the floor", format_seconds(seconds),
                             format_percent(seconds / floor - 1))
               : format_seconds(seconds);
  };
  table.row("problem",
            fmt::format("{}: {} tasks, {} buffers", problem.name.empty() ? "(no name)" : problem.name,
                        problem.tasks.size(), problem.buffers.size()));
  table.row("status", name_of(plan.status));
  const std::string budget = plan.budget >= 0 ? " of " + format_bytes(plan.budget) : ", no budget";
  const bool answered = is_answer(plan);
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
    table.row("peak", (plan.status == Plan::Status::infeasible ? "no plan" : "no steps here") + budget);
    table.row("of it", fmt::format("{} resident", resident));
  }
  if (plan.peak_bound)
    table.row("least", fmt::format("{} is live in any plan", format_bytes(*plan.peak_bound)));
  table.row("store all", fmt::format("{} live", format_bytes(plan::store_all_live_peak(problem))));
  if (answered) table.row("done", what_was_done(problem, plan));
}

void print_details(const Problem& problem, const Plan& plan, const Labels& labels) {
  const Telling telling(problem, plan, labels);
  fmt::print("\n{}\n", strong("memory at the peak"));
  for (const PeakRow& row : peak_rows(problem, plan, telling.story, telling.fates))
    fmt::print("  {:<18} {:>12}\n", row.what, format_bytes(row.bytes));

  struct Sum {
    std::int64_t values = 0;
    Bytes bytes = 0;
    double seconds = 0;
  };
  std::map<Fate::Kind, Sum> sums;
  std::vector<plan::BufferId> order;
  for (std::size_t b = 0; b < telling.fates.size(); ++b) {
    const Fate& f = telling.fates[b];
    if (f.kind == Fate::Kind::resident || f.kind == Fate::Kind::unused) continue;
    Sum& sum = sums[f.kind];
    ++sum.values;
    sum.bytes += problem.size(static_cast<plan::BufferId>(b));
    order.push_back(static_cast<plan::BufferId>(b));
  }
  // By runs: one may make several values.
  for (const Run& run : telling.story.runs) {
    if (run.again)
      sums[Fate::Kind::made_again].seconds += problem.tasks[static_cast<std::size_t>(run.task)].seconds;
  }
  fmt::print("\n{}\n",
             strong(fmt::format("{:<20} {:>12} {:>12} {:>12}", "what was done", "values", "bytes", "time")));
  for (const auto& [kind, sum] : sums)
    fmt::print("  {:<18} {:>12} {:>12} {:>12}\n", name_of(kind), sum.values, format_bytes(sum.bytes),
               sum.seconds > 0 ? format_seconds(sum.seconds) : "-");

  constexpr std::size_t kShown = 10;
  const std::size_t shown = std::min(order.size(), kShown);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](plan::BufferId a, plan::BufferId b) {
                      return problem.size(a) != problem.size(b) ? problem.size(a) > problem.size(b) : a < b;
                    });
  if (shown > 0) fmt::print("\n{}\n", strong("largest values"));
  for (std::size_t i = 0; i < shown; ++i) {
    const plan::BufferId b = order[i];
    const std::string& name = problem.buffers[static_cast<std::size_t>(b)].name;
    fmt::print("{}\n", printable(fmt::format(
                           "  {:<34} {:<22} {:>12}  {}", name.empty() ? fmt::format("buffer {}", b) : name,
                           labels.type_of(b), format_bytes(problem.size(b)), in_short(telling.told, b))));
  }
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
