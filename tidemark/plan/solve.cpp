// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/solve.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "tidemark/base/error.h"
#include "tidemark/plan/arrange.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/exact.h"
#include "tidemark/plan/fewest.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/planners/chain_dp.h"
#include "tidemark/plan/search.h"
#include "tidemark/plan/search_threads.h"
#include "tidemark/plan/solve_offsets.h"
#include "tidemark/plan/solve_shares.h"
#include "tidemark/plan/stand_ins.h"

namespace tidemark::plan {
namespace {

using namespace shares;

constexpr double kNever = std::numeric_limits<double>::infinity();

// What comes whatever the search does: the model, steps, hash and check.
double fixed_seconds(const Problem& problem) { return 8e-6 * static_cast<double>(problem.tasks.size()); }

// With less, next to nothing is saved beside what comes anyway, and the plan is far worse.
double least_seconds(const Problem& problem) { return 0.5 * fixed_seconds(problem); }

// The rest is for bounds.
double search_seconds(const Problem& problem, const Options& options) {
  const double rest = std::max(0.5 * options.time_limit, options.time_limit - fixed_seconds(problem));
  const auto tasks = static_cast<double>(problem.tasks.size());
  const double needed = tasks <= kMostToArrange ? kToArrangeASquare * tasks * tasks
                                                : kToPackMore * std::max(0.0, tasks - kMostPackedSoon),
               offsets = options.offsets
                             ? std::clamp(needed / options.time_limit, kLeastForOffsets, kMostForOffsets)
                             : 0;
  return std::max(least_seconds(problem), (options.bounds ? 0.8 : 1.0) * (1 - offsets) * rest);
}

// The answer that says why there is no plan.
Plan impossible(const Problem& problem, Bytes budget, const PeakBound& peak) {
  Plan plan;
  plan.status = Plan::Status::infeasible;
  plan.reason = fmt::format("[solve] no plan fits {}: {}", format_bytes(budget),
                            explain(Values(problem), peak, budget));
  plan.peak_bound = peak.bytes;
  plan.proof.json = proof_json({}, &peak);
  return plan;
}

class Solver {
 public:
  Solver(const Problem& problem, const Options& options, bool below)
      : problem_(problem),
        options_(options),
        below_(below),
        limit_(search_seconds(problem, options), options.effort),
        model_(problem, {.makers = options.makers, .in_place = options.in_place, .tiers = options.tiers}),
        budget_(options.budget < 0 ? kNoLimit : options.budget),
        offsets_({problem_, model_, options_, budget_, limit_, stopped_,
                  [this](const char* phase, const Search* search) {
                    return go_on(phase, search != nullptr ? search->best_seconds() : best_);
                  },
                  [this](Bytes live) { return search_options(live); }}) {
    // Shares of it stop with it.
    limit_.watch(&stopped_);
    if (options.progress) limit_.ask([this] { return go_on(phase_, best_); });
  }

  Plan run() {
    refuse_bad_warm_start();
    bound_first();
    Plan plan = bound_.infeasible ? impossible(problem_, budget_, bound_.peak) : best_plan();
    take_given(plan);
    plan.planner = "solve";
    plan.problem = problem_.name;
    plan.problem_hash = hash(problem_);
    plan.budget = options_.budget < 0 ? plan.peak : options_.budget;
    const bool has_plan = plan.status == Plan::Status::feasible;
    if (options_.bounds) finish_bound(plan, has_plan);
    plan.solve_seconds = limit_.elapsed();
    if (plan.status != Plan::Status::timed_out) {
      const std::string broken = check(problem_, plan);
      TIDEMARK_CHECK(broken.empty(), "[solve] the plan does not check: {}", broken);
    }
    return plan;
  }

 private:
  void refuse_bad_warm_start() const {
    if (options_.warm_start == nullptr) return;
    Plan plan;
    plan.steps = options_.warm_start->steps;
    const std::string broken = replay(problem_, plan).broken;
    if (!broken.empty())
      fail(Error::Kind::usage,
           "[solve] the warm start is no plan for this problem: {}; give one that checks, or none", broken);
  }

  // Never worse than the plan to start from, which may be one that the search has no moves to or from.
  void take_given(Plan& plan) {
    if (options_.warm_start == nullptr || !options_.reorder || !options_.recompute || !options_.makers ||
        !options_.in_place || !options_.tiers)
      return;
    Plan given = plan_of(problem_, options_.warm_start->steps);
    const bool has_plan = plan.status == Plan::Status::feasible;
    if (given.live_peak > budget_ || (has_plan && plan.seconds <= given.seconds)) return;
    if (options_.offsets) offsets_.pack(given, 0.1);
    if (given.peak <= budget_) plan = std::move(given);
  }

