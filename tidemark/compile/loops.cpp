// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/loops.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tidemark/compile/compiled.h"
#include "tidemark/compile/loop_choices.h"
#include "tidemark/compile/loop_parts.h"
#include "tidemark/compile/pins.h"
#include "tidemark/ops/loops.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/solve.h"
#include "tidemark/plan/values.h"
#include "tidemark/schedule/sized.h"

namespace tidemark {

Bytes loop_bytes(const Node& n, std::size_t tier) {
  Bytes bytes = n.attrs.find("inner_tiers") == nullptr ? 0 : n.attrs.integers("inner_tiers").at(tier);
  if (n.op == &scan_adjoint_op && n.attrs.integer("tier", -1) == static_cast<std::int64_t>(tier)) {
    const AdjointShape s = adjoint_shape(n.attrs, n.regions);
    bytes += s.state * (s.counted ? n.attrs.integer("tier_places")
                                  : schedule::tier_shape(splits_of(n.attrs), s.trips).places);
  }
  return bytes;
}

bool copies_can_fail(const Node& n, std::span<const TierSpec> tiers) {
  for (std::size_t k = 0; k < tiers.size(); ++k) {
    const bool used = n.attrs.integer("tier", -1) == static_cast<std::int64_t>(k) || loop_bytes(n, k) > 0;
    if (used && tiers[k].can_fail()) return true;
  }
  return false;
}

Bytes loop_bytes(const Graph& graph, std::size_t tier) {
  Bytes bytes = 0;
  for (const Node& n : graph.nodes) bytes += loop_bytes(n, tier);
  return bytes;
}

std::vector<TierSpec> left_by_loops(const Graph& graph, std::span<const TierSpec> tiers) {
  std::vector<TierSpec> left(tiers.begin(), tiers.end());
  for (std::size_t k = 0; k < left.size(); ++k)
    left[k].bytes = std::max<Bytes>(1, left[k].bytes - loop_bytes(graph, k));
  return left;
}

namespace {

Bytes state_bytes(const Node& adjoint) { return adjoint_shape(adjoint.attrs, adjoint.regions).state; }

// Of the table for states in a tier: for a choice that is priced many times, and for the one that is taken.
constexpr std::int64_t kCoarseGrid = 100, kGrid = 300, kFineGrid = 2000;

// A pair as it is and with tapes.
struct Variant {
  Node saving, adjoint;
  LoopCosts costs;
};
// `loops`: how many there are, which share the tiers' room.
class Loop {
 public:
  Loop(const Graph& g, const PairNodes& pair, std::size_t loops, Bytes inner, const PoseOptions& options)
      : pair_(pair), regions_(options.regions), tiers_(options.tiers) {
    // Loops inside steps have the other half (RegionCache::at).
    const Node& back = g.nodes[pair.adjoint];
    const bool nested = std::any_of(back.regions.begin(), back.regions.end(), has_loops);
    for (TierSpec& tier : tiers_) tier.bytes /= static_cast<Bytes>(loops) * (nested ? 2 : 1);
    const Node &saving = g.nodes[pair.saving], &adjoint = g.nodes[pair.adjoint];
    const auto seconds = [&](const Graph& region) {
      return options.regions->at(region, inner, options).seconds;
    };
    LoopCosts plain{.trips = adjoint.attrs.integer("trips"),
                    .state = state_bytes(adjoint),
                    .online = saving.op == &while_saving_op};
    plain.body = seconds(saving.regions[0]) + (plain.online ? seconds(saving.regions[1]) : 0);
    plain.advance = seconds(adjoint.regions[0]);
    plain.adjoint = seconds(adjoint.regions[1]);
    variants_.push_back({saving, adjoint, plain});
    // Where the step itself must do with little, there is no room for tapes.
    if (inner != RegionCache::kWhatever) return;
    for (const TapeCut kind : {TapeCut::all, TapeCut::cheap}) {
      std::optional<TapedPair> taped = taped_pair(saving, adjoint, kind);
      if (!taped || taped->tape == variants_.back().costs.tape) continue;
      LoopCosts costs = plain;
      costs.tape = taped->tape;
      costs.body_taping =
          seconds(taped->saving.regions.back()) + (plain.online ? seconds(saving.regions[1]) : 0);
      costs.taping = seconds(taped->adjoint.regions[2]);
      costs.untaping = seconds(taped->adjoint.regions[3]);
      const bool faster = costs.body_taping + costs.untaping < plain.body + plain.adjoint;
      if (faster || costs.tape < plain.state)
        variants_.push_back({std::move(taped->saving), std::move(taped->adjoint), costs});
    }
  }

