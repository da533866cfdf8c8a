// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/gap_bound.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "tidemark/plan/gap_prices.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Those that every plan runs before the last one, and that, if they are most of them: when a task runs that nothing waits for, next to nothing is sure.
std::vector<TaskId> on_the_way(const Values& values, std::span<const TaskId> candidates) {
  std::vector<TaskId> kept;
  if (!candidates.empty()) {
    const Moment end(values, candidates.back());
    std::ranges::copy_if(candidates, std::back_inserter(kept), [&](TaskId t) { return end.before[at(t)]; });
    kept.push_back(candidates.back());
  }
  return 2 * kept.size() >= candidates.size() ? kept
                                              : std::vector<TaskId>(candidates.begin(), candidates.end());
}

// The fullest of all, and the fullest in each of so many parts of the candidates, as far as each surely runs before the next: from the back, for
// what has run at a moment is known there.
std::vector<Moment> line_of_moments(const Values& values, std::span<const TaskId> candidates, int most,
                                    std::span<const Bytes> live, const Limit* limit) {
  const auto fuller = [&](TaskId a, TaskId b) { return live[at(a)] < live[at(b)]; };
  const TaskId fullest = candidates.empty() ? -1 : *std::ranges::max_element(candidates, fuller);
  std::vector<Moment> line;
  for (; most > 0 && !candidates.empty(); --most) {
    const std::size_t rest = candidates.size() - candidates.size() / at(most);
    TaskId best = -1;
    for (const TaskId t : candidates.subspan(rest)) {
      const bool in_line = line.empty() || line.back().before[at(t)];
      if (in_line && (best < 0 || fuller(best, t))) best = t;
    }
    candidates = candidates.first(rest);
    if (best < 0) continue;
    if (!line.empty() && limit != nullptr && limit->time_is_up()) break;
    Moment moment(values, best);
    if (best <= fullest || moment.before[at(fullest)]) line.push_back(std::move(moment));
  }
  std::reverse(line.begin(), line.end());
  return line;
}

constexpr double kNever = std::numeric_limits<double>::infinity();

class GapBound {
 public:
  GapBound(const Values& values, Bytes budget, std::vector<Moment> line)
      : v_(values),
        k_(static_cast<std::int32_t>(line.size())),
        unit_exponent_(unit_exponent_for(values.floor_seconds)),
        facts_(values, std::move(line), unit_exponent_, budget),
        not_yet_(at(values.tasks())),
        by_then_(at(values.tasks()), k_ + 1),
        uses_(at(k_ + 1)),
        best_(at(k_ + 2)) {
    for (std::int32_t i = 1; i <= k_; ++i) {
      for (TaskId t = 0; t < v_.tasks(); ++t) {
        if (moment(i).after[at(t)]) not_yet_[at(t)] = i;
        if (moment(i).before[at(t)] && by_then_[at(t)] > i) by_then_[at(t)] = i;
      }
    }
    std::vector<bool> is_output(at(v_.values()));
    for (const BufferId b : v_.outputs) is_output[at(b)] = true;
    for (BufferId b = 0; b < v_.values(); ++b) {
      if (v_.size[at(b)] > 0 && !v_.given[at(b)]) find_gaps(b, is_output[at(b)]);
    }
    find_seconds();
  }

  StageBound prove() const {
    std::vector<double> room;
    for (std::int32_t i = 1; i <= k_; ++i) room.push_back(static_cast<double>(facts_.room(i)));
    std::vector<GapPrices::Gap> gaps;
    for (const Gap& g : gaps_) {
      if (g.seconds == kNever) {
        // It cannot be made again, so it is stored.
        for (std::int32_t i = g.from; i <= g.last; ++i) room[at(i - 1)] -= bytes(g);
      } else if (g.without == 0) {
        gaps.push_back({g.from, g.last, g.seconds, bytes(g)});
      }
    }
    StageBound out;
    out.certificate.unit_exponent = unit_exponent_;
    for (const Moment& m : facts_.facts()) out.certificate.moments.push_back(m.task);
    out.certificate.leaves.push_back(leaf(GapPrices(std::move(gaps), std::move(room)).best()));
    out.seconds = facts_.seconds(out.certificate.leaves[0]);
    return out.seconds > v_.floor_seconds ? out : StageBound();
  }