  void bound_first() {
    if (!options_.bounds || budget_ == kNoLimit) return;
    bound_ = bound(problem_, {.budget = budget_,
                              .time_limit = 0.1 * options_.time_limit,
                              .effort = kFirstCuts,
                              .branch = false,
                              .go_on = [this] { return go_on("bound", best_); }});
  }

  // On the caller's thread. A no is final: it is not asked again.
  bool go_on(const char* phase, double best) {
    phase_ = phase;
    best_ = best;
    if (!stopped_ && options_.progress &&
        !options_.progress({.seconds_elapsed = limit_.seen(),
                            .best_seconds = best,
                            .bound = bound_.seconds,
                            .phase = phase}))
      stopped_ = true;
    return !stopped_;
  }

  static constexpr std::int64_t kFirstCuts = 2000;  // to find the moment that all bounds are at
  static constexpr std::int64_t kEarlyCuts = 500;   // where rounds are counted instead of time

  double enough() const { return bound_.seconds * (1 + std::max(options_.target_gap, kClosed)); }

  double near() const {
    const double few = kNearTasks / std::max(kNearTasks, static_cast<double>(model_.tasks));
    return std::max(kNearest, kNear * few * few);
  }

  // A plan that is next to the bound may be the best already: then branching says so, and there is nothing left to search for.
  void prove_early(Search& search) {
    const double best = search.best_seconds();
    if (tried_to_prove_ || !options_.bounds || budget_ == kNoLimit || limit_.fraction() < kEarly ||
        best > bound_.seconds * (1 + near()))
      return;
    tried_to_prove_ = true;
    BoundResult better = bound(problem_, {.budget = budget_,
                                          .time_limit = 0.15 * options_.time_limit,
                                          .effort = options_.effort < 0 ? BoundOptions{}.effort : kEarlyCuts,
                                          .known_seconds = best,
                                          .moment = bound_.moment,
                                          .price = bound_.price,
                                          .stages = best > bound_.seconds * (1 + kAtOneMoment),
                                          .go_on = [&] { return go_on("bound", std::min(best, best_)); }});
    if (better.infeasible || better.seconds <= bound_.seconds) return;
    bound_ = std::move(better);
    closed_ = best <= enough();
    search.set_enough(enough());
  }

  // Where the gap is wide, what is left of the time takes more off it from below.
  bool bound_has_more_to_gain(const Search& search, const Limit& limit) const {
    return options_.bounds && options_.effort < 0 && budget_ != kNoLimit &&
           limit.fraction() > kUntilWideGap && search.best_seconds() > bound_.seconds * (1 + kWideGap);
  }

  SearchOptions search_options(Bytes live) const {
    return {.budget = live,
            .seed = options_.seed,
            .reorder = options_.reorder,
            .recompute = options_.recompute,
            .tiers = options_.tiers,
            .blocks = options_.blocks,
            .enough = enough()};
  }