  double seconds(Bytes bytes) const { return priced(bytes).seconds; }
  Bytes state() const { return variants_[0].costs.state; }
  Bytes most() const {
    Bytes most = 0;
    for (const Variant& v : variants_) most = std::max(most, v.costs.most());
    return most;
  }
  // With an area of states alone and so many bytes beside it while it is reversed; -1 where there is nothing to gain.
  double seconds(Bytes bytes, Bytes beside) const { return priced(bytes, beside, kCoarseGrid).seconds; }
  void apply(Graph& g, Bytes bytes, Bytes beside) const {
    const Choice choice = priced(bytes, beside, kFineGrid);
    if (choice.seconds >= 0) apply(g, choice);
  }
  void apply(Graph& g, Bytes bytes) const {
    Choice choice = priced(bytes);
    const Variant& v = variants_[choice.variant];
    if (!choice.how.splits.empty() && v.costs.trips > kGrid) {
      LoopCosts c = v.costs;
      const TierSpec& tier = tiers_[static_cast<std::size_t>(choice.how.tier)];
      const Bytes area = choice.how.area;
      c.in_tier_at(tier);
      c.split_in_tier(area, tier.bytes / c.state, kFineGrid);
      if (c.first_sweep(area) + c.reverse_sweep(area) < choice.seconds)
        choice.how.splits = std::move(c.splits);
    }
    apply(g, choice);
  }

 private:
  struct Choice {
    double seconds = -1;
    std::size_t variant = 0;
    LoopChoice how{};
  };
  void apply(Graph& g, const Choice& choice) const {
    const Variant& v = variants_[choice.variant];
    set_choice(g, pair_, v.saving, v.adjoint, choice.how, choice.how.tier >= 0 ? regions_->new_store() : 0);
  }

