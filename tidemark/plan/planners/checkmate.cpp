// checkmate_milp and checkmate_lp: the formulation of checkmate_model.h with HiGHS, exactly and by rounding.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/error.h"
#include "tidemark/plan/planners/checkmate_model.h"

#if TIDEMARK_WITH_HIGHS
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tidemark/plan/highs_limit.h"
#endif

namespace tidemark::plan::named {

#if TIDEMARK_WITH_HIGHS
namespace {

struct Destroy {
  void operator()(void* highs) const { Highs_destroy(highs); }
};

struct Solved {
  enum class Status { optimal, feasible, infeasible, time_is_up } status = Status::time_is_up;
  std::vector<double> values;
  double bound = 0;
};

Solved solve_with_highs(const CheckmateModel& m, bool integer, const Options& options, const Limit& limit) {
  const std::unique_ptr<void, Destroy> highs(Highs_create());
  Highs_setBoolOptionValue(highs.get(), "output_flag", 0);
  Highs_setDoubleOptionValue(highs.get(), "time_limit", std::max(0.01, limit.left()));
  heed_limit(highs.get(), limit);
  Highs_setIntOptionValue(highs.get(), "threads", 1);
  Highs_setIntOptionValue(highs.get(), "random_seed", static_cast<HighsInt>(options.seed % 1'000'000));
  Highs_setDoubleOptionValue(highs.get(), "mip_rel_gap", options.target_gap);
  Highs_setDoubleOptionValue(highs.get(), "mip_abs_gap", 0);
  if (!integer) Highs_setStringOptionValue(highs.get(), "solver", "choose");
  const std::vector<HighsInt> start(m.start_.begin(), m.start_.end()),
      index(m.index_.begin(), m.index_.end());
  std::vector<HighsInt> kind(m.integer_.size(), kHighsVarTypeContinuous);
  if (integer)
    for (std::size_t i = 0; i < kind.size(); ++i)
      kind[i] = m.integer_[i] ? kHighsVarTypeInteger : kHighsVarTypeContinuous;
  const HighsInt passed = Highs_passMip(
      highs.get(), m.columns(), m.rows(), static_cast<HighsInt>(index.size()), kHighsMatrixFormatRowwise,
      kHighsObjSenseMinimize, m.offset_, m.cost_.data(), m.lower_.data(), m.upper_.data(),
      m.row_lower_.data(), m.row_upper_.data(), start.data(), index.data(), m.value_.data(), kind.data());
  TIDEMARK_CHECK(passed != kHighsStatusError, "[checkmate] HiGHS did not take the model");
  Highs_run(highs.get());
  const HighsInt status = Highs_getModelStatus(highs.get());
  Solved out;
  if (status == kHighsModelStatusInfeasible) {
    out.status = Solved::Status::infeasible;
    return out;
  }
  HighsInt primal = 0;
  Highs_getIntInfoValue(highs.get(), "primal_solution_status", &primal);
  if (integer) Highs_getDoubleInfoValue(highs.get(), "mip_dual_bound", &out.bound);
  if (!integer) out.bound = Highs_getObjectiveValue(highs.get());
  if (primal != kHighsSolutionStatusFeasible || (!integer && status != kHighsModelStatusOptimal)) return out;
  out.status = status == kHighsModelStatusOptimal ? Solved::Status::optimal : Solved::Status::feasible;
  out.values.resize(static_cast<std::size_t>(m.columns()));
  std::vector<double> dual(out.values.size()), row(static_cast<std::size_t>(m.rows())), row_dual(row.size());
  Highs_getSolution(highs.get(), out.values.data(), dual.data(), row.data(), row_dual.data());
  return out;
}

Plan answer(Plan::Status status, const Options& options, std::string reason) {
  Plan plan{.status = status, .budget = options.budget};
  plan.reason = std::move(reason);
  return plan;
}

// Rows and columns beyond which building the model alone takes minutes.
constexpr double kTooLarge = 3e7;
Plan too_large(const CheckmateModel& model, const Options& options) {
  return answer(Plan::Status::timed_out, options,
                fmt::format("the formulation has some {:.0e} rows, and at {:.0e} writing it down alone takes "
                            "minutes; it is for some hundred tasks, --planner solve for more",
                            model.size_estimate(), kTooLarge));
}

Bytes budget_of(const Problem& problem, const Options& options) {
  return options.budget >= 0 ? options.budget
                             : with_drops(problem, runs_keeping(Outline(problem),
                                                                std::vector<char>(problem.buffers.size(), 1)))
                                   .live_peak;
}

constexpr const char* kNotBuilt = "the time was up before the formulation was written down";
// HiGHS reads, presolves and copies a formulation without looking at the clock: so many times what writing it down took. With less left than
// that there is no answer, only a time limit that is not kept.
constexpr double kReading = 30;
constexpr double kForHighs = 0.8;  // of what is left: it ends a little later than told

// "" once the formulation for this budget stands and HiGHS has the time to read it.
std::string write_down(CheckmateModel& model, Bytes budget, const Limit& limit) {
  const double before = limit.elapsed();
  if (!model.build(budget, limit)) return kNotBuilt;
  if (limit.left() >= kReading * (limit.elapsed() - before)) return {};
  return fmt::format("the formulation has {} rows: HiGHS would take longer to read them than there is time",
                     model.rows());
}

}  // namespace

Plan checkmate_milp(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const Limit limit = limit_of(options);
  CheckmateModel model("checkmate_milp", o);
  const Bytes budget = budget_of(problem, options);
  if (model.size_estimate() > kTooLarge) return too_large(model, options);
  // Less where the packing of the answer is too large, or the solver's tolerance let a byte too many pass.
  for (const double share : {1.0, 0.999, 0.98, 0.95, 0.9}) {
    const Bytes less = share == 1.0 ? budget : static_cast<Bytes>(static_cast<double>(budget) * share);
    if (std::string late = write_down(model, less, limit); !late.empty())
      return answer(Plan::Status::timed_out, options, std::move(late));
    const Solved solved = solve_with_highs(model, true, options, limit.rest(kForHighs));
    if (solved.status == Solved::Status::infeasible && share == 1.0)
      return nothing_found(o, options, "HiGHS: the formulation has no solution at this budget");
    if (solved.values.empty())
      return answer(
          Plan::Status::timed_out, options,
          fmt::format("HiGHS found no solution in {:.3g} s; its bound is {}", limit.elapsed(),
                      std::isfinite(solved.bound) ? fmt::format("{:.6g} s", solved.bound) : "none"));
    Plan plan = finish(problem, model.runs(solved.values), options);
    if (plan.status == Plan::Status::infeasible) continue;
    const double gap = plan.seconds > 0 ? (plan.seconds - solved.bound) / plan.seconds : 0;
    plan.reason = fmt::format("HiGHS: bound {:.6g} s, gap {:.3g} % within the formulation", solved.bound,
                              100 * std::max(0.0, gap));
    return plan;
  }
  return answer(Plan::Status::timed_out, options, "no solution whose offsets fit was found");
}

Plan checkmate_lp(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const Limit limit = limit_of(options);
  CheckmateModel model("checkmate_lp", o);
  const Bytes budget = budget_of(problem, options);
  if (model.size_estimate() > kTooLarge) return too_large(model, options);
  Plan best = answer(Plan::Status::infeasible, options, "no rounding fits the budget");
  std::string late;
  // Rounding exceeds the budget, so the relaxation is given less of it: the paper's allowance.
  for (const double share : {1.0, 0.95, 0.9, 0.8, 0.7}) {
    late = write_down(model, static_cast<Bytes>(static_cast<double>(budget) * share), limit);
    if (!late.empty()) break;
    const Solved solved = solve_with_highs(model, false, options, limit.rest(kForHighs));
    if (solved.status == Solved::Status::time_is_up) late = "HiGHS did not solve the relaxation in time";
    if (solved.values.empty()) break;
    for (const double threshold : {0.5, 0.25, 0.75, 0.05}) {
      Plan plan = with_drops(problem, model.two_phase(solved.values, threshold));
      if (plan.live_peak > budget) {
        if (best.status == Plan::Status::infeasible &&
            (!best.smallest_peak || plan.live_peak < *best.smallest_peak))
          best.smallest_peak = plan.live_peak;
        continue;
      }
      if (best.status != Plan::Status::infeasible && plan.seconds >= best.seconds) continue;
      plan = finish(problem, model.two_phase(solved.values, threshold), options);
      if (plan.status == Plan::Status::infeasible) continue;
      best = std::move(plan);
      best.reason =
          fmt::format("HiGHS: relaxation {:.6g} s at {:.0f} % of the budget", solved.bound, 100 * share);
    }
    if (best.status != Plan::Status::infeasible) return best;
  }
  if (late.empty() && !best.smallest_peak)
    return nothing_found(o, options, "HiGHS: the relaxation has no solution at this budget");
  if (!late.empty()) best.status = Plan::Status::timed_out, best.reason = std::move(late);
  return best;
}
#else
Plan checkmate_milp(const Problem&, const Options&) {
  fail(Error::Kind::unsupported, "[checkmate_milp] built without HiGHS");
}
Plan checkmate_lp(const Problem&, const Options&) {
  fail(Error::Kind::unsupported, "[checkmate_lp] built without HiGHS");
}
#endif

}  // namespace tidemark::plan::named
