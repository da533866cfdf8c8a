// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/solve_offsets.h"

#include <algorithm>
#include <utility>

#include "tidemark/plan/arrange.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/solve_shares.h"

namespace tidemark::plan {

using namespace shares;

Plan plan_of(const Problem& problem, const Model& model, const std::vector<TaskId>& runs) {
  Timeline line(model);
  line.assign(runs, 0);
  return plan_of(problem, steps_of(line));
}

Offsets::Offsets(Of of) : of_(std::move(of)), can_arrange_(can_arrange(of_.model, of_.options)) {}

// Values of few sizes take over each other's places; where nearly every one has a size of its own, what one leaves is too small for the next, or leaves a rest.
bool Offsets::may_have_holes() const {
  constexpr Bytes kLarge = 200;  // of the largest, and more, count
  constexpr double kMany = 0.3;  // of them: so many sizes
  const Bytes largest =
      of_.model.size.empty() ? 0 : *std::max_element(of_.model.size.begin(), of_.model.size.end());
  std::vector<Bytes> sizes;
  for (const Bytes b : of_.model.size) {
    if (b > largest / kLarge) sizes.push_back(b);
  }
  const auto all = static_cast<double>(sizes.size());
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return can_arrange_ && static_cast<double>(sizes.size()) > kMany * all;
}

bool Offsets::has_many() const { return of_.model.tasks > kMostWithoutDives; }

// Where there are many, by dives or not at all: ejection takes many rounds, and each looks at all that have a place.
bool Offsets::may_arrange(const std::vector<TaskId>& runs) {
  if (can_arrange_ && !looked_ && has_many()) {
    Arrange arrange(of_.model, of_.budget - of_.model.base, of_.options.seed);
    const double seconds = of_.options.effort < 0 ? kLeastToArrange * of_.options.time_limit / kDivesOfATry
                                                  : std::numeric_limits<double>::infinity();
    can_arrange_ = arrange.dives_pay(runs, seconds);
  }
  looked_ = true;
  return can_arrange_;
}

void Offsets::pack(Plan& plan, double share) {
  const bool counted = of_.options.effort >= 0;
  double seconds = of_.options.time_limit - of_.limit.elapsed();
  if (!counted) seconds = std::min(seconds, share * of_.options.time_limit);
  // With less than rules need, what is left over says little about the plan.
  seconds = std::max(
      {seconds, 0.02,
       std::min(kToPackATask * static_cast<double>(of_.model.tasks), kMostToPack * of_.options.time_limit)});
  if (of_.stopped) seconds = std::min(seconds, kHasty);
  place(
      of_.problem, plan, of_.budget >= kNoLimit ? -1 : of_.budget - of_.model.base, seconds, counted,
      of_.stopped ? std::function<bool()>() : [this] { return of_.go_on("offsets", nullptr); });
}

void Offsets::arrange(Plan& plan, const std::vector<TaskId>& runs, double seconds) {
  if (!may_arrange(runs)) return;
  Limit limit(of_.options.effort < 0 ? seconds : of_.options.time_limit, -1);
  limit.ask([this] { return of_.go_on("offsets", nullptr); });
  Options options = of_.options;
  options.seed += kSeedsOfATry * tries_++;
  if (std::optional<Plan> other =
          arranged(of_.problem, of_.model, runs, of_.budget - of_.model.base, options, limit))
    plan = *std::move(other);
}

// By how much packing is over the budget, of the arena, shows on a plan that is not the best yet.
double Offsets::over_when_packed(const std::vector<TaskId>& runs, double share) {
  Plan plan = plan_of(of_.problem, of_.model, runs);
  pack(plan, share);
  least_packed = std::min(least_packed, plan.peak);
  if (plan.peak <= of_.budget && (!packed || plan.seconds < packed->seconds)) packed = plan;
  return static_cast<double>(plan.peak - of_.budget) / static_cast<double>(of_.budget - of_.model.base);
}

double Offsets::to_probe(const std::vector<TaskId>& runs) {
  return may_arrange(runs) && !has_many() ? kToProbe : kToProbeAlone;
}

bool Offsets::surely_has_holes(const std::vector<TaskId>& runs) {
  holes_ = of_.budget < kNoLimit && over_when_packed(runs, to_probe(runs)) > kHoles;
  if (holes_) fewer_ = kFewest;
  return holes_;
}

bool Offsets::needs_sweeps(const std::vector<TaskId>& runs) {
  return !can_arrange_ && may_ballast() && sweeps_leave_holes(runs);
}

bool Offsets::far_from_packed(const std::vector<TaskId>& runs) {
  if (of_.budget >= kNoLimit) return false;
  if (!may_arrange(runs) && may_ballast()) return sweeps_leave_holes(runs);
  const double over = over_when_packed(runs, to_probe(runs));
  if (!can_arrange_) return over > kFar;
  if (over > kHoles) fewer_ = fewer_for(runs);
  // Where the order does nearly all, the search goes on as if there were no offsets: it is the better for being one.
  holes_ = fewer_ > kEasy;
  return holes_;
}

// Live bytes fewer, of the arena, with which offsets and order can be looked for together.
double Offsets::fewer_for(const std::vector<TaskId>& runs) {
  const bool counted = of_.options.effort >= 0;
  const double seconds = counted ? of_.options.time_limit : kToMeasure * of_.options.time_limit;
  const auto many = static_cast<double>(runs.size());
  if (!counted && kToArrangeASquare * many * many > seconds) return kEasy;
  Limit limit(seconds, -1);
  limit.ask([this] { return of_.go_on("offsets", nullptr); });
  Arrange arrange(of_.model, of_.budget - of_.model.base, of_.options.seed);
  const std::optional<double> part = arrange.part_over(runs, kFewer, limit);
  return part ? std::clamp(kOptimism * *part, kLeastFewer, kFewest) : kEasy;
}

// What is left until the bound needs it.
double Offsets::seconds_left() const { return kUntilBound * of_.options.time_limit - of_.limit.elapsed(); }

// From a plan that may need more. Nothing: so few live bytes are not to be had.
std::vector<TaskId> Offsets::search_below(const Model& model, Bytes live, const std::vector<TaskId>& from,
                                          double seconds, double share, std::uint64_t again, bool anew) {
  SearchOptions o = of_.search_options(live);
  o.seed += again;
  Limit limit = of_.limit.rest(share);
  if (of_.options.effort < 0) limit = Limit(std::max(kToFit * of_.options.time_limit, seconds), -1);
  limit.watch(&of_.stopped);
  if (of_.options.progress) limit.ask([this] { return of_.go_on("improve", nullptr); });
  Search search(model, o, limit);
  if (anew) {
    // What was best with more live bytes is far from the best with fewer, as a rule.
    search.offer(from);
    search.start();
  }
  if (anew ? !search.found() : !search.start_from_offer(from)) {
    of_.limit.spend(limit);
    return {};
  }
  if (packed) search.offer(runs_of_steps(of_.model, packed->steps));
  search.improve([&] { return of_.go_on("improve", &search); });
  of_.limit.spend(limit);
  return search.best();
}

// Packing leaves many holes, and another order fewer: how few live bytes that takes shows by trying.
void Offsets::fill_holes(const std::vector<TaskId>& given) {
  fill_with_fewer(given);
  // So near to the least live bytes, no fewer are to be had.
  if (!packed && holes_ && !of_.stopped)
    try_to_pack(plan_of(of_.problem, of_.model, given), given, true, true);
}

void Offsets::fill_with_fewer(std::vector<TaskId> from) {
  const auto arena = static_cast<double>(of_.budget - of_.model.base);
  // Live bytes fewer than the budget, of the arena: those of the next try, too few of them, and enough or more than can be had.
  double part = std::max(fewer_, kLeastFewer), few = 0, enough = 1;
  bool again = false;  // the plan is known, and is to have its places
  for (int k = 0; k < kPackings; ++k) {
    // Where rounds are counted, what is tried does not depend on the time.
    const bool late = of_.options.effort < 0 ? seconds_left() <= 0 : of_.limit.fraction() >= 1;
    if (packed ? late || of_.stopped : late && k >= kSurePackings) return;
    const bool anew = k == 0 && of_.limit.fraction() < kLate;
    const double share = anew ? kToSearch : packed ? kToRaise : kToLower;
    std::vector<TaskId> runs = from;
    if (!again)
      runs = search_below(
          of_.model, of_.budget - static_cast<Bytes>(part * arena), from,
          anew ? kToSearch * of_.options.time_limit - of_.limit.elapsed() : share * seconds_left(), share,
          static_cast<std::uint64_t>(k) + 1, anew);
    Bytes over = 0;
    if (!runs.empty()) {
      Plan plan = plan_of(of_.problem, of_.model, runs);
      if (!packed || plan.seconds < packed->seconds)
        over = try_to_pack(std::move(plan), runs, late, k < kBySteps, again);
      from = std::move(runs);
    }
    // Another search finds no better one in what is left of the time.
    again = over > 0 && packed && of_.options.effort < 0;
    if (again) continue;
    (over > 0 ? few : enough) = part;
    // Where rounds are counted, offsets take longer than so few of them.
    if ((!packed || of_.options.effort >= 0) && enough - few < kLeastFewer) return;
    if (enough == 1) {
      // Once more of the same does not help, by what packing alone leaves over, and all of that in the end.
      const double of_over = k < kBySteps ? 0 : late ? 1 : kPartOver;
      part += std::max(kFewerStill, of_over * static_cast<double>(over) / arena);
    } else {
      // Where they are known, it is the search that goes on.
      part = enough - (enough - few < kLeastFewer ? 0 : (packed ? kUpwards : kToLessFew) * (enough - few));
    }
  }
}

bool Offsets::may_ballast() const {
  const bool has_time = of_.options.effort >= 0 || kSureBallasts * kBallastATask * of_.model.tasks <=
                                                       kMostToBallast * of_.options.time_limit;
  return has_time && of_.budget < kNoLimit && !of_.model.has_copies() && of_.options.recompute &&
         of_.model.tasks <= kMostForBallast;
}

// A few per cent are closed by so many fewer live bytes, for less than ballast takes.
bool Offsets::has_large_holes(const Plan& plan) const {
  const auto over = static_cast<double>(plan.peak - of_.budget);
  return over > kHolesForBallast * static_cast<double>(of_.budget - of_.model.base);
}

bool Offsets::sweeps_leave_holes(const std::vector<TaskId>& runs) {
  Plan plan = plan_of(of_.problem, of_.model, runs);
  Ballast none(of_.problem, of_.model, of_.budget - of_.model.base);
  if (none.place(plan, kSweepsToProbe, sweeps_limit())) {
    if (!packed || plan.seconds < packed->seconds) packed = std::move(plan);
    return false;
  }
  // One value left out may be that many bytes where packing by rules finds places for all in hardly more than the arena.
  ballast_ =
      static_cast<double>(none.bytes_out()) > kHoles * static_cast<double>(of_.budget - of_.model.base) &&
      over_when_packed(runs, kToProbeBeside) > kHolesForBallast;
  return ballast_;
}

Limit Offsets::sweeps_limit() {
  Limit limit(of_.options.effort >= 0 ? of_.options.time_limit : kToSweep * of_.options.time_limit, -1);
  limit.ask([this] { return of_.go_on("offsets", nullptr); });
  return limit;
}

// What found offsets is searched on from with a part of the ballast: a faster plan may find them too.
void Offsets::fill_with_ballast(const std::vector<TaskId>& given) {
  const bool counted = of_.options.effort >= 0;
  const Bytes arena = of_.budget - of_.model.base;
  Ballast ballast(of_.problem, of_.model, arena);
  std::vector<TaskId> runs = given;
  int hard_to_add = 0;
  for (int k = 0; k < kBallasts; ++k) {
    // A plan first, if need be later than all that should end.
    const bool late = counted ? of_.limit.fraction() >= 1 : seconds_left() <= 0;
    if (of_.stopped || (late && (packed || k >= kSureBallasts))) return;
    Plan plan = plan_of(of_.problem, of_.model, runs);
    const bool hard = !packed && k >= kToMostBallast, slower = packed && plan.seconds >= packed->seconds;
    bool adds = false;
    if (!slower) adds = !ballast.place(plan, hard ? kMostSweepsATry : kSweepsATry, sweeps_limit());
    if (!slower && !adds) packed = std::move(plan);
    if (!adds) ballast.lighten(kLighter);
    std::vector<TaskId> next;
    std::size_t tries = 0;
    for (; next.empty() && tries < (adds ? std::size(kToAdd) : 1); ++tries) {
      const Bytes most = arena / (hard ? kMostBallast : kBallast);
      if (adds)
        ballast.set(static_cast<Bytes>(kToAdd[tries].part * static_cast<double>(most)),
                    kToAdd[tries].most_live);
      next = search_below(ballast.model(), of_.budget, runs, kToBallast * of_.options.time_limit, kToRaise,
                          static_cast<std::uint64_t>(k) + 1, false);
    }
    hard_to_add = adds && tries > kEasyToAdd ? hard_to_add + 1 : 0;
    const bool begin_again = next.empty() || (hard_to_add >= kHardToAdd && !packed);
    runs = begin_again ? given : std::move(next);
    if (!begin_again) continue;
    // Where places are missing there are no fewer live bytes: another way there.
    ballast.lighten(kLightest);
    ballast.forget();
    hard_to_add = 0;
  }
}

// The bytes that are over; 0: it is packed now.
Bytes Offsets::try_to_pack(Plan plan, const std::vector<TaskId>& runs, bool late, bool hopeful, bool again) {
  const double least = packed ? 0 : hopeful ? kLeastToArrange : kLeastToArrange / 2;
  if (!late || !packed)
    arrange(plan, runs, std::max(least * of_.options.time_limit, (again ? 1 : kToArrange) * seconds_left()));
  if (!plan.has_arena && (late || !packed)) pack(plan, 0.01);
  if (!plan.has_arena) return 1;
  least_packed = std::min(least_packed, plan.peak);
  if (plan.peak > of_.budget) return plan.peak - of_.budget;
  packed = std::move(plan);
  return 0;
}

}  // namespace tidemark::plan