  static Bytes used(const LoopCosts& c, Bytes bytes) {
    if (c.online && c.tape == 0) return online_area(online_places(bytes, c.state, c.trips), c.state, c.trips);
    const Bytes unit = c.tape > 0 ? kStorageAlign : std::max<Bytes>(1, c.state);
    return std::min(bytes, c.most()) / unit * unit;
  }
  static void take_faster(Choice& best, std::size_t variant, const LoopCosts& c, std::int64_t tier, Bytes area) {
    const double seconds = c.first_sweep(area) + c.reverse_sweep(area);
    if (best.seconds >= 0 && seconds >= best.seconds) return;
    best = {seconds,
            variant,
            {.area = area,
             .tape = c.tape,
             .tier = tier,
             .period = c.period,
             .splits = c.splits,
             .places = c.places,
             .tier_places = c.tier_places,
             .start = c.start}};
  }
  // The fastest for a loop of unknown length.
  Choice priced_online(Bytes bytes) const {
    Choice best;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      LoopCosts c = variants_[i].costs;
      Bytes area = used(c, bytes);
      const auto consider = [&](std::int64_t tier) { take_faster(best, i, c, tier, area); };
      // With tapes, places that states have in the first sweep are missing when the last steps are reversed.
      const std::int64_t most = most_online_places(area, c.state, 0);
      for (std::int64_t part = 4; part > 0; --part) {
        c.places = c.tape == 0 || area >= c.most() ? 0 : most * part / 4;
        consider(-1);
        if (c.places == 0) break;
      }
      if (area >= c.most() || c.state == 0) continue;
      for (std::size_t k = 0; k < tiers_.size(); ++k) {
        // The record of what lies there takes no more than a state, or than a page.
        c.tier_places = std::min({tiers_[k].bytes / c.state, c.trips - 1, std::max<Bytes>(500, c.state / 8)});
        area = bytes - 2 * c.state;  // by way of which states go to a tier and come back
        c.places = std::min(most_online_places(area, c.state, c.tier_places), c.trips);
        if (c.tier_places < 1 || c.places < 1) continue;
        area = area / kStorageAlign * kStorageAlign;
        c.in_tier_at(tiers_[k]);
        // Of the distances that end as one of these, the shortest whose copies steps hide.
        for (std::int64_t segments = c.tier_places + 1; segments > 1; segments -= std::max<std::int64_t>(1, segments / 4)) {
          c.start = (c.trips + segments - 1) / segments;
          for (std::int64_t half = c.start / 2; half > 0 && c.write <= static_cast<double>(half) * c.body; half /= 2) c.start = half;
          consider(static_cast<std::int64_t>(k));
        }
        c.tier_places = c.start = 0;
      }
    }
    return best;
  }
  // The fastest with so many bytes.
  Choice priced(Bytes bytes) const {
    if (variants_[0].costs.online) return priced_online(bytes);
    Choice best;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      LoopCosts c = variants_[i].costs;
      Bytes area = used(c, bytes);
      const auto consider = [&](std::int64_t tier) { take_faster(best, i, c, tier, area); };
      consider(-1);
      if (area == c.most() || c.state == 0 || bytes < 2 * c.state) continue;
      area = used(c, bytes - 2 * c.state);  // by way of which states go to a tier and come back
      for (std::size_t k = 0; k < tiers_.size(); ++k) {
        c.in_tier_at(tiers_[k]);
        const std::int64_t most = std::min(c.trips, tiers_[k].bytes / c.state + 1);
        for (std::int64_t segments = 2; segments <= most;
             segments += std::max<std::int64_t>(1, segments / 4)) {
          c.period = (c.trips + segments - 1) / segments;
          consider(static_cast<std::int64_t>(k));
        }
        c.period = 0;
        c.split_in_tier(area, most - 1, kGrid);
        if (c.splits.size() > 1) consider(static_cast<std::int64_t>(k));
        c.splits.clear();
      }
    }
    return best;
  }

  Choice priced(Bytes bytes, Bytes beside, std::int64_t grid) const {
    Choice best;
    for (std::size_t i = 0; i < variants_.size() && state() > 0; ++i) {
      LoopCosts c = variants_[i].costs;
      const std::int64_t places = bytes / c.state;
      if (c.online || places >= c.trips - 1) return best;
      c.split_in_area(beside, places, grid);
      const double seconds = c.first_sweep(bytes) + c.reverse_sweep(bytes);
      if (best.seconds < 0 || seconds < best.seconds)
        best = {seconds, i, {.area = places * c.state, .tape = c.tape, .splits = c.splits, .extra = beside}};
    }
    return best;
  }

  PairNodes pair_;
  std::shared_ptr<RegionCache> regions_;
  std::vector<TierSpec> tiers_;
  std::vector<Variant> variants_;
};

// `bytes`, shared out where one saves most time.
std::vector<Bytes> share(const std::vector<Loop>& loops, Bytes bytes) {
  std::vector<Bytes> areas(loops.size(), 0);
  if (loops.size() == 1) return {bytes};
  for (;;) {
    std::size_t best = loops.size();
    Bytes best_area = 0;
    double best_rate = 0;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      // In steps that grow, so that a million slots are shared out in a few rounds; several at once, for a state may need a little more
      // than one, and the first bytes save nothing then.
      const Bytes most = std::min(loops[i].most(), areas[i] + bytes);
      const double now = loops[i].seconds(areas[i]);
      Bytes step = std::max(loops[i].state(), areas[i] / 8);
      for (int doubled = 0; doubled < 4 && areas[i] < most; ++doubled, step *= 2) {
        const Bytes next = std::min(most, areas[i] + step);
        const double rate = (now - loops[i].seconds(next)) / static_cast<double>(next - areas[i]);
        if (best == loops.size() || rate > best_rate) best = i, best_area = next, best_rate = rate;
        if (next == most) break;
      }
    }
    if (best == loops.size()) return areas;
    bytes -= best_area - areas[best];
    areas[best] = best_area;
  }
}

