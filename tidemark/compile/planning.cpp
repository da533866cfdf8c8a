// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/planning.h"

#include <algorithm>

#include "tidemark/base/text.h"
#include "tidemark/compile/data_checks.h"
#include "tidemark/compile/makers.h"
#include "tidemark/compile/pins.h"
#include "tidemark/compile/plan_cache.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/compile/refusal.h"
#include "tidemark/compile/task_list.h"
#include "tidemark/compile/tiers.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/solve.h"

namespace tidemark {
namespace {

// The first task that runs and whose slot may be too small for what it makes; null: none does.
const plan::Task* first_overflowing(const Posed& posed, const plan::Plan& plan) {
  for (const plan::Step& s : plan.steps) {
    if (s.kind == plan::Step::Kind::run &&
        posed.binding.kernel_of_task[static_cast<std::size_t>(s.id)]->can_overflow())
      return &posed.problem.tasks[static_cast<std::size_t>(s.id)];
  }
  return nullptr;
}

// Whether there is something to start over with where it may be wanted.
bool is_whole(const Posed& posed, const plan::Plan& plan, const std::optional<plan::Plan>& fallback) {
  if (first_overflowing(posed, plan) == nullptr) return true;
  return fallback && first_overflowing(posed, *fallback) == nullptr;
}

// What the search for the least came down to has a plan by its name. Where that was not asked, the budget being proven too small, the least that was found is
// named only where planning for it gives a plan again, or else a little more; for the last of them that search is made.
std::optional<Bytes> budget_that_does(const Posed& posed, const plan::Problem& problem, const Chosen& refused,
                                      plan::Options solve) {
  if (refused.least) return rounded_up(*refused.least);
  if (!refused.plan.smallest_peak) return std::nullopt;
  solve.warm_start = nullptr;
  for (const double more : {1.0, 1.02, 1.1}) {
    solve.budget = rounded_up(static_cast<Bytes>(more * static_cast<double>(*refused.plan.smallest_peak)));
    if (plan::has_plan(solve_with(problem, posed.makers, solve, {.down = more == 1.1}).plan))
      return solve.budget;
  }
  return std::nullopt;
}

// `problem`: the posed one, or with less room in its tiers. `fallback`: a plan beside it, where it runs a codec that can overflow.
plan::Plan make_plan(const Posed& posed, const plan::Problem& problem, const CompileOptions& options,
                     const Replanning& how, std::optional<plan::Plan>& fallback) {
  plan::Options solve_options = how.solve != nullptr ? *how.solve : plan::Options{.target_gap = 1e-3};
  solve_options.time_limit = options.time_limit;
  solve_options.offsets = true;  // programs are lowered from them
  // With other ways to make values what is solved is not the problem itself, and a plan for it is no start.
  if (posed.makers.empty()) solve_options.warm_start = how.from;
  if (how.stop) solve_options.progress = [&](const plan::Progress&) { return !how.stop(); };
  solve_options.budget = budget_of(problem, options.memory);
  const bool minimum = options.memory.kind == Budget::Kind::minimum;
  const std::string planner = !options.planner.empty()               ? options.planner
                              : solve_options.budget < 0 && !minimum ? "store_all"
                                                                     : "solve";
  const plan::Planner* named = planner == "solve" ? nullptr : plan::find_planner(planner);
  if (planner != "solve" && named == nullptr)
    fail(Error::Kind::usage, "[compile] no planner is called '{}'", planner);
  const PlanCache cache(options.plan_cache);
  const std::string key =
      options.plan_cache.empty()
          ? ""
          : plan_key(problem, solve_options.budget, problem.device,
                     options.device ? options.device->threads() : 0,
                     fmt::format("{} {} {}", planner, options.time_limit, minimum ? "minimum" : ""));
  if (std::optional<KeptPlan> kept = cache.find(key, problem, solve_options.budget)) {
    if (is_whole(posed, kept->plan, kept->fallback)) {
      fallback = std::move(kept->fallback);
      return std::move(kept->plan);
    }
  }
  // By work, not by the clock: whether a budget is met, and by which plan, does not depend on what else the machine does.
  std::optional<plan::WorkClock> clock;
  if ((named == nullptr || planner == "store_all") && solve_options.threads <= 1)
    clock.emplace(problem.tasks.size());
  Chosen chosen = named ? Chosen{.plan = plan::run_planner(*named, problem, solve_options)}
                        : solve_with(problem, posed.makers, solve_options,
                                     {.minimum = minimum, .down = how.down, .known = posed.known.get()});
  if (!plan::has_plan(chosen.plan)) {
    if (chosen.least)
      chosen.plan.smallest_peak = std::min(*chosen.least, chosen.plan.smallest_peak.value_or(*chosen.least));
    if (how.refused != nullptr) *how.refused = chosen.plan;
    throw Error(Error::Kind::infeasible,
                refusal(posed, chosen.plan, options,
                        how.explain && !named ? budget_that_does(posed, problem, chosen, solve_options)
                                              : std::nullopt));
  }
  plan::Plan plan = std::move(chosen.plan);
  fallback = std::move(chosen.without_overflow);
  const std::string broken = plan::check(problem, plan);
  TIDEMARK_CHECK(broken.empty(), "the plan of {} breaks a rule: {}", problem.name, broken);
  cache.store(key, problem, {plan, fallback});
  return plan;
}

// A plan and its program; tiers count bytes, and a tier's copies may need more for the holes between them.
Planned plan_and_lower(const Posed& posed, const CompileOptions& options, const Replanning& how) {
  constexpr int kTries = 6;
  plan::Problem tighter = posed.problem;
  for (int attempt = 0;; ++attempt) {
    Planned planned;
    std::optional<plan::Plan> fallback;
    planned.plan = make_plan(posed, tighter, options, how, fallback);
    planned.plan.problem_hash = plan::hash(posed.problem);
    planned.program = lower(posed.problem, planned.plan, posed.binding);
    Bytes over = 0;
    for (std::size_t k = 0; k < planned.program.tiers.size(); ++k) {
      const ProgramTier& tier = planned.program.tiers[k];
      const Bytes beyond = tier.held + tier.bytes - posed.problem.tiers[k].bytes;
      if (beyond > 0) tighter.tiers[k].bytes -= beyond;
      over = std::max(over, beyond);
    }
    if (over <= 0) {
      if (fallback) {
        fallback->problem_hash = planned.plan.problem_hash;
        Program program = lower(posed.problem, *fallback, posed.binding);
        planned.fallback = std::make_shared<const Planned>(
            Planned{.plan = *std::move(fallback), .program = std::move(program)});
      }
      return planned;
    }
    if (attempt == kTries) {
      fail(Error::Kind::infeasible,
           "[compile] the copies of {} do not fit their tiers by {}; give a tier more room",
           posed.problem.name, format_bytes(over));
    }
  }
}

// What a plan that does not carry out was made for, as far as its hash tells.
std::string origin(const std::string& made_for, const std::string& now) {
  if (made_for == now)
    return fmt::format(
        "it was made for this very problem (hash {}), so the file was changed since: write it again by "
        "plan::write_plan",
        now);
  return fmt::format(
      "it was made for the problem of hash {}, and this program with these options, shapes and profile is "
      "{}: compile with those it was made "
      "with, or plan anew",
      made_for.empty() ? "none" : made_for, now);
}

// The plan of a file, for the times that the problem has now; or why it is none for it.
std::string read_lone_plan(const plan::Problem& problem, std::string_view json, Bytes budget,
                           plan::Plan& plan) {
  try {
    plan = plan::read_plan(problem, json);
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::internal) throw;
    return fmt::format("{}; compile it with the options, shapes and profile it was made with", e.what());
  }
  const std::string hash = plan::hash(problem);
  const plan::Replay now = plan::replay(problem, plan);
  if (!now.broken.empty()) return fmt::format("{}; {}", now.broken, origin(plan.problem_hash, hash));
  if (!plan.has_arena) return "it has no offsets; plan with them";
  add_figures(problem, now, plan);
  if (budget >= 0 && plan.peak > budget)
    return fmt::format("its peak is {} vs a budget of {}; raise the budget, or plan anew for this one",
                       format_bytes(plan.peak, budget), format_bytes(budget, plan.peak));
  if (plan.problem_hash != hash || !plan::has_plan(plan)) {
    plan.problem_hash = hash;
    plan.seconds = now.seconds;
    forget_proofs(plan);
  }
  plan.budget = budget;
  const std::string broken = plan::check(problem, plan);
  return broken.empty() ? "" : fmt::format("{}; {}", broken, origin(hash, hash));
}

std::string read_plan_of(const Posed& posed, const std::string& json, Bytes budget, Planned& planned) {
  plan::Plan plan;
  std::string why = read_lone_plan(posed.problem, json, budget, plan);
  if (!why.empty()) return why;
  if (const plan::Task* codec = first_overflowing(posed, plan)) {
    const std::string beside = read_notes(json).fallback;
    plan::Plan fallback;
    why = beside.empty() ? "the file holds none" : read_lone_plan(posed.problem, beside, budget, fallback);
    if (why.empty() && first_overflowing(posed, fallback) != nullptr) why = "its slots can overflow too";
    if (!why.empty())
      return fmt::format(
          "'{}' can overflow its slot, which needs a plan to go on with (x_fallback): {}; write it again by "
          "Compiled::saved_plan",
          codec->name, why);
    Program program = lower(posed.problem, fallback, posed.binding);
    planned.fallback =
        std::make_shared<const Planned>(Planned{.plan = std::move(fallback), .program = std::move(program)});
  }
  planned.program = lower(posed.problem, plan, posed.binding);
  planned.plan = std::move(plan);
  return "";
}

// Of a step that happens whole or not at all, under either of the two.
std::string broken_promise(const Posed& posed, const Planned& planned, std::span<const TierSpec> tiers,
                           bool copies) {
  std::string what = broken_atomicity(posed, planned.plan, tiers, copies);
  if (what.empty() && planned.fallback) what = broken_atomicity(posed, planned.fallback->plan, tiers, copies);
  return what;
}

Planned load_plan(Posed& posed, const CompileOptions& options, std::span<const TierSpec> tiers) {
  const std::string json = read_file(options.plan_file);
  const Bytes budget = budget_of(posed.problem, options.memory);
  Planned planned;
  std::string why = read_plan_of(posed, json, budget, planned);
  if (!why.empty()) {
    Posed gated = posed;
    gate_updates(gated);
    planned = {};
    if (!read_plan_of(gated, json, budget, planned).empty())
      fail(Error::Kind::usage, "[compile] '{}' is no plan of {}: {}", options.plan_file, posed.problem.name,
           why);
    posed = std::move(gated);
  }
  why = broken_promise(posed, planned, tiers, options.atomic);
  if (!why.empty())
    fail(Error::Kind::usage, "[compile] under the plan in '{}' {}; .atomic = false allows that",
         options.plan_file, why);
  return planned;
}

// No room for copies where they can fail, but for what the caller keeps there.
void leave_failing(plan::Problem& problem, std::span<const TierSpec> tiers) {
  for (std::size_t k = 0; k < problem.tiers.size(); ++k) {
    if (!tiers[k].can_fail()) continue;
    problem.tiers[k].bytes = 0;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      if (problem.buffers[b].start == static_cast<std::int32_t>(k))
        problem.tiers[k].bytes += problem.size(static_cast<plan::BufferId>(b));
    }
  }
}

}  // namespace