  // Searches within `live` bytes; the arena may need more than is live, so solve asks again with fewer, and from what it had.
  std::vector<TaskId> search(Bytes live, const std::vector<TaskId>& from, std::uint64_t again,
                             Bytes& least_peak) {
    SearchOptions o = search_options(live);
    o.seed += again;
    std::vector<TaskId> near_by;
    if (!from.empty()) {
      const bool counted = options_.effort >= 0;
      Limit share(stopped_  ? kHasty
                  : counted ? options_.time_limit
                            : std::max(0.05, 0.1 * options_.time_limit),
                  counted ? 0 : -1);
      Search near(model_, o, share);
      if (near.offer(from) && near.found()) near_by = near.best();
      if (limit_.time_is_up() || limit_.fraction() > kLate) return near_by;
    }
    Limit limit = limit_.rest(again == 0 ? 1 : kAgain);
    const Exact whole = search_whole(live);
    if (whole.complete && !model_.has_copies() && fits(whole.runs, live)) return whole.runs;
    Search search(model_, o, limit);
    if (near_by.empty() || !search.start_from_offer(near_by)) {
      if (options_.warm_start != nullptr) search.offer(runs_of_steps(model_, options_.warm_start->steps));
      if (!whole.runs.empty()) search.offer(whole.runs);
      if (again == 0) {
        offer_simple(search, live);
        offer_chain(search, live);
      }
      // Where packing leaves holes whatever the plan, the search is one with fewer live bytes from the beginning.
      const bool probe_first = options_.offsets && again == 0 && offsets_.may_have_holes();
      search.start([&] {
        if (options_.offsets && again == 0 && offsets_.needs_sweeps(search.best())) return false;
        return !probe_first || !offsets_.surely_has_holes(search.best());
      });
      if (offsets_.has_holes() || offsets_.needs_ballast()) {
        tried_all_ = false;
        return search.best();
      }
      if (again == 0) offer_last(search, live);
    }
    none_exists_ = whole.complete && whole.runs.empty() && live == budget_ && !model_.leaves_out;
    const auto ask = [&](const char* phase) { return go_on(phase, search.best_seconds()); };
    ask("start");
    search_in_other_ways(search, o, limit);
    double probe = options_.offsets ? kProbe : kNever;
    if (options_.threads > 1 && search.found() && model_.tasks <= kMostForThreads) {
      improve_on_threads(
          search, model_, o, limit,
          {.count = options_.threads, .counted = options_.effort >= 0, .go_on = [&](Search& first) {
             prove_early(first);
             return go_on("improve", first.best_seconds());
           }});
    } else {
      search.improve([&] {
        if (limit.fraction() > probe && search.found()) {
          if (offsets_.far_from_packed(search.best())) return false;
          probe = offsets_.packed && offsets_.packed->seconds <= search.best_seconds()
                      ? limit.fraction() + kProbeAgain
                      : 1;
        }
        prove_early(search);
        return ask("improve") && !bound_has_more_to_gain(search, limit);
      });
    }
    limit_.spend(limit);
    least_peak = search.least_peak();
    least_runs_ = search.least_runs();
    tried_all_ = search.tried_all();
    return search.best();
  }

  // How good a search comes out is decided early, by chance: with much time, others with other random numbers first.
  void search_in_other_ways(Search& search, SearchOptions o, const Limit& limit) {
    const double started = limit_.elapsed(), all = limit.left();
    if (options_.effort >= 0 || options_.threads > 1 || model_.has_copies() || !search.found()) return;
    const int others = static_cast<int>(
        std::min<double>(kMostOthers, kToOthers * all / std::max(kLeastOther, kOtherByStart * started)));
    for (int k = others; k > 0 && !closed_ && !limit.time_is_up(); --k) {
      const double part_of = kToOthers / others;
      Limit part = limit.rest(part_of / (1 - kToOthers + k * part_of));
      o.seed += 7919;
      Search other(model_, o, part);
      other.start();
      other.improve([&] {
        prove_early(other);
        return !closed_ && go_on("improve", std::min(search.best_seconds(), other.best_seconds()));
      });
      search.meet(other);
    }
    if (closed_) search.set_enough(enough());
  }

  bool hasty() const {
    return options_.effort < 0 && options_.time_limit < kForACut * static_cast<double>(model_.tasks);
  }

  // Where copies are on offer the search begins with them; second runs beside what has to be copied anyway may be faster. And a plan made in a
  // simple way is better than none, where there is no time for more.
  void offer_simple(Search& search, Bytes live) {
    if (!options_.recompute || !options_.reorder) return;
    if (model_.has_copies()) {
      if (model_.tasks > kMostForGreedy) return;
      for (const char* name : {"greedy", "linearised_greedy"}) offer_plan_of(name, 0.02, search, live);
    } else if (hasty()) {
      for (const auto& [name, share] :
           {std::pair{"greedy", kSimple}, {"critical_path", kSimpler}, {"sqrt_n", kSimpler}}) {
        if (offer_plan_of(name, share, search, live)) return;
      }
    }
  }

  // On a chain the best persistent plan comes from a table in no time.
  void offer_chain(Search& search, Bytes live) const {
    if (!options_.recompute || model_.has_copies() || model_.tasks > kMostForChain ||
        fits(model_.order, live))
      return;
    const double seconds = options_.effort < 0 ? kToChain * options_.time_limit : kChainCounted;
    const std::vector<Step> steps = named::chain_runs(problem_, live, seconds, limit_.rest(kSimpler));
    if (!steps.empty()) search.offer(runs_of_steps(model_, steps));
  }

  // Dear, and better than none. Where rounds are counted no clock ends it, so it has to be short.
  void offer_last(Search& search, Bytes live) {
    const bool counted = options_.effort >= 0;
    if (search.found() || !options_.recompute || model_.has_copies() ||
        model_.tasks > (counted ? kMostForGreedy : kMostForThreads))
      return;
    if (!counted &&
        (offer_plan_of("greedy", kSimpler, search, live) || offer_plan_of("dtr", kLastShare, search, live)))
      return;
    offer_plan_of("recompute_all", kLastShare, search, live);
  }