 private:
  // A value that is needed in the stages from `last` to `until`, and may be missing at the moments from `from` to `last`.
  struct Gap {
    BufferId value;
    std::int32_t from, last, until;
    std::int32_t without;  // at this moment it is missing in every plan; 0: at none
    TaskId reader;         // that needs it; -1: it is stored at the moment until + 1, or an output
    double seconds;        // that a run for it costs beyond the floor
  };
  struct Use {
    std::int32_t last = -1;
    TaskId reader = -1;
  };

  const Moment& moment(std::int32_t i) const { return facts_.facts()[at(i - 1)]; }
  bool always_stored(std::int32_t i, BufferId b) const { return facts_.stored_range(i, b).first == 1; }
  bool never_stored(std::int32_t i, BufferId b) const { return facts_.stored_range(i, b).second == 0; }
  double bytes(const Gap& g) const { return static_cast<double>(v_.size[at(g.value)]); }

  // The first moment behind which every run of a maker is one beyond the floor; k + 1: there is none. What another may run instead of is left out.
  std::int32_t made_by(BufferId b) const {
    std::int32_t from = 1;
    for (const TaskId m : v_.makers[b]) {
      if (v_.duty[at(m)] < 0) continue;
      const std::int32_t once = v_.sole[at(m)] ? by_then_[at(m)] : k_ + 1;
      while (from < once && !moment(from).over[at(m)]) ++from;
    }
    return from;
  }

  // One after the other, so that no run of a maker is in two of them; those that leave out the fewest moments.
  void find_gaps(BufferId b, bool is_output) {
    const std::int32_t first = made_by(b);
    if (first > k_) return;
    // By the stage in which it ends: the use that is needed there the longest.
    std::ranges::fill(uses_, Use());
    const auto add = [&](std::int32_t until, const Use& use) {
      if (use.last > uses_[at(until)].last) uses_[at(until)] = use;
    };
    for (const TaskId t : v_.readers[b]) {
      const std::int32_t i = not_yet_[at(t)];
      if (!v_.sole[at(t)] || i < first) continue;
      if (moment(i).task == t)
        add(i - 1, {i - 1, -1});
      else
        add(by_then_[at(t)] - 1, {i, t});
    }
    if (is_output) add(k_, {k_, -1});

    // From the back, by the moment from which on gaps are looked for. None goes over a moment at which the value is there in any case.
    best_[at(k_ + 1)] = {};
    for (std::int32_t from = k_; from >= first; --from) {
      best_[at(from)] = {best_[at(from + 1)].moments, -1};
      for (std::int32_t until = from; until <= k_ && !always_stored(until, b); ++until) {
        const std::int32_t moments = uses_[at(until)].last - from + 1 + best_[at(until + 1)].moments;
        if (uses_[at(until)].last >= from && moments > best_[at(from)].moments)
          best_[at(from)] = {moments, until};
      }
    }
    for (std::int32_t from = first; from <= k_;) {
      const std::int32_t until = best_[at(from)].until;
      if (until >= 0) {
        const auto [last, reader] = uses_[at(until)];
        std::int32_t without = last;
        while (without >= from && !never_stored(without, b)) --without;
        gaps_.push_back({b, from, last, until, without >= from ? without : 0, reader, 0});
      }
      from = std::max(from, until) + 1;
    }
  }

  // What a run of a maker costs for one of the values that it makes: those that have gaps share its seconds by their sizes.
  void find_seconds() {
    std::vector<Bytes> made(at(v_.tasks()));
    for (std::size_t g = 0; g < gaps_.size(); ++g) {
      const BufferId b = gaps_[g].value;
      if (g > 0 && gaps_[g - 1].value == b) continue;
      for (const TaskId m : v_.makers[b]) made[at(m)] += v_.size[at(b)];
    }
    for (Gap& g : gaps_) {
      g.seconds = kNever;
      for (const TaskId m : v_.makers[g.value]) {
        if (facts_.run_range(g.from, g.until, m).second == 0) continue;
        g.seconds = std::min(g.seconds,
                             v_.problem.tasks[at(m)].seconds * (bytes(g) / static_cast<double>(made[at(m)])));
      }
    }
    // Without the value and a maker there is no plan, which is the peak's to say.
    std::erase_if(gaps_,
                  [](const Gap& g) { return g.seconds == 0 || (g.seconds == kNever && g.without != 0); });
  }