std::vector<Loop> loops_of(const Graph& g, Bytes inner, const PoseOptions& options) {
  std::vector<Loop> loops;
  const std::vector<PairNodes> pairs = pairs_of(g);
  for (const PairNodes& pair : pairs) loops.emplace_back(g, pair, pairs.size(), inner, options);
  return loops;
}

Graph with_areas(Graph g, const std::vector<Loop>& loops, const std::vector<Bytes>& areas, Bytes inner) {
  set_inner(g, inner);
  for (std::size_t i = 0; i < loops.size(); ++i) loops[i].apply(g, areas[i]);
  return g;
}

// Loops of which each lives inside the one before it, as in a gradient: the last first sweep is the first one to be reversed.
bool is_chain(const std::vector<PairNodes>& pairs) {
  for (std::size_t i = 0; i + 1 < pairs.size(); ++i) {
    // In the order of their adjoints.
    if (pairs[i].saving < pairs[i + 1].saving || pairs.back().adjoint < pairs[0].saving) return false;
  }
  return pairs.size() > 1;
}

// What each loop of a chain keeps from its first sweep on, and what it has beside that while it is reversed, when those behind it hold nothing any
// more: the least time over all ways to share out kUnits of `bytes`. `from`: the first loop in the list that may have its states apart.
struct Share {
  Bytes kept = 0, beside = -1;  // -1: an area as it is, for both sweeps
};
std::vector<Share> chain_shares(const std::vector<Loop>& loops, Bytes bytes, std::size_t from) {
  constexpr std::int64_t kUnits = 20;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  // Tapes are laid out from the end of what is beside.
  const auto beside_of = [&](std::int64_t units) {
    return bytes * units / kUnits / kStorageAlign * kStorageAlign;
  };
  // Loops are in the order of their adjoints: the last of them keeps its states longest.
  std::vector<double> later(kUnits + 1,
                            0);  // of the loops that run behind, by the units that are left to them
  std::vector<std::vector<std::pair<std::int64_t, bool>>> taken(loops.size());
  for (std::size_t i = 0; i < loops.size(); ++i) {
    std::vector<double> next(kUnits + 1, 0);
    taken[i].resize(kUnits + 1);
    for (std::int64_t left = 0; left <= kUnits; ++left) {
      for (std::int64_t units = 0; units <= left; ++units) {
        const Bytes kept = bytes * units / kUnits, beside = beside_of(left - units);
        const double whole = loops[i].seconds(kept),
                     split = i >= from && units < left ? loops[i].seconds(kept, beside) : -1;
        const bool splits = split >= 0 && split < whole;
        const double seconds = (splits ? split : whole) + later[at(left - units)];
        if (units == 0 || seconds < next[at(left)])
          next[at(left)] = seconds, taken[i][at(left)] = {units, splits};
      }
    }
    later = std::move(next);
  }
  std::vector<Share> shares(loops.size());
  std::int64_t left = kUnits;
  for (std::size_t i = loops.size(); i-- > 0;) {
    const auto [units, splits] = taken[i][at(left)];
    shares[i].kept = bytes * units / kUnits;
    if (splits) shares[i].beside = beside_of(left - units);
    left -= units;
  }
  return shares;
}