  bool offer_plan_of(const char* planner, double share, Search& search, Bytes live) {
    const double left = kUntilBound * options_.time_limit - limit_.elapsed(),
                 seconds = options_.effort < 0 ? std::max(least_seconds(problem_),
                                                          std::min(left, share * options_.time_limit))
                                               : options_.time_limit;
    const Plan plan = run_planner(*find_planner(planner), problem_,
                                  {.budget = live,
                                   .time_limit = seconds,
                                   .effort = options_.effort,
                                   .seed = options_.seed,
                                   .offsets = false,
                                   .makers = options_.makers,
                                   .in_place = options_.in_place,
                                   .bounds = false,
                                   .progress = [this](const Progress&) { return go_on("start", best_); }});
    return has_plan(plan) && search.offer(runs_of_steps(model_, plan.steps)) && search.found();
  }

  bool fits(const std::vector<TaskId>& runs, Bytes live) const {
    if (runs.empty()) return false;
    Timeline line(model_);
    line.assign(runs, 0);
    return line.peak() <= live;
  }

  Exact search_whole(Bytes live) const {
    if (!is_tiny(model_) || (model_.has_copies() && !options_.tiers)) return {};
    return exact(model_, {.budget = live, .reorder = options_.reorder, .recompute = options_.recompute},
                 limit_.rest(kWhole));
  }

  // No start fits: down to the budget as smallest_peak goes, then the same starts with other random numbers, while there is time. Where
  // rounds are counted, once. What it finds is improved. `over`: by live bytes, and not by their packing alone.
  void go_below(Bytes have, bool over) {
    // The search's time may be up, where offsets took what it had left.
    Limit limit = options_.effort >= 0
                      ? limit_.rest(1)
                      : Limit(std::max(limit_.left(), (kUntilBound - (options_.offsets ? kToPackLast : 0)) *
                                                              options_.time_limit -
                                                          limit_.elapsed()),
                              -1);
    limit.watch(&stopped_);
    limit.ask([this] { return go_on("few bytes", best_); });
    std::vector<TaskId> found;
    std::set<Bytes> tried;  // live peaks: the same again is as a rule the same plan
    const auto take = [&](const std::vector<TaskId>& runs) {
      Timeline line(model_);
      line.assign(runs, 0);
      const bool new_peak = line.peak() < have && tried.insert(line.peak()).second;
      // Copies that are half in place are no plan.
      if (runs.empty() || !new_peak || (model_.has_copies() && !is_plan(line))) return have;
      Plan plan = plan_of(problem_, model_, runs);
      if (options_.offsets && plan.live_peak <= budget_) {
        offsets_.pack(plan, 0.08);
        if (plan.peak > budget_) offsets_.arrange(plan, runs, 0.08 * options_.time_limit);
      }
      if (plan.peak < have) least_runs_ = runs;
      have = std::min(have, plan.peak);
      if (plan.peak <= budget_) {
        found = runs_of_steps(model_, plan.steps);
        offsets_.packed = std::move(plan);
      }
      return have;
    };
    SearchOptions o = search_options(budget_);
    const auto start_again = [&](double share) {
      o.seed += 1'000'003;
      Limit part = limit.rest(share);
      Search again(model_, o, part);
      again.start();
      take(again.found() ? again.best() : again.least_runs());
    };
    // Other random numbers, which may be all that is missing, before what needs so many runs more; where starts are quick.
    over = over && limit_.elapsed() < kQuickStart * options_.time_limit;
    while (over && !offsets_.packed && options_.effort < 0 && limit.fraction() < kToStartAgain)
      start_again(2 * kToStartAgain);
    if (!offsets_.packed)
      descend(model_, options_, {std::max(bound_.peak.bytes, model_.base), budget_, have, take}, limit);
    while (!offsets_.packed && options_.effort < 0 && !limit.time_is_up()) {
      tried.clear();
      start_again(1);
    }
    least_below_ = have;
    if (!offsets_.packed) return;
    o.budget = options_.offsets ? offsets_.packed->live_peak : budget_;
    Search search(model_, o, limit);
    if (!search.start_from_offer(found)) return;
    search.improve([&] { return go_on("improve", search.best_seconds()); });
    Plan better = plan_of(problem_, model_, search.best());
    if (options_.offsets) offsets_.pack(better, kToPackLast);
    if (better.peak <= budget_ && better.seconds < offsets_.packed->seconds)
      offsets_.packed = std::move(better);
  }

