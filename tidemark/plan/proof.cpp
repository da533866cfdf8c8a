// Adds up what docs/proofs.md says, in its words and order. SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tidemark/base/error.h"
#include "tidemark/plan/proof_facts.h"

namespace tidemark::plan {
namespace {

using namespace proof;
using Wide = __int128;  // numbers of a proof and sums of bytes are below 2^61, so that nothing overflows

constexpr Wide kInfinity = Wide{1} << 126, kMost = Wide{1} << 60;
constexpr std::int64_t kWhole = 1 << 20;  // the weights of `links` are parts of it

// The cost of each unknown as rows are added, and the least that all can come to.
class Ledger {
 public:
  // Moments from the start to the end. `scale`: units a second; 0: time is left out.
  Ledger(const Facts& facts, std::vector<Moment> moments, const Node& node, Bytes budget, double scale)
      : f_(facts), m_(std::move(moments)), k_(std::ssize(m_) - 2), scale_(scale) {
    add_time(add_links(node.links));
    for (std::int64_t i = 1; i <= k_; ++i) add_memory(i, node.moments[at(i - 1)], budget);
    for (const Row& r : node.need) {
      expect(r[0] <= r[1] && r[1] <= k_ && std::ranges::binary_search(f_.reads[at(r[2])], r[3]),
             "need: not what a task reads in stages");
      run(r[0], r[1])[at(r[2])] += r[4];
      add_supply(r);
    }
    for (const Row& r : node.keep) {
      expect(r[0] < r[2] && r[2] <= r[1] + 1 && r[1] <= k_ && (r[2] <= k_ || f_.output[at(r[3])]),
             "keep: not at a moment behind stages, or an output at the end");
      stored(r[2])[at(r[3])] += r[4];
      add_supply(r);
    }
    for (const Row& r : node.parts) {
      expect(std::ranges::adjacent_find(r.begin() + 2, r.end(), std::greater_equal()) == r.end() &&
                 r.back() <= k_ + 1,
             "parts: not stages in order");
      run(r[2], r.back() - 1)[at(r[0])] += r[1];
      for (std::size_t i = 3; i < r.size(); ++i) run(r[i - 1], r[i] - 1)[at(r[0])] -= r[1];
    }
  }

  Wide least() const {
    Wide sum = sum_;
    std::vector<Wide> first_runs(f_.duty.size(),
                                 kMost);  // by required task: what it costs that it is done once
    for (const auto& [key, costs] : costs_) {
      const auto [i, j] = key;
      for (std::size_t x = 0; x < costs.size(); ++x) {
        const bool is_run = i <= j, is_away = i < 0;
        const bool must =
            is_run ? m_[at(i)].after[x] && m_[at(j + 1)].before[x] : !is_away && m_[at(i)].least[x];
        const bool may =
            is_run ? !m_[at(j + 1)].after[x] && !m_[at(i)].over[x] : is_away || m_[at(i)].most[x];
        if (must || (may && costs[x] < 0)) sum += costs[x];
        if (i != j || f_.duty[x] < 0 || !may) continue;
        Wide& first = first_runs[at(f_.duty[x])];
        first = std::min(first, must ? 0 : std::max<Wide>(costs[x], 0));
      }
    }
    for (std::size_t t = 0; t < first_runs.size(); ++t)
      if (f_.duty[t] == static_cast<TaskId>(t)) sum += first_runs[t];
    return sum;
  }

 private:
  // Of run(i, j, t), by task; of stored(i, b) and away(b), by buffer.
  std::vector<Wide>& run(std::int64_t i, std::int64_t j) { return costs(i, j, f_.reads.size()); }
  std::vector<Wide>& stored(std::int64_t i) { return costs(i, i - 1, f_.bytes.size()); }
  std::vector<Wide>& away() { return costs(-1, -2, f_.bytes.size()); }
  std::vector<Wide>& costs(std::int64_t i, std::int64_t j, std::size_t size) {
    std::vector<Wide>& list = costs_[{i, j}];
    list.resize(size);
    return list;
  }
  // Rounded down: charging less than it costs is always safe.
  Wide units(double seconds) const {
    return static_cast<Wide>(std::floor(std::min(seconds * scale_, static_cast<double>(kMost))));
  }

  // What being away costs; the parts of kWhole by which runs count before the moment and after it.
  std::pair<Wide, Wide> add_links(const Rows& links) {
    const auto& tiers = f_.problem.tiers;
    expect(links.empty() || (links.size() == tiers.size() && k_ == 1),
           "links: not one for each tier at one moment");
    Wide before = kWhole, after = kWhole;
    for (std::size_t i = 0; i < links.size(); ++i) {
      after -= links[i][0];
      before -= links[i][1];
      for (std::size_t b = 0; b < f_.bytes.size(); ++b) {
        const auto copy = [&](double rate) {
          return units(tiers[i].latency_seconds + static_cast<double>(f_.bytes[b]) / rate);
        };
        const Wide in = links[i][0] * copy(tiers[i].read_bytes_per_second),
                   out = f_.given[b] ? 0 : links[i][1] * copy(tiers[i].write_bytes_per_second);
        away()[b] = i == 0 ? (in + out) / kWhole : std::min(away()[b], (in + out) / kWhole);
      }
    }
    expect(before >= 0 && after >= 0, "links: weights above the whole");
    return {before, after};
  }

