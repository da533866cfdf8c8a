// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tidemark/plan/branch.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/gap_bound.h"
#include "tidemark/plan/moment_search.h"
#include "tidemark/plan/order_split.h"
#include "tidemark/plan/stage_search.h"

namespace tidemark::plan {
namespace {

// Of the floor, to a plan that is known: what branching at one moment closes in less time than programs of several.
constexpr double kSmallGap = 0.002;
constexpr double kShareOfOne = 0.5;  // of the time, for that; the rest is for programs where it does not
// Of the floor, to a plan that is known: for cases by order to be looked for with cuts, and with programs; of the time, to look for them.
constexpr double kOrderGap = 0.0005, kProgramGap = 0.01, kOrderShare = 0.4;
// What the cases that programs show have to close of the gap, which is taken to be no more than so much of the floor.
constexpr double kPartOfGap = 0.15, kMostGap = 0.05;
constexpr double kProgramsShare = 0.35;   // of the time, to choose moments; the rest is for branching
constexpr double kUnhurried = 0.15;       // of the time: until then moments that add little are taken too
constexpr double kLongerAndLonger = 1.5;  // than the longest program so far: what the next may take
constexpr double kGapsShare = 0.3;        // of the time, where a cut may take it all
// What a cut and its proof differ by: no reason to look for the proof of the same once more.
constexpr double kRounding = 1e-12;
constexpr double kOutOfReach =
    0.004;  // of the floor: so much more is not made up for by branching at one moment

class Search {
 public:
  // `orders`: the case, where it is one of several; `values` are of the same.
  Search(const Values& values, const BoundOptions& options, std::vector<Certificate::Case> orders = {})
      : v_(values), o_(options), limit_(options.time_limit, -1), looks_(v_, o_, limit_, result_.cuts) {
    limit_.watch(options.stop);
    limit_.ask(options.go_on);
    certificate_.unit_exponent = unit_exponent_for(values.floor_seconds);
    certificate_.orders = std::move(orders);
  }

  BoundResult run() {
    prove();
    result_.leaves = 0;
    for (const Certificate& c : cases_) result_.leaves += static_cast<int>(c.leaves.size());
    if (o_.peak || result_.infeasible)
      result_.peak = peak_bound(v_, 64, result_.infeasible ? result_.moment : -1);
    result_.infeasible = o_.budget >= 0 && result_.peak.bytes > o_.budget;
    if (result_.infeasible || result_.seconds == std::numeric_limits<double>::infinity())
      result_.seconds = v_.floor_seconds;
    if (o_.certificate)
      result_.proof.json = proof_json(cases_, o_.peak || result_.infeasible ? &result_.peak : nullptr);
    result_.choices = looks_.choices();
    return std::move(result_);
  }

 private:
  // Leaves the seconds and the cases that prove them.
  void prove() {
    result_.seconds = result_.floor_seconds = proven_ = v_.floor_seconds;
    if (o_.budget >= 0 && v_.tasks() > 0) {
      if (looks_.is_large())
        take(gap_bound(v_, looks_.moments(), looks_.live(),
                       {.budget = o_.budget, .seconds = kGapsShare * o_.time_limit, .limit = &limit_}));
      looks_.run(certificate_.orders.empty());
      const MomentSearch::Best& best = looks_.best();
      result_.infeasible = looks_.is_impossible();
      result_.moment = result_.infeasible ? best.impossible_at : best.moment;
      result_.price = best.price;
      result_.hurried = best.hurried;
      result_.seconds = std::max(result_.seconds, best.seconds);
      if (!result_.infeasible) take(shown_);
      if (!split_by_cuts()) branch_somewhere();
      if (!cases_.empty()) return;
    }
    if (result_.infeasible && !certificate_.orders.empty()) show_impossible();
    if (proven_ < (1 - kRounding) * looks_.best().seconds) take_best_look();
    if (certificate_.leaves.empty()) certificate_.leaves.emplace_back();
    result_.seconds = proven_;
    result_.moments = certificate_.moments;
    cases_.push_back(std::move(certificate_));
  }

  void take_best_look() {
    Certificate found{.moments = {looks_.best().moment}, .unit_exponent = certificate_.unit_exponent};
    found.leaves.push_back(looks_.best().leaf);
    const double seconds = seconds_of(found);
    keep(std::move(found), seconds);
  }

  // Where the gap is small, at one moment first; else at several, or in cases after all, and at one where that may do more.
  void branch_somewhere() {
    if (result_.moment < 0 || result_.infeasible) return;
    const double single = result_.seconds;
    const bool small = o_.known_seconds - single < kSmallGap * v_.floor_seconds;
    if (small) branch_at_best(o_.stages ? kShareOfOne : 1);
    StageSearch several =
        small && result_.seconds >= o_.known_seconds ? StageSearch() : search_more_moments();
    if (several.program && split_by_programs()) return;
    const bool far = small || result_.seconds > single + kOutOfReach * v_.floor_seconds;
    if (several.program) branch_at_moments(std::move(several.program), far);
    if (certificate_.leaves.empty() || (!far && result_.seconds < o_.known_seconds)) branch_at_best(1);
  }