// What a step takes at least, and at most, of those with loops inside, which are worth budgets between the two.
std::pair<Bytes, Bytes> inner_range(const Graph& graph, const PoseOptions& options) {
  Bytes least = 0, most = 0;
  for (const PairNodes& pair : pairs_of(graph)) {
    for (const Graph& region : graph.nodes[pair.adjoint].regions) {
      if (!has_loops(region)) continue;
      least = std::max(least, options.regions->at(region, RegionCache::kLeast, options).arena);
      most = std::max(most, options.regions->at(region, RegionCache::kWhatever, options).arena);
    }
  }
  return {least, most};
}

}  // namespace

Graph smallest_loops(Graph graph) {
  for (const PairNodes& pair : pairs_of(graph)) set_area(graph, pair, 0);
  set_inner(graph, RegionCache::kLeast);
  return graph;
}

Graph fastest_loops(Graph graph, const PoseOptions& given) {
  if (pairs_of(graph).empty()) return graph;
  PoseOptions options = given;
  if (!options.regions) options.regions = std::make_shared<RegionCache>();
  const std::vector<Loop> loops = loops_of(graph, RegionCache::kWhatever, options);
  std::vector<Bytes> areas;
  for (const Loop& loop : loops) areas.push_back(loop.most());
  return with_areas(std::move(graph), loops, areas, RegionCache::kWhatever);
}

namespace {

// Tries areas and takes the one with which the whole is fastest. What cannot be faster than what is there is not planned: a problem takes at least its floor, which
// grows as areas shrink.
class AreaSearch {
 public:
  AreaSearch(Graph graph, Bytes budget, const PoseOptions& options, double time_limit,
             const std::vector<Pin>* pins)
      : graph_(std::move(graph)), budget_(budget), options_(options), time_limit_(time_limit), pins_(pins) {}

  ChosenLoops run() {
    Posing fastest = posed(fastest_loops(graph_, options_));
    if (std::optional<plan::Plan> all = store_all(fastest.problem))
      return {std::move(fastest.graph), known(*std::move(all))};
    std::vector<Bytes> inners{RegionCache::kWhatever, RegionCache::kLeast};
    const auto [least, most] = inner_range(graph_, options_);
    for (const double part : {0.5, 0.2, 0.05}) {
      const auto inner = least + static_cast<Bytes>(part * static_cast<double>(most - least));
      if (inner > least && inner < budget_) inners.push_back(inner);
    }
    for (const Bytes inner : inners) {
      const std::vector<Loop> loops = loops_of(graph_, inner, options_);
      const Bytes fits = with_inner(loops, inner);
      if (inner == RegionCache::kWhatever && fits > 0 && is_chain(pairs_of(graph_))) as_chain(loops, fits);
    }
    refine();
    if (found_.empty()) return {smallest_loops(graph_)};
    return {std::move(found_[0].graph), known(std::move(found_[0].plan))};
  }

 private:
  // Of the time, for each attempt.
  static constexpr double kShare = 1.0 / 8, kAtLeast = 0.005;
  static constexpr std::int64_t kEffort = 200;
  static constexpr std::size_t kFinalists = 3;
  enum class Answer : std::uint8_t { fits, too_large, no_faster };
  struct Posing {
    Graph graph;
    plan::Problem problem;
  };
  struct Found {
    Graph graph;
    plan::Plan plan;
  };