  bool is_plan(const Timeline& line) const {
    Plan plan;
    plan.steps = steps_of(line);
    return replay(problem_, plan).broken.empty();
  }

  Plan best_plan() {
    Bytes least_peak = 0, live = budget_, had = budget_,
          most_packed = 0;  // live bytes of a plan whose packing fits
    const Bytes arena = budget_ - model_.base;
    std::vector<TaskId> from;
    for (int k = 0; k < kPackings && (k < kSurePackings || limit_.elapsed() < options_.time_limit); ++k) {
      if (offsets_.packed && stopped_) break;
      const std::vector<TaskId> runs = search(live, from, static_cast<std::uint64_t>(k), least_peak);
      if (runs.empty()) {
        // So few live bytes are not to be had: nearer to those that were.
        live += (had - live) / 2;
        if (from.empty() || had - live <= arena / 4000) break;
        continue;
      }
      Plan plan = plan_of(problem_, model_, runs);
      if (!options_.offsets) return plan;
      if (offsets_.has_holes()) {
        offsets_.fill_holes(runs);
        break;
      }
      const bool needs_ballast = k == 0 && offsets_.needs_ballast();
      if (needs_ballast) offsets_.fill_with_ballast(runs);
      if (needs_ballast && offsets_.packed) break;
      const bool may_arrange = offsets_.may_arrange(runs);
      const double left = kUntilBound - limit_.elapsed() / options_.time_limit,
                   share = std::min(limit_.fraction() > kLate ? 0.14 : 0.08, std::max(kLeastToPack, left));
      offsets_.pack(plan, may_arrange && !offsets_.has_many() ? kToProbe : share);
      if (plan.peak > budget_) offsets_.arrange(plan, runs, kToArrangeAll * options_.time_limit);
      if (plan.peak > budget_ && may_arrange) {
        offsets_.fill_holes(runs);
        break;
      }
      if (offsets_.has_large_holes(plan) && k == 0 && !needs_ballast && offsets_.may_ballast()) {
        offsets_.least_packed = std::min(offsets_.least_packed, plan.peak);
        offsets_.fill_with_ballast(runs);
        if (offsets_.packed) break;
      }
      if (plan.peak <= budget_) {
        if (!offsets_.packed || plan.seconds < offsets_.packed->seconds) offsets_.packed = std::move(plan);
        // Fewer live bytes than had to be: towards those whose packing did not fit.
        most_packed = std::max(most_packed, live);
        if (limit_.fraction() > kLate || static_cast<double>(had - live) <= kFar * static_cast<double>(arena))
          break;
        live += (had - live) / 2;
        continue;
      }
      offsets_.least_packed = std::min(offsets_.least_packed, plan.peak);
      from = runs;
      had = live;
      // The holes are a property of the plan: with that much less live, the next one fits, as a rule.
      const Bytes most = k < kSmallSteps ? static_cast<Bytes>(kStepDown * static_cast<double>(arena)) : arena;
      live -= std::max<Bytes>(1, std::clamp(plan.peak - budget_, arena / 500, most));
      if (live <= most_packed) live = most_packed + (had - most_packed) / 2;
      if (offsets_.packed && (limit_.fraction() > kLate || had - live <= arena / 400)) break;
    }
    const Bytes least = least_peak > budget_ ? least_peak : offsets_.least_packed;
    if (!offsets_.packed && below_ && !none_exists_ && !stopped_ &&
        least < std::numeric_limits<Bytes>::max() && model_.tasks <= kMostForThreads)
      go_below(least, least_peak > budget_);
    if (offsets_.packed) return *offsets_.packed;
    Plan plan;
    // Not found is not impossible; but where every start was tried to its end, more time of the same kind would not help. For offsets it may.
    const bool no_live_bytes = offsets_.least_packed == std::numeric_limits<Bytes>::max();
    plan.status =
        tried_all_ && no_live_bytes && !stopped_ ? Plan::Status::infeasible : Plan::Status::timed_out;
    // Live bytes that fit are no plan where the offsets do not.
    least_peak = std::min(least, least_below_);
    if (options_.offsets && least_peak < offsets_.least_packed && !least_runs_.empty() &&
        !model_.has_copies()) {
      Plan nearest = plan_of(problem_, model_, least_runs_);
      offsets_.pack(nearest, kLeastToPack);
      least_peak = std::min(nearest.peak, offsets_.least_packed);
    }
    if (least_peak == std::numeric_limits<Bytes>::max()) {
      // No budget would help, so it is not infeasible in the sense of the format.
      plan.status = Plan::Status::timed_out;
      plan.reason =
          model_.has_copies()
              ? "[solve] no plan found: in all that was tried, what is copied out does not fit its tier"
              : "[solve] no plan found in the time";
      return plan;
    }
    plan.smallest_peak = least_peak;
    if (none_exists_) {
      plan.status = Plan::Status::infeasible;
      plan.reason =
          fmt::format("[solve] every plan was looked at, none has {} live or fewer", format_bytes(budget_));
      return plan;
    }
    plan.reason = fmt::format("[solve] no plan found within {}: the least peak found is {}",
                              format_bytes(budget_, least_peak), format_bytes(least_peak, budget_));
    return plan;
  }