  // A case without plans.
  void show_impossible() {
    CutModel model(v_, result_.moment);
    Certificate found{.moments = {result_.moment}, .unit_exponent = certificate_.unit_exponent};
    model.least_stored(&found.leaves.emplace_back());
    found.leaves[0].impossible = true;
    const double seconds = seconds_of(found);
    keep(std::move(found), seconds);
  }

  bool may_split(double least_gap) const {
    constexpr std::size_t kMostOrders = 6;
    constexpr int kMostTasks = 4000;  // beyond, the time is for one cut
    return o_.orders && o_.branch && v_.problem.tiers.empty() && v_.tasks() <= kMostTasks &&
           certificate_.orders.size() < kMostOrders && result_.moment >= 0 && !result_.infeasible &&
           o_.known_seconds - result_.seconds >= least_gap * v_.floor_seconds;
  }

  OrderOptions order_options() const {
    return {.budget = o_.budget,
            .moment = result_.moment,
            .price = result_.price,
            .seconds = result_.seconds,
            .enough = o_.known_seconds,
            .limit = &limit_};
  }

  bool split_by_cuts() {
    if (!may_split(kOrderGap)) return false;
    OrderOptions options = order_options();
    options.go_on = [&](int cuts) {
      return (result_.cuts += cuts) < o_.effort && looks_.may_screen(kOrderShare);
    };
    std::optional<OrderSplit> split = choose_order(v_, held_orders(certificate_.orders), options);
    return split && split_by(std::move(*split), -1);  // the hard moment may be another in each
  }

  bool split_by_programs() {
    if (!may_split(kProgramGap)) return false;
    OrderOptions options = order_options();
    double begun = -1, longest = 2 * seconds_of_program();
    options.go_on = [&](int) {
      const double now = limit_.elapsed();
      if (begun >= 0) longest = std::max(longest, now - begun);
      begun = now;
      result_.cuts += 2 * cuts_for_program(2);
      return looks_.may_screen(kOrderShare) && now + longest < o_.time_limit;
    };
    const double gap = std::min(o_.known_seconds - result_.seconds, kMostGap * v_.floor_seconds);
    std::optional<OrderSplit> split =
        choose_order_by_programs(v_, held_orders(certificate_.orders), options, kPartOfGap * gap);
    return split && split_by(std::move(*split), result_.moment);
  }

  // Every plan is of one case or the other: what is proven of both holds. False: no more is proven of one of them. `moment`: of both, or -1.
  bool split_by(OrderSplit split, TaskId moment) {
    constexpr double kShareOfLower = 0.8;  // of what is left; the other has to come up to it, no further
    BoundResult part[2];
    std::vector<Certificate> cases[2];
    const int lower = split.holds.seconds < split.turned.seconds ? 0 : 1;
    for (const int which : {lower, 1 - lower}) {
      std::vector<Certificate::Case> orders = certificate_.orders;
      orders.push_back({split.order, which == 1});
      const Values values(v_.problem, held_orders(orders));
      BoundOptions options = o_;
      options.moment = moment;
      const double share = which == lower ? kShareOfLower : 1;
      options.time_limit = share * std::max(0.0, o_.time_limit - limit_.elapsed());
      options.effort = static_cast<std::int64_t>(share * static_cast<double>(o_.effort - result_.cuts));
      if (which != lower) options.known_seconds = std::min(o_.known_seconds, part[lower].seconds);
      const TaskId first = orders.back().holds().first;
      Search search(values, options, std::move(orders));
      search.also_ = first;
      search.shown_ = std::move(which == 1 ? split.turned : split.holds);
      search.prove();
      result_.cuts += search.result_.cuts;
      part[which] = std::move(search.result_);
      cases[which] = std::move(search.cases_);
      if (part[which].seconds <= result_.seconds) return false;
    }
    const double least = std::min(part[0].seconds, part[1].seconds);
    if (least <= result_.seconds || least == std::numeric_limits<double>::infinity()) return false;
    result_.seconds = least;
    result_.moments = part[part[1].seconds < part[0].seconds ? 1 : 0].moments;
    cases_ = std::move(cases[0]);
    std::move(cases[1].begin(), cases[1].end(), std::back_inserter(cases_));
    return true;
  }

  // Worth it only where runs need much of the budget by themselves.
  StageSearch search_more_moments() {
    if (!o_.stages) return {};
    StageOptions options{.budget = o_.budget, .enough = o_.known_seconds, .also = also_, .limit = &limit_};
    // What a program costs in seconds, as the programs before show.
    double begun = limit_.elapsed(), longest = seconds_of_program();
    const double until = begun + kProgramsShare * (o_.time_limit - begun);
    options.unhurried = [&] { return limit_.elapsed() < kUnhurried * o_.time_limit; };
    int under_way = 0;
    options.go_on = [&](int moments) {
      // One of a single moment says where a second would be: it is for nothing without time for two.
      const std::int64_t cuts = cuts_for_program(std::max(moments, 2));
      const double now = limit_.elapsed();
      if (under_way > 1) longest = std::max(longest, now - begun);
      begun = now;
      under_way = moments;
      if (limit_.time_is_up() || now + kLongerAndLonger * longest > until || result_.cuts + cuts > o_.effort)
        return false;
      result_.cuts += cuts;
      return true;
    };
    StageSearch found = search_stages(v_, result_.moment, result_.seconds, options);
    take(found.best);
    return found;
  }