  static std::shared_ptr<const plan::Plan> known(plan::Plan plan) {
    return std::make_shared<const plan::Plan>(std::move(plan));
  }
  double best() const {
    return found_.empty() ? std::numeric_limits<double>::infinity() : found_[0].plan.seconds;
  }
  Posing posed(Graph g) const {
    plan::Problem problem = problem_of(g);
    return {std::move(g), std::move(problem)};
  }
  plan::Problem problem_of(const Graph& g) const {
    Posed posed = pose(g, options_);
    if (pins_ != nullptr) apply_pins(posed, *pins_);
    return std::move(posed.problem);
  }
  std::optional<plan::Plan> store_all(const plan::Problem& problem) const {
    const plan::WorkClock clock(problem.tasks.size());
    plan::Plan all = plan::run_planner(*plan::find_planner("store_all"), problem, {});
    return all.peak <= budget_ ? std::optional(std::move(all)) : std::nullopt;
  }
  plan::Options solving(double share, std::int64_t effort) const {
    return {.budget = budget_,
            .time_limit = std::max(kAtLeast, share * time_limit_),
            .effort = effort,
            .bounds = false};
  }
  std::optional<plan::Plan> planned(const plan::Problem& problem) const {
    if (std::optional<plan::Plan> all = store_all(problem)) return all;
    // A search would go on until its time is up. A few cuts are enough: there are many areas.
    constexpr int kCuts = 4;
    if (plan::peak_bound(plan::Values(problem), kCuts).bytes > budget_) return std::nullopt;
    const plan::WorkClock clock(problem.tasks.size());
    plan::Plan plan = plan::solve(problem, solving(kShare, kEffort));
    return plan::has_plan(plan) ? std::optional(std::move(plan)) : std::nullopt;
  }

  Answer consider(Graph g) {
    note_inner_tiers(g, options_);
    for (std::size_t k = 0; k < options_.tiers.size(); ++k) {
      if (loop_bytes(g, k) > options_.tiers[k].bytes) return Answer::too_large;
    }
    Posing at = posed(std::move(g));
    if (plan::floor_seconds(at.problem) >= best()) return Answer::no_faster;
    // Other bytes may be the same number of states.
    const auto [known, is_new] = tried_.try_emplace(plan::hash(at.problem), Answer::too_large);
    if (!is_new) return known->second;
    std::optional<plan::Plan> plan = planned(at.problem);
    if (!plan) return Answer::too_large;
    known->second = Answer::fits;
    const auto before = std::find_if(found_.begin(), found_.end(),
                                     [&](const Found& f) { return f.plan.seconds > plan->seconds; });
    found_.insert(before, {std::move(at.graph), *std::move(plan)});
    if (found_.size() > kFinalists) found_.pop_back();
    return Answer::fits;
  }

  // The most bytes for areas with which a plan was found, or with which there is nothing to gain.
  Bytes with_inner(const std::vector<Loop>& loops, Bytes inner) {
    std::set<Bytes> slower;  // that were planned
    Bytes fastest = -1;
    const auto at = [&](Bytes bytes) {
      const double before = best();
      const Answer answer = consider(with_areas(graph_, loops, share(loops, bytes), inner));
      if (best() < before)
        fastest = bytes;
      else if (answer != Answer::no_faster)
        slower.insert(bytes);
      return answer;
    };
    if (at(0) == Answer::too_large) return 0;
    Bytes most = 0, unit = std::numeric_limits<Bytes>::max();
    for (const Loop& loop : loops)
      most += loop.most(), unit = std::min(unit, std::max<Bytes>(1, loop.state()));
    unit = std::min(unit, std::max<Bytes>(1, most / 1024));
    // Halving between what fits and what does not, until a snapshot more or less is all the difference.
    Bytes low = 0, high = std::min(most, budget_) + 1;
    for (int k = 0; k < 24 && high - low > unit; ++k) {
      const Bytes middle = low + (high - low) / 2;
      (at(middle) == Answer::too_large ? high : low) = middle;
    }
    // A search that finds nothing at one size may at another, and the most that fits may be had by runs again that cost more than a few states fewer: the same
    // sizes are looked at for every budget, so that what one budget finds the next one does too.
    constexpr int kInVain = 4;
    std::vector<Bytes> sizes;
    for (Bytes size = unit; size < most; size = std::max(size + unit, size / 4 * 5)) sizes.push_back(size);
    sizes.push_back(most);
    const auto above = std::upper_bound(sizes.begin(), sizes.end(), low);
    int in_vain = 0;
    for (auto size = above; size != sizes.end() && in_vain < kInVain; ++size)
      in_vain = at(*size) == Answer::too_large ? in_vain + 1 : 0;
    for (auto size = above; size != sizes.begin();) {
      if (at(*--size) == Answer::no_faster) break;
    }
    if (fastest < 0) return low;
    // A size with nothing to gain may lie below one with: states are of their own sizes.
    const auto next = slower.upper_bound(fastest);
    Bytes from = fastest, to = next == slower.end() ? fastest : *next;
    while (to - from > unit) {
      const Bytes middle = from + (to - from) / 2;
      (at(middle) == Answer::no_faster || fastest == middle ? from : to) = middle;
    }
    return low;
  }

