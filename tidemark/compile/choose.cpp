// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/compile/makers.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/smallest.h"

namespace tidemark {
namespace {

using plan::Plan;

using MakerSet = std::vector<const Maker*>;

// Those of `offered` that cost less than the runs which the plan makes anew of what they stand for, those that gain most for a byte
// kept first; and the better half of them.
std::vector<MakerSet> sets_instead_of(const plan::Problem& problem, const MakerSet& offered,
                                      const Plan& plan) {
  std::vector<int> runs(problem.tasks.size(), 0);
  for (const plan::Step& s : plan.steps) {
    if (s.kind == plan::Step::Kind::run) ++runs[static_cast<std::size_t>(s.id)];
  }
  // Seconds that making each buffer again takes in the plan.
  std::vector<double> anew(problem.buffers.size(), 0);
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const plan::Task& task = problem.tasks[t];
    if (task.optional || runs[t] < 2) continue;
    for (const plan::BufferId b : task.writes)
      anew[static_cast<std::size_t>(b)] += (runs[t] - 1) * task.seconds;
  }
  struct Gain {
    double seconds;
    const Maker* maker;
  };
  std::vector<Gain> gains;
  for (const Maker* m : offered) {
    const double gain = anew[static_cast<std::size_t>(m->buffer)] - m->seconds;
    const auto kept = static_cast<double>(std::max<Bytes>(problem.size(m->buffer) - m->saved, problem.align));
    if (gain > 0) gains.push_back({gain / kept, m});
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const Gain& a, const Gain& b) { return a.seconds > b.seconds; });
  std::vector<MakerSet> sets;
  for (const std::size_t count : {gains.size(), gains.size() / 2}) {
    if (count == 0) continue;
    MakerSet& set = sets.emplace_back();
    for (std::size_t i = 0; i < count; ++i) set.push_back(gains[i].maker);
  }
  return sets;
}