  void take(const StageBound& b) {
    if (b.seconds > result_.seconds) keep(b.certificate, b.seconds);
  }

  void keep(Certificate found, double seconds) {
    if (seconds <= proven_) return;
    proven_ = seconds;
    result_.seconds = std::max(result_.seconds, seconds);
    found.orders = std::move(certificate_.orders);
    certificate_ = std::move(found);
  }

  double seconds_of(const Certificate& c) const {
    const Evaluation facts(v_, c.moments, c.unit_exponent, o_.budget);
    double least = std::numeric_limits<double>::infinity();
    for (const auto& leaf : c.leaves) least = std::min(least, facts.seconds(leaf));
    return least;
  }

  // What a program of few moments costs, about.
  double seconds_of_program() const {
    const double size = 1e-3 * (v_.tasks() + v_.values());
    return 3e-3 * size * size;
  }

  // What a program costs, in cuts: it grows with the square of the unknowns.
  std::int64_t cuts_for_program(int moments) const {
    const double size = 1e-3 * (v_.tasks() + v_.values()) * moments;
    return static_cast<std::int64_t>(4 * size * size) + 1;
  }

  // `last`: nothing follows.
  void branch_at_moments(std::unique_ptr<StageProgram> program, bool last) {
    if (!o_.branch || result_.seconds >= o_.known_seconds) return;
    // The proof has the rows of every leaf.
    constexpr std::int64_t kMostRows = 200'000;
    const Certificate::Leaf root = program->leaf();
    const auto rows = static_cast<std::int64_t>(root.need.size() + root.keep.size() + root.parts.size() + 1);
    // Half of what is left where something follows.
    double begun = -1, longest = 0;
    const double until = last ? o_.time_limit : 0.5 * (limit_.elapsed() + o_.time_limit);
    const std::int64_t most_cuts = result_.cuts + (o_.effort - result_.cuts) / 2;
    StageBranchOptions options{
        .enough = o_.known_seconds,
        .leaves = static_cast<int>(std::min<std::int64_t>(o_.leaves, kMostRows / rows))};
    // From one basis to the next is a part of the way.
    const std::int64_t cuts_for_split = cuts_for_program(static_cast<int>(program->moments().size())) / 8 + 1;
    options.go_on = [&] {
      const double now = limit_.elapsed();
      if (begun >= 0) longest = std::max(longest, now - begun);
      begun = now;
      if (limit_.time_is_up() || now + 2 * longest > until || result_.cuts + cuts_for_split > most_cuts)
        return false;
      result_.cuts += cuts_for_split;
      return true;
    };
    take(branch_and_grow(v_, std::move(program), options));
  }

  // `share`: of the time that is left.
  void branch_at_best(double share) {
    if (!looks_.more_time()) return;
    CutModel model(v_, result_.moment);
    model.limit_work(looks_.work_limit(), &limit_);
    model.set_links(looks_.links());
    BranchOptions options{.budget = o_.budget,
                          .enough = o_.known_seconds,
                          .leaves = o_.branch ? o_.leaves : 1,
                          .price = result_.price};
    const std::int64_t before = result_.cuts;
    const double until = limit_.elapsed() + share * (o_.time_limit - limit_.elapsed());
    const auto most_cuts =
        before + static_cast<std::int64_t>(share * static_cast<double>(o_.effort - before));
    options.go_on = [&] {
      result_.cuts = before + model.cuts_made();
      return result_.cuts < most_cuts && looks_.more_time() && (share == 1 || limit_.elapsed() < until);
    };
    Certificate found = branch(v_, model, options);
    result_.cuts = before + model.cuts_made();
    const double seconds = seconds_of(found);
    // No plan at all: what that means is the peak's.
    if (seconds < std::numeric_limits<double>::infinity()) keep(std::move(found), seconds);
  }

  const Values& v_;
  BoundOptions o_;
  Limit limit_;
  BoundResult result_;
  MomentSearch looks_;
  TaskId also_ = -1;                // of a case by order, which may be hard beside the best moment
  StageBound shown_;                // of such a case, when it was chosen
  Certificate certificate_;         // of this case, while it is looked for
  double proven_ = 0;               // by it; a look may have seen more
  std::vector<Certificate> cases_;  // at the end: this one, or those that it was split into
};

}  // namespace

BoundResult bound(const Values& values, const BoundOptions& options) { return Search(values, options).run(); }

BoundResult bound(const Problem& problem, const BoundOptions& options) {
  const Values values(problem);
  return bound(values, options);
}

}  // namespace tidemark::plan