  void finish_bound(Plan& plan, bool has_plan) {
    // Near enough already: what is left to do is the certificate.
    const bool near =
        has_plan && options_.target_gap > 0 && plan.seconds <= bound_.seconds * (1 + options_.target_gap);
    // Told to stop: what was proven until then is the answer's.
    const bool done =
        (closed_ && has_plan && plan.seconds <= enough()) || (stopped_ && !bound_.proof.json.empty());
    if (!done) {
      // A bound may take longer than it is given, by a cut or a program.
      const double left =
                       0.82 * (options_.time_limit - fixed_seconds(problem_) - limit_.elapsed()) - kOneMore,
                   share = 0.1 * options_.time_limit;
      BoundOptions o{.budget = budget_ == kNoLimit ? -1 : budget_,
                     .time_limit = near ? share : std::max(kLeastBound * options_.time_limit, left)};
      if (near) o.branch = false;
      if (has_plan) o.known_seconds = plan.seconds;
      o.moment = bound_.moment;
      o.price = bound_.price;
      o.scan = bound_.hurried;
      o.go_on = [&] { return go_on("bound", has_plan ? plan.seconds : best_); };
      BoundResult last = bound(problem_, o);
      if (last.infeasible || last.seconds >= bound_.seconds || bound_.proof.json.empty())
        bound_ = std::move(last);
    }
    if (bound_.infeasible) return;
    plan.seconds_bound = has_plan ? std::min(bound_.seconds, plan.seconds) : bound_.seconds;
    plan.proof = bound_.proof;
    if (has_plan && plan.seconds <= bound_.seconds * (1 + 1e-9)) plan.status = Plan::Status::optimal;
  }

  const Problem& problem_;
  const Options& options_;
  const bool below_;
  Limit limit_;
  Model model_;
  Bytes budget_;
  BoundResult bound_;
  std::atomic<bool> stopped_ = false;                      // by the caller
  const char* phase_ = "start";                            // what the caller was told last
  double best_ = std::numeric_limits<double>::infinity();  // seconds, likewise
  bool tried_to_prove_ = false, closed_ = false;
  bool tried_all_ = true;
  bool none_exists_ = false;                               // every state was seen
  Bytes least_below_ = std::numeric_limits<Bytes>::max();  // that go_below came to
  std::vector<TaskId> least_runs_;                         // with the least peak that did not fit
  Offsets offsets_;
};

}  // namespace

Plan solve(const Problem& problem, const Options& options) {
  // The search trusts in the list: without this, one that is no order would have it write anywhere.
  if (const std::string broken = verify(problem); !broken.empty())
    fail(Error::Kind::usage, "[solve] problem: {}", broken);
  return solve(problem, options, true);
}

Plan solve(const Problem& problem, const Options& options, bool below) {
  // Nothing to do: what is always there is all there is.
  if (no_run_helps(problem)) {
    Plan plan = finish(problem, {}, options);
    if (plan.seconds_bound) plan.proof = bound(problem, {.budget = options.budget}).proof;
    if (plan.status != Plan::Status::infeasible) return plan;
    const PeakBound peak = peak_bound(Values(problem));
    if (peak.bytes <= options.budget) return plan;
    Plan none = impossible(problem, options.budget, peak);
    none.smallest_peak = plan.smallest_peak;
    return none;
  }
  const auto search = [](const Problem& list, const Options& o, bool thorough) {
    return Solver(list, o, thorough).run();
  };
  if (options.makers && has_stand_ins(problem)) return solve_with_stand_ins(problem, options, below, search);
  return search(problem, options, below);
}

}  // namespace tidemark::plan