  void add_time(std::pair<Wide, Wide> weights) {
    for (std::int64_t l = 0; l <= k_; ++l)
      for (std::size_t t = 0; t < f_.reads.size(); ++t)
        run(l, l)[t] =
            units(f_.problem.tasks[t].seconds) * (l == 0 ? weights.first : weights.second) / kWhole;
  }

  void add_memory(std::int64_t i, const Row& price, Bytes budget) {
    const auto worth = [&](Bytes bytes) {
      return Wide{price[1]} * bytes >> std::min<std::int64_t>(price[2], 127);
    };
    sum_ += worth(m_[at(i)].held - budget);
    for (std::size_t b = 0; b < f_.bytes.size(); ++b) stored(i)[b] += worth(f_.bytes[b]);
  }

  // The right side of rows need and keep.
  void add_supply(const Row& r) {
    const std::int64_t i = r[0], j = r[1], b = r[3], y = r[4];
    stored(i)[at(b)] -= y;
    for (const TaskId maker : f_.makers[at(b)]) run(i, j)[at(maker)] -= y;
    if (!f_.problem.tiers.empty() && i > 0 && !f_.problem.buffers[at(b)].resident) away()[at(b)] -= y;
  }

  const Facts& f_;
  std::vector<Moment> m_;  // 0: the start; k + 1: the end
  std::int64_t k_;
  double scale_;
  Wide sum_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Wide>> costs_;
};

class Prover {
 public:
  // `scale`: units a second.
  Prover(const Problem& problem, double scale) : f_(problem), scale_(scale) {}

  // In units, of the plans for the budget that agree with the decisions so far; infinity: there are none.
  Wide proven(const Node& node, Bytes budget) {
    if (node.cases.empty()) return added_up(node, std::min(budget, Bytes{1} << 61));
    const auto [a, b] = std::pair(node.decision[0], node.decision[1]);
    expect(!node.by_order || (a != b && f_.sole[at(a)] && f_.sole[at(b)]),
           "order: not two tasks that every plan runs");
    Wide least = kInfinity;
    for (const bool holds : {true, false}) {
      decisions_.push_back({node.by_order, a, b, holds});
      least = std::min(least, proven(node.cases[holds ? 0 : 1], budget));
      decisions_.pop_back();
    }
    return least;
  }

  Bytes live_at_the_end() const {
    Bytes live = f_.resident_bytes;
    for (std::size_t b = 0; b < f_.bytes.size(); ++b) live += f_.output[b] ? f_.bytes[b] : 0;
    return live;
  }

 private:
  Wide added_up(const Node& node, Bytes budget) const {
    expect(node.moments.empty() || budget >= 0, "a moment without a budget");
    const std::vector<bool> none(f_.reads.size()), all(f_.reads.size(), true), there(f_.bytes.size(), true);
    std::vector<Moment> moments{{none, all, none, f_.given, f_.given}};
    for (std::int64_t last = -1; const Row& r : node.moments) {
      expect(f_.sole[at(r[0])], "a moment is not a task that every plan runs");
      moments.push_back(first_run(f_, r[0], decisions_, budget));
      expect(last < 0 || moments.back().before[at(last)],
             "a moment does not surely come after the one before it");
      last = r[0];
    }
    moments.push_back({f_.sole, none, none, there, there});
    const Wide least = Ledger(f_, std::move(moments), node, budget, node.impossible ? 0 : scale_).least();
    expect(!node.impossible || least > 0, "a case said to be impossible is not shown to be");
    return node.impossible ? kInfinity : least;
  }

  const Facts f_;
  double scale_;
  std::vector<Decision> decisions_;
};

}  // namespace

std::string verify_proof(const Problem& problem, const Plan& plan) {
  if (plan.proof.json.empty())
    return plan.seconds_bound || plan.peak_bound ? "bounds are stated, but no proof" : "";
  if (plan.seconds_bound && plan.bound_order_given)
    return "seconds_bound holds for the given order only, which no proof covers";
  try {
    const Text text = read(plan.proof.json, problem);
    Prover prover(problem, std::ldexp(1.0, -text.unit_exponent));
    const Wide units = plan.seconds_bound && text.seconds ? prover.proven(*text.seconds, plan.budget) : 0;
    const double seconds =
        units < kInfinity ? std::ldexp(static_cast<double>(units), text.unit_exponent) : HUGE_VAL;
    if (plan.seconds_bound && !(*plan.seconds_bound <= seconds + 1e-9 * std::abs(seconds)))
      return fmt::format("seconds_bound is {}, but the proof gives {}", *plan.seconds_bound, seconds);
    // That no plan has fewer bytes: with one byte less than it says there is none.
    if (plan.peak_bound && *plan.peak_bound > prover.live_at_the_end() &&
        !(text.peak && prover.proven(*text.peak, *plan.peak_bound - 1) == kInfinity))
      return fmt::format("peak_bound is {}, but the proof does not show it", *plan.peak_bound);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace tidemark::plan