// Sets of makers to try: those that would replace what the plan runs again, then all, and fewer and fewer of them: those that cost
// least for what they save first, and of equals those that stand first in the list, whose values wait longest. A large problem needs
// its time for fewer of them.
std::vector<MakerSet> sets_of(const plan::Problem& problem, const std::vector<Maker>& makers, bool overflow,
                              const Plan& base) {
  constexpr std::size_t kLarge = 3000;
  MakerSet all;
  bool any = !overflow;
  for (const Maker& m : makers) {
    if (!overflow && m.can_overflow) continue;
    all.push_back(&m);
    any = any || m.can_overflow;
  }
  if (all.empty() || !any) return {};
  std::vector<MakerSet> sets = sets_instead_of(problem, all, base);
  std::stable_sort(all.begin(), all.end(), [](const Maker* a, const Maker* b) {
    return a->seconds * static_cast<double>(b->saved) < b->seconds * static_cast<double>(a->saved);
  });
  const std::size_t targeted = sets.size();
  for (std::size_t part = 4; part > 0; part -= problem.tasks.size() > kLarge ? 2 : 1) {
    const std::size_t count = (all.size() * part + 3) / 4;
    if (sets.size() == targeted || count < sets.back().size())
      sets.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return sets;
}

class Choosing {
 public:
  Choosing(const plan::Problem& problem, const std::vector<Maker>& makers, const plan::Options& options,
           const SolveWith& how)
      : problem_(problem),
        makers_(makers),
        options_(options),
        minimum_(how.minimum),
        known_(how.known),
        down_(how.down) {}

  Chosen run() {
    Chosen chosen = search();
    if (!minimum_) {
      if (!has_plan(chosen.plan) && !is_impossible(base_) && down_) take_least(chosen);
      return chosen;
    }
    if (!has_plan(chosen.plan)) return chosen;
    ask_below(chosen);
    if (!closed(chosen.plan)) take_asked(chosen, chosen.plan.peak);
    return chosen;
  }

 private:
  Chosen search() {
    without_makers();
    Chosen chosen{.plan = base_};
    // Nothing can be better than a bound that holds for every maker.
    if (good_enough(base_) || is_impossible(base_) || few_enough(chosen)) return chosen;
    const auto sets = sets_of(problem_, makers_, false, base_);
    // A plan whose codecs may overflow needs one beside it that has none, within the same budget: so it is never the least.
    const auto more =
        minimum_ || calm_only_ ? std::vector<MakerSet>{} : sets_of(problem_, makers_, true, base_);
    const double parts = static_cast<double>(sets.size() + more.size());
    if (parts == 0) return chosen;
    double rest = 0.5;  // as much more of the time
    const plan::Problem calm = without_overflow();
    // A third of what is left with all of them on offer, a third for exchanges of runs for codecs, where there are any, the rest for
    // sets. Each goes on from the plan that is there.
    const double on_offer = rest / 3, exchange = sets.empty() || more.empty() ? rest / 3 : rest / 6;
    if (!good_enough(chosen.plan)) {
      const Plan start = chosen.plan;
      take(chosen.plan, solve(calm, on_offer, has_plan(start) && !minimum_ ? &start : nullptr));
      rest -= on_offer;
    }
    if (std::optional<Plan> better = exchanged(calm, chosen.plan, false, exchange)) {
      take(chosen.plan, *std::move(better));
      rest -= exchange;
    }
    for (const auto& set : sets) {
      if (good_enough(chosen.plan)) return chosen;
      take(chosen.plan, solve(committed(calm, set), rest / parts));
    }
    if (!has_plan(chosen.plan)) return chosen;
    const auto offer = [&](const Plan& plan) {
      Plan best = chosen.plan;
      if (!take(best, plan) || !runs_overflowing(best)) return;
      if (!chosen.without_overflow) chosen.without_overflow = chosen.plan;
      chosen.plan = std::move(best);
    };
    if (!more.empty()) {
      if (const std::optional<Plan> better = exchanged(problem_, chosen.plan, true, exchange)) {
        offer(*better);
        rest -= exchange;
      }
    }
    for (const auto& set : more) {
      if (good_enough(chosen.plan)) return chosen;
      offer(solve(committed(problem_, set), rest / parts));
    }
    return chosen;
  }

  // Whoever names a budget below the least finds a plan now and then, for that search goes other ways: it is asked for budgets a tenth
  // below while that gives one, then for nearer ones.
  void ask_below(Chosen& chosen) const {
    if (few_enough(chosen)) return;
    // Of what a search takes, for all budgets below.
    const double times = 3, with_makers = makers_.empty() ? 1 : 1.5;
    const double until = plan::cpu_seconds() + times * with_makers * options_.time_limit;
    const Bytes resident = plan::resident_bytes(problem_), bound = base_.peak_bound.value_or(resident);
    for (const double part : {0.1, 0.03, 0.01}) {
      while (plan::cpu_seconds() < until) {
        const auto arena = static_cast<double>(chosen.plan.peak - resident);
        const Bytes budget = chosen.plan.peak - std::max<Bytes>(1, static_cast<Bytes>(part * arena));
        if (budget < bound || !take_asked(chosen, budget)) break;
        if (few_enough(chosen)) return;
      }
    }
  }
  // A budget that the search for the least one came down to is met, if need be by the plan that it finds: by that search in the same time, and in what is
  // little enough to be given at any rate.
  void take_least(Chosen& chosen) const {
    constexpr double kAtLeast = 0.1;
    for (const double seconds : {options_.time_limit, kAtLeast}) {
      if (seconds != options_.time_limit && seconds <= options_.time_limit) return;
      plan::Options options = options_;
      options.budget = -1;
      options.time_limit = seconds;
      options.warm_start = nullptr;
      Choosing search(problem_, makers_, options, {.minimum = true});
      search.target_ = options_.budget;
      Chosen least = search.run();
      if (!search.few_enough(least)) {
        if (!has_plan(least.plan)) continue;
        const Bytes reached =
            std::max(least.plan.peak, least.without_overflow ? least.without_overflow->peak : 0);
        chosen.least = std::min(reached, chosen.least.value_or(reached));
        continue;
      }
      least.plan.budget = options_.budget;
      if (least.without_overflow) least.without_overflow->budget = options_.budget;
      if (take(chosen.plan, std::move(least.plan)))
        chosen.without_overflow = std::move(least.without_overflow);
      return;
    }
  }
  // For a caller who has that many bytes.
  bool few_enough(const Chosen& chosen) const {
    const auto fits = [&](const Plan& plan) { return has_plan(plan) && plan.peak <= target_; };
    return fits(chosen.plan) && (!chosen.without_overflow || fits(*chosen.without_overflow));
  }
  bool take_asked(Chosen& chosen, Bytes budget) const {
    plan::Options options = options_;
    options.budget = budget;
    options.warm_start = nullptr;
    Choosing asked(problem_, makers_, options, {.down = false});
    asked.least_is_known_ = asked.calm_only_ = true;
    Chosen found = asked.run();
    Plan& plan = found.plan;
    const bool less = has_plan(plan) && plan.peak < chosen.plan.peak;
    if (!less && !(has_plan(plan) && plan.seconds < chosen.plan.seconds)) return false;
    plan.peak_bound = base_.peak_bound;
    plan.budget = plan.peak;
    const std::string broken = plan::check(problem_, plan);
    TIDEMARK_CHECK(broken.empty(), "the plan of the least budget breaks a rule: {}", broken);
    chosen = std::move(found);
    return less;
  }

  // `plan` with codecs instead of what it runs again, and searched on from there.
  std::optional<Plan> exchanged(const plan::Problem& problem, const Plan& plan, bool overflow,
                                double share) const {
    if (minimum_ || !has_plan(plan)) return std::nullopt;
    MakerSet offered;
    for (const Maker& m : makers_) {
      if (overflow || !m.can_overflow) offered.push_back(&m);
    }
    plan::Options options = options_;
    options.time_limit *= share;
    const std::optional<Plan> start = substitute(problem, offered, plan, options);
    return start ? std::optional(solve(problem, share, &*start)) : std::nullopt;
  }
  Plan solve(const plan::Problem& problem, double share, const Plan* start = nullptr) const {
    plan::Options options = options_;
    options.time_limit *= share;
    if (&problem != &problem_ || start != nullptr) options.warm_start = start;
    return minimum_ ? least(problem, options) : plan::solve(problem, options);
  }
  // Tiers take no time from the search without them.
  static Plan least(const plan::Problem& problem, plan::Options options) {
    if (!problem.tiers.empty()) options.time_limit *= 2;
    return plan::smallest_peak(problem, options).plan;
  }
  // As if there were none, and in the time that there would be then: makers widen the choice, and looking at them takes nothing from
  // that search.
  void without_makers() {
    constexpr double kForSmallest = 0.1;
    base_ = plain(1 - kForSmallest, minimum_ ? nullptr : options_.warm_start);
    if (known_ != nullptr && !minimum_) take_known();
    if (minimum_ && !makers_.empty() && has_plan(base_)) {
      plan::Options options = options_;
      options.makers = false;
      const std::vector<Maker> none;
      Choosing lone(problem_, none, options, {.minimum = true});
      lone.base_ = base_;
      Chosen less{.plan = base_};
      lone.ask_below(less);
      base_ = std::move(less.plan);
    }
    // An order that needs less may spare what this one runs again.
    if (!minimum_ && has_plan(base_) && !good_enough(base_)) take(base_, smallest_within(kForSmallest));
    if (!has_plan(base_) && !is_impossible(base_) && !least_is_known_ && take(base_, smallest_within(1)) &&
        !minimum_) {
      // It was made for few bytes, not for little time.
      const Plan start = base_;
      take(base_, plain(1, &start));
    }
  }
  void take_known() {
    Plan plan = *known_;
    plan.problem_hash = plan::hash(problem_);
    plan.budget = options_.budget;
    forget_proofs(plan);
    if (plan.peak <= options_.budget && plan::check(problem_, plan).empty()) take(base_, std::move(plan));
  }
  Plan plain(double share, const Plan* start) const {
    plan::Options options = options_;
    options.time_limit *= share;
    options.makers = makers_.empty() && options_.makers;
    options.warm_start = start;
    return minimum_ ? least(problem_, options) : plan::solve(problem_, options);
  }
  bool is_impossible(const Plan& plan) const {
    return !minimum_ && !has_plan(plan) && plan.peak_bound && *plan.peak_bound > options_.budget;
  }
  // The search for the smallest peak goes other ways than that for the least time: what it finds may fit.
  Plan smallest_within(double share) const {
    plan::Options options = options_;
    options.time_limit *= share;
    options.makers = false;
    options.budget = -1;
    options.warm_start = nullptr;
    Plan plan = minimum_ ? base_ : least(problem_, options);
    if (!has_plan(plan) || plan.peak > options_.budget) return base_;
    plan.budget = options_.budget;
    return plan;
  }
  plan::Problem without_overflow() const {
    plan::Problem calm = problem_;
    for (const Maker& m : makers_) {
      if (m.can_overflow) forbid(calm, m);
    }
    return calm;
  }
  bool good_enough(const Plan& plan) const { return !minimum_ && closed(plan); }
  bool closed(const Plan& plan) const {
    return has_plan(plan) && plan.seconds_bound &&
           plan.seconds <= *plan.seconds_bound * (1 + options_.target_gap);
  }
  bool better(const Plan& a, const Plan& b) const {
    if (!has_plan(a)) return false;
    if (!has_plan(b)) return true;
    return minimum_ ? a.peak < b.peak : a.seconds < b.seconds;
  }
  bool runs_overflowing(const Plan& plan) const {
    return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const plan::Step& s) {
      return s.kind == plan::Step::Kind::run &&
             std::any_of(makers_.begin(), makers_.end(),
                         [&](const Maker& m) { return m.can_overflow && m.run.front() == s.id; });
    });
  }
  // As a plan of the problem itself: what was proven for the problem with these makers taken does not hold for it.
  bool take(Plan& best, Plan plan) const {
    if (!better(plan, best)) return false;
    plan.problem_hash = plan::hash(problem_);
    plan.status = Plan::Status::feasible;
    plan.seconds_bound = base_.seconds_bound;
    plan.peak_bound = base_.peak_bound;
    plan.bound_order_given = base_.bound_order_given;
    plan.proof = base_.proof;
    plan.smallest_peak.reset();
    if (plan.seconds_bound && plan.seconds <= *plan.seconds_bound * (1 + 1e-9))
      plan.status = Plan::Status::optimal;
    const std::string broken = plan::check(problem_, plan);
    TIDEMARK_CHECK(broken.empty(), "a plan with makers breaks a rule: {}", broken);
    best = std::move(plan);
    return true;
  }

  const plan::Problem& problem_;
  const std::vector<Maker>& makers_;
  const plan::Options& options_;
  bool minimum_;
  const Plan* known_;
  bool down_;
  bool least_is_known_ = false;  // and above the budget
  bool calm_only_ = false;       // no codecs that may overflow
  Bytes target_ = -1;            // of a search for the smallest peak: fewer are not asked for
  Plan base_;
};

}  // namespace

Chosen solve_with(const plan::Problem& problem, const std::vector<Maker>& makers,
                  const plan::Options& options, const SolveWith& how) {
  return Choosing(problem, makers, options, how).run();
}

}  // namespace tidemark