Bytes budget_of(const plan::Problem& problem, const Budget& memory) {
  switch (memory.kind) {
    case Budget::Kind::bytes:
      if (memory.bytes < 0)
        fail(Error::Kind::usage, "[compile] a budget of {} bytes is negative", memory.bytes);
      return memory.bytes;
    case Budget::Kind::fraction:
      if (!(memory.fraction >= 0 && memory.fraction <= 10))
        fail(
            Error::Kind::usage,
            "[compile] a budget of {} is no fraction between 0 and 10; write bytes as an integer, e.g. 2_GiB",
            memory.fraction);
      return plan::budget_at(problem, memory.fraction);
    default:
      return plan::Options{}.budget;
  }
}

Planned plan_again(Posed& posed, const CompileOptions& options, std::span<const TierSpec> tiers,
                   const Replanning& how) {
  if (!options.plan_file.empty()) return load_plan(posed, options, tiers);
  Planned planned = plan_and_lower(posed, options, how);
  const auto broken = [&](const Posed& of, const Planned& by) {
    return broken_promise(of, by, tiers, options.atomic);
  };
  if (broken(posed, planned).empty()) return planned;
  const bool overflow =
      std::any_of(posed.makers.begin(), posed.makers.end(), [](const Maker& m) { return m.can_overflow; });
  // The gate holds every gradient at once. Where that does not fit, codecs that can overflow are left away.
  const Replanning anew{.stop = how.stop, .explain = how.explain, .solve = how.solve, .down = how.down};
  Posed gated = posed;
  gate_updates(gated);
  std::optional<Planned> waiting;
  try {
    waiting = plan_and_lower(gated, options, anew);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible) throw;
  }
  const std::string what = broken(posed, planned), after = waiting ? broken(gated, *waiting) : what;
  if (overflow) {
    if (!after.empty()) {
      leave_overflowing(posed);
      return plan_again(posed, options, tiers, how);
    }
    // Without such codecs nothing has to wait, which may be the faster way.
    const std::shared_ptr<const Planned> calm = planned.fallback;
    if (calm && calm->plan.seconds <= waiting->plan.seconds &&
        broken_atomicity(posed, calm->plan, tiers, options.atomic).empty())
      return *calm;
  }
  const bool minimum = options.memory.kind == Budget::Kind::minimum;
  const auto better = [&](const Planned& a, const Planned& b) {
    return minimum ? a.plan.peak < b.plan.peak : a.plan.seconds < b.plan.seconds;
  };
  // Where nothing that can fail is used, no gate is needed either. Behind one a copy that nothing waits for may still end.
  Posed calm = posed;
  leave_failing(calm.problem, tiers);
  std::optional<Planned> apart;
  constexpr double kNear = 1e-3;
  const bool as_good =
      after.empty() && !minimum &&
      waiting->plan.seconds <= planned.plan.seconds * (1 + kNear);  // of one that need not wait
  try {
    if (!as_good) apart = plan_and_lower(calm, options, anew);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible) throw;
  }
  // States of loops may be copied there all the same.
  if (apart && !broken(calm, *apart).empty()) apart.reset();
  if (!apart && !after.empty())
    fail(Error::Kind::infeasible, "[compile] {} fits {} only where {}; .atomic = false allows that",
         posed.problem.name, format_bytes(planned.plan.budget), after);
  if (apart && (!after.empty() || better(*apart, *waiting))) {
    posed = std::move(calm);
    return *std::move(apart);
  }
  posed = std::move(gated);
  return *std::move(waiting);
}

Planned plan_posed(Posed& posed, const CompileOptions& options, std::span<const TierSpec> tiers, int threads,
                   const DeviceProfile* profile, const Replanning& how) {
  add_tiers(posed, tiers);
  apply_pins(posed, options.pins);
  check_names(options.allow);
  // Without a budget nothing needs another way.
  if (options.memory.kind != Budget::Kind::unlimited && options.planner.empty()) {
    MakerOptions makers{
        .lossless = options.makers, .allow = options.allow, .threads = threads, .profile = profile};
    if (!options.plan_file.empty()) makers.seconds = read_notes(read_file(options.plan_file)).seconds;
    add_makers(posed, makers);
    check_times(posed.problem);
  }
  leave_overflowing_behind(posed);
  if (options.atomic) check_before_updates(posed);
  return plan_again(posed, options, tiers, how);
}

}  // namespace tidemark