  // What is beside an area is there for one loop at a time: more may fit than side by side. The last loop of the list keeps its states longest and gains
  // most; lists of splits take bytes too, so that it alone may be what fits.
  void as_chain(const std::vector<Loop>& loops, Bytes side_by_side) {
    Bytes most = 0;
    for (const Loop& loop : loops) most += loop.most();
    for (const std::size_t from : {std::size_t{0}, loops.size() - 1}) {
      Bytes high = std::min(most, side_by_side + side_by_side / 4) + 1, low = side_by_side / 2;
      for (int k = 0; k < 6; ++k) {
        const Bytes middle = k == 0 ? high - 1 : low + (high - low) / 2;
        const std::vector<Share> shares = chain_shares(loops, middle, from);
        Graph g = graph_;
        set_inner(g, RegionCache::kWhatever);
        for (std::size_t i = 0; i < loops.size(); ++i) {
          if (shares[i].beside >= 0)
            loops[i].apply(g, shares[i].kept, shares[i].beside);
          else
            loops[i].apply(g, shares[i].kept);
        }
        (consider(std::move(g)) == Answer::too_large ? high : low) = middle;
      }
    }
  }

  // Attempts are short: which of the best is the fastest is seen when each is searched for longer.
  void refine() {
    for (Found& f : found_) {
      const plan::Problem problem = problem_of(f.graph);
      if (plan::floor_seconds(problem) >= best() * (1 - 1e-9)) continue;
      const plan::WorkClock clock(problem.tasks.size());
      plan::Options options = solving(2 * kShare, 4 * kEffort);
      options.warm_start = &f.plan;
      plan::Plan plan = plan::solve(problem, options);
      if (plan::has_plan(plan) && plan.seconds < f.plan.seconds) f.plan = std::move(plan);
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.plan.seconds < b.plan.seconds; });
  }

  Graph graph_;
  Bytes budget_;
  const PoseOptions& options_;
  double time_limit_;
  const std::vector<Pin>* pins_;
  std::vector<Found> found_;  // the fastest, by their seconds
  std::map<std::string, Answer> tried_;  // by hashes of problems
};

}  // namespace

ChosenLoops choose_loops(Graph graph, Bytes budget, const PoseOptions& given, double time_limit,
                         const std::vector<Pin>* pins) {
  PoseOptions options = given;
  if (!options.regions) options.regions = std::make_shared<RegionCache>();
  return AreaSearch(std::move(graph), budget, options, time_limit, pins).run();
}

void settle_fraction(const Graph& graph, Budget& memory, const PoseOptions& options) {
  if (memory.kind == Budget::Kind::fraction && memory.fraction >= 0 && memory.fraction <= 10)
    memory = Budget(plan::budget_at(pose(fastest_loops(graph, options), options).problem, memory.fraction));
}

ChosenLoops fit_loops(Graph graph, Budget& memory, const PoseOptions& options, double time_limit,
                      const std::vector<Pin>& pins) {
  if (!has_loops(graph)) return {std::move(graph)};
  if (memory.kind == Budget::Kind::unlimited) return {fastest_loops(std::move(graph), options)};
  if (memory.kind == Budget::Kind::minimum) return {smallest_loops(std::move(graph))};
  settle_fraction(graph, memory, options);
  return choose_loops(std::move(graph), memory.bytes, options, time_limit, &pins);
}

}  // namespace tidemark