  // What the gap gives at a moment.
  double worth(const Gap& g, std::int32_t i, const std::vector<double>& prices) const {
    if (g.without != 0) return i == g.without ? g.seconds : 0;
    if (g.seconds == kNever) return prices[at(i - 1)] * bytes(g);
    double price = 0;
    for (std::int32_t j = g.from; j <= g.last; ++j) price += prices[at(j - 1)];
    const double part = price * bytes(g) > g.seconds ? g.seconds / (price * bytes(g)) : 1;
    return part * prices[at(i - 1)] * bytes(g);
  }

  Certificate::Leaf leaf(const std::vector<double>& prices) const {
    Certificate::Leaf leaf;
    leaf.prices = prices;
    std::vector<bool> charged(at(v_.tasks()));
    for (const Gap& g : gaps_) {
      Units sum = 0;
      for (std::int32_t i = g.from; i <= g.last; ++i) {
        const Units y = units(worth(g, i, prices), unit_exponent_, Certificate::kMost / k_);
        sum += y;
        if (y > 0 && g.reader >= 0) leaf.need.push_back({i, g.until, g.reader, g.value, y});
        if (y > 0 && g.reader < 0) leaf.keep.push_back({i, g.until, g.until + 1, g.value, y});
        if (sum == 0 || i == g.until) continue;
        // What runs in one of the stages from i on runs in i or later: so it goes on to the last.
        for (const TaskId m : v_.makers[g.value]) {
          if (facts_.run_range(i, g.until, m).second == 0) continue;
          Certificate::Parts& row = leaf.parts.emplace_back(Certificate::Parts{m, sum, {i, i + 1}});
          for (std::int32_t j = i < g.last ? g.until + 1 : i + 2; j <= g.until + 1; ++j)
            row.ends.push_back(j);
        }
      }
      for (const TaskId m : v_.makers[g.value]) charged[at(m)] = charged[at(m)] || sum > 0;
    }
    // The floor is for the first run, which is in one of the stages before those.
    for (TaskId t = 0; t < v_.tasks(); ++t) {
      if (!charged[at(t)] || !v_.sole[at(t)] || by_then_[at(t)] > k_ ||
          not_yet_[at(t)] + 1 == by_then_[at(t)])
        continue;
      Certificate::Parts& row = leaf.parts.emplace_back(Certificate::Parts{t, facts_.cost(t), {}});
      for (std::int32_t l = not_yet_[at(t)]; l <= by_then_[at(t)]; ++l) row.ends.push_back(l);
    }
    return leaf;
  }

  const Values& v_;
  std::int32_t k_;
  int unit_exponent_;
  Evaluation facts_;
  // By task: the last moment at which it cannot have run, 0: there is none; the first by which it has, k + 1: there is none.
  std::vector<std::int32_t> not_yet_, by_then_;
  struct Best {
    std::int32_t moments = 0,
                 until = -1;  // those in gaps; where the first of these ends, -1: there is none at once
  };
  std::vector<Use> uses_;  // of one value: by the stage in which they end
  std::vector<Best> best_;
  std::vector<Gap> gaps_;
};

}  // namespace

StageBound gap_bound(const Values& values, std::span<const TaskId> candidates, std::span<const Bytes> live,
                     const GapOptions& o) {
  constexpr double kMostSums = 3e7;        // in a proof: of each task in each range of stages
  constexpr double kMomentSeconds = 6e-8;  // for what a walk looks at
  if (!values.problem.tiers.empty() || !(values.floor_seconds > 0)) return {};
  const double most = std::sqrt(2 * kMostSums / values.tasks()) - 1.5,
               in_time = o.seconds / (kMomentSeconds * values.extent());
  const int moments = static_cast<int>(std::min(std::max(1.0, std::min(most, in_time)), 1.0 * o.moments));
  std::vector<Moment> line = line_of_moments(values, on_the_way(values, candidates), moments, live, o.limit);
  worked(moments * values.extent(), kMomentSeconds);
  return line.empty() ? StageBound() : GapBound(values, o.budget, std::move(line)).prove();
}

}  // namespace tidemark::plan
