// Adds up what docs/proofs.md says, in its words and order. SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tidemark/base/error.h"
#include "tidemark/plan/proof_facts.h"
#include "tidemark/plan/proof_read.h"

namespace tidemark::plan {
namespace {

using namespace proof;
using Wide = __int128;

constexpr std::size_t kMostMoments = 16;
constexpr std::int64_t kWhole = 1 << 20;  // the weights of `links` are parts of it

void expect(bool holds, const char* what) {
  if (!holds) fail(Error::Kind::data, "{}", what);
}

struct Range {
  int least = 0, most = 1;
};

// Time in units of 2^exponent seconds; `bytes`: sums are bytes at one moment, prices are 1 and runs cost nothing.
struct Unit {
  bool bytes = false;
  int exponent = 0;

  std::int64_t of(double seconds) const {
    // Charging less than it costs is always safe: a unit that is too small for a task weakens the proof, no more.
    const double units = std::min(std::floor(std::ldexp(seconds, -exponent)), 0x1p60);
    return bytes ? 0 : static_cast<std::int64_t>(units);
  }
  // Exactly, then rounded down.
  Wide worth(double price, Bytes amount) const {
    if (bytes) return amount;
    expect(price >= 0 && std::ldexp(price * static_cast<double>(std::abs(amount)), -exponent) < 0x1p90,
           "a price out of range");
    int scale = 0;
    const Wide product = static_cast<Wide>(std::ldexp(std::frexp(price, &scale), 53)) * amount;
    const int shift = scale - 53 - exponent;
    return shift >= 0 ? product << shift : product >> std::min(-shift, 127);
  }
};

class Ledger {
 public:
  Ledger(const Facts& facts, const std::vector<TaskId>& moments)
      : f_(facts), k_(static_cast<std::int64_t>(moments.size())) {
    expect(moments.size() <= kMostMoments, "too many moments");
    expect(f_.problem.tiers.empty() || k_ <= 1, "with tiers, a proof has one moment at most");
    for (TaskId t : moments) {
      expect(f_.sole[at(t)], "a moment is not a task that every plan runs");
      expect(m_.empty() || Moment(f_, t).before[at(m_.back().task)],
             "a moment does not surely come after the one before it");
      m_.emplace_back(f_, t);
    }
  }

  // What the leaf proves of a plan within the budget.
  Wide total(const Leaf& leaf, Bytes budget, const Unit& unit) const {
    Costs c{.stored = std::vector(at(k_) + 2, std::vector<Wide>(f_.values.size())),
            .away = std::vector<Wide>(f_.values.size())};
    add_time(leaf, unit, c);
    add_memory(leaf, budget, unit, c);
    add_rows(leaf, c);
    std::map<std::pair<std::int64_t, std::int64_t>, int> decided;
    for (const Row& d : leaf.decisions) {
      expect(d[0] >= 1 && d[0] <= k_ && is_value(d[1]) && d[2] <= 1, "decisions: not a value at a moment");
      decided[{d[0], d[1]}] = static_cast<int>(d[2]);
    }
    const auto least = [](Wide cost, Range range) { return cost * (cost > 0 ? range.least : range.most); };
    for (const auto& [stages, costs] : c.run) {
      for (std::size_t t = 0; t < costs.size(); ++t)
        c.sum += least(costs[t], run_range(stages.first, stages.second, static_cast<std::int64_t>(t)));
    }
    for (std::int64_t i = 0; i <= k_ + 1; ++i) {
      for (std::size_t v = 0; v < f_.values.size(); ++v) {
        const auto d = decided.find({i, static_cast<std::int64_t>(v)});
        if (c.stored[at(i)][v] == 0) continue;
        c.sum +=
            least(c.stored[at(i)][v], d != decided.end() ? Range{d->second, d->second}
                                                         : stored_range(i, static_cast<std::int64_t>(v)));
      }
    }
    for (Wide cost : c.away) c.sum += least(cost, {0, 1});
    return c.sum;
  }

 private:
  struct Costs {
    Wide sum = 0;  // what no unknown changes
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Wide>> run =
        {};                                 // by stages i to j, then by task
    std::vector<std::vector<Wide>> stored;  // by moment, then by value
    std::vector<Wide> away;                 // by value
  };

  std::vector<Wide>& runs(Costs& c, std::int64_t i, std::int64_t j) const {
    auto& list = c.run[{i, j}];
    list.resize(f_.reads.size());
    return list;
  }
  bool is_task(std::int64_t t) const { return at(t) < f_.reads.size(); }
  bool is_value(std::int64_t v) const { return at(v) < f_.values.size(); }

  // Rows time, links and floor.
  void add_time(const Leaf& leaf, const Unit& unit, Costs& c) const {
    const auto& tiers = f_.problem.tiers;
    expect(leaf.links.empty() || (leaf.links.size() == tiers.size() && k_ == 1),
           "links: not one row for each tier at one moment");
    std::int64_t reads = 0, writes = 0;
    for (const Row& r : leaf.links) {
      expect(r[0] <= kWhole && r[1] <= kWhole && (reads += r[0]) <= kWhole && (writes += r[1]) <= kWhole,
             "links: weights above the whole");
    }
    for (std::size_t v = 0; v < f_.values.size() && !leaf.links.empty(); ++v) {
      Wide cheapest = Wide{1} << 100;
      for (std::size_t i = 0; i < tiers.size(); ++i) {
        const auto link = [&](double rate) {
          return Wide{unit.of(tiers[i].latency_seconds + static_cast<double>(f_.values[v].bytes) / rate)};
        };
        const Wide in = leaf.links[i][0] * link(tiers[i].read_bytes_per_second);
        const Wide out = f_.values[v].given ? 0 : leaf.links[i][1] * link(tiers[i].write_bytes_per_second);
        cheapest = std::min(cheapest, (in + out) / kWhole);
      }
      c.away[v] = cheapest;
    }
    std::vector<Wide> floor(f_.reads.size(), Wide{1} << 100);
    for (std::size_t t = 0; t < floor.size(); ++t) {
      for (std::int64_t l = 0; l <= k_; ++l) {
        const Wide cost =
            Wide{unit.of(f_.problem.tasks[t].seconds)} * (kWhole - (l == 0 ? writes : reads)) / kWhole;
        runs(c, l, l)[t] = cost;
        if (f_.duty[t] < 0) continue;
        Wide& mine = floor[at(f_.duty[t])];
        mine = run_range(l, l, static_cast<std::int64_t>(t)).least == 1 ? 0 : std::min(mine, cost);
      }
    }
    std::set<std::int64_t> stated;
    for (const Row& r : leaf.floors) {
      expect(is_task(r[0]) && f_.duty[at(r[0])] == r[0] && stated.insert(r[0]).second,
             "floors: not a required task, or twice");
      floor[at(r[0])] = r[1];
    }
    for (std::size_t t = 0; t < floor.size(); ++t) {
      if (f_.duty[t] < 0) continue;
      if (at(f_.duty[t]) == t) c.sum += floor[t];
      for (std::int64_t l = 0; l <= k_; ++l) runs(c, l, l)[t] -= floor[at(f_.duty[t])];
    }
  }

  void add_memory(const Leaf& leaf, Bytes budget, const Unit& unit, Costs& c) const {
    expect(unit.bytes || leaf.prices.size() == m_.size(), "not one price for each moment");
    for (std::size_t i = 1; i <= m_.size(); ++i) {
      const double price = unit.bytes ? 1 : leaf.prices[i - 1];
      c.sum += unit.worth(price, m_[i - 1].held - budget);
      for (std::size_t v = 0; v < f_.values.size(); ++v)
        c.stored[i][v] += unit.worth(price, f_.values[v].bytes);
    }
  }

  // Rows need, keep and sum.
  void add_rows(const Leaf& leaf, Costs& c) const {
    const auto in_stages = [&](const Row& r) { return r[0] <= r[1] && r[1] <= k_; };
    const auto supply = [&](const Row& r) {
      c.stored[at(r[0])][at(r[3])] -= r[4];
      for (TaskId m : f_.values[at(r[3])].makers) runs(c, r[0], r[1])[at(m)] -= r[4];
      const Value& v = f_.values[at(r[3])];
      if (!f_.problem.tiers.empty() && r[0] > 0 && !v.resident) c.away[at(r[3])] -= r[4];
    };
    for (const Row& r : leaf.need) {
      expect(in_stages(r) && is_task(r[2]) && contains(f_.reads[at(r[2])], r[3]),
             "need: not a task and what it reads in a range of stages");
      runs(c, r[0], r[1])[at(r[2])] += r[4];
      supply(r);
    }
    for (const Row& r : leaf.keep) {
      expect(in_stages(r) && r[2] > r[0] && r[2] <= r[1] + 1 && is_value(r[3]) &&
                 (r[2] <= k_ || f_.values[at(r[3])].output),
             "keep: not a value between two moments, nor an output");
      c.stored[at(r[2])][at(r[3])] += r[4];
      supply(r);
    }
    for (const Row& r : leaf.sum) {
      expect(in_stages(r) && is_task(r[2]), "sum: not a task in a range of stages");
      runs(c, r[0], r[1])[at(r[2])] += r[3];
      for (std::int64_t l = r[0]; l <= r[1]; ++l) runs(c, l, l)[at(r[2])] -= r[3];
    }
  }

  Range run_range(std::int64_t i, std::int64_t j, std::int64_t t) const {
    const bool not_sooner = i == 0 || m_[at(i - 1)].after[at(t)];
    const bool by_then = j == k_ ? f_.sole[at(t)] : m_[at(j)].before[at(t)];
    if (not_sooner && by_then) return {1, 1};
    if (j < k_ && m_[at(j)].after[at(t)]) return {0, 0};
    if (i == 0) return {0, 1};
    const Moment& m = m_[at(i - 1)];
    bool over = f_.problem.tasks[at(t)].once && m.before[at(t)];
    for (std::int32_t v : f_.reads[at(t)]) over = over || m.past[at(v)];
    for (std::int32_t v : f_.writes[at(t)]) over = over || m.past[at(v)];
    return {0, over ? 0 : 1};
  }

  Range stored_range(std::int64_t i, std::int64_t v) const {
    const Value& value = f_.values[at(v)];
    if (i == 0) return {value.given, value.given};
    if (i > k_) return {1, 1};
    const Moment& m = m_[at(i - 1)];
    if (m.reads[at(v)]) return {1, 1};
    if (m.past[at(v)] || m.fresh[at(v)]) return {0, 0};
    bool makeable = value.given;
    for (TaskId maker : value.makers) makeable = makeable || !m.after[at(maker)];
    return {0, makeable};
  }

  const Facts& f_;
  std::int64_t k_;
  std::vector<Moment> m_;
};

// The leaves, in order, are those of a full binary tree: each follows from the one before by turning its last "not
// stored" into "stored", and then deciding more.
void expect_all_cases(const std::vector<Leaf>& leaves) {
  std::vector<Row> next;
  for (const Leaf& leaf : leaves) {
    expect(&leaf == leaves.data() || !next.empty(), "leaves after the last");
    expect(
        leaf.decisions.size() >= next.size() && std::equal(next.begin(), next.end(), leaf.decisions.begin()),
        "a leaf is missing");
    for (std::size_t i = next.size(); i < leaf.decisions.size(); ++i)
      expect(leaf.decisions[i][2] == 0, "a leaf is missing");
    next = leaf.decisions;
    while (!next.empty() && next.back()[2] == 1) next.pop_back();
    if (!next.empty()) next.back()[2] = 1;
  }
  expect(!leaves.empty() && next.empty(), "the last leaf is missing");
}

double proven_seconds(const Facts& facts, const Seconds& s, Bytes budget) {
  expect_all_cases(s.leaves);
  expect(s.moments.empty() || budget >= 0, "a moment without a budget");
  expect(static_cast<double>(s.leaves.size() * (facts.reads.size() + facts.values.size())) < 1e9,
         "too many leaves");
  const Ledger ledger(facts, s.moments);
  double least = HUGE_VAL;
  for (const Leaf& leaf : s.leaves) {
    if (leaf.impossible)
      expect(s.moments.size() == 1 && leaf.links.empty() && leaf.floors.empty() &&
                 ledger.total(leaf, budget, {.bytes = true}) > 0,
             "a leaf said to be impossible is not shown to be");
    else
      least = std::min(
          least, std::ldexp(static_cast<double>(ledger.total(leaf, budget, {.exponent = s.unit_exponent})),
                            s.unit_exponent));
  }
  return least;
}

// In the last run, whichever task it is, all outputs are live: without tiers nothing appears after it.
Bytes live_in_the_last_run(const Facts& f) {
  std::vector<bool> output(f.problem.buffers.size());
  Bytes outputs = 0, least = f.reads.empty() ? 0 : Bytes{1} << 62;
  for (const Value& v : f.values) outputs += v.output ? v.bytes : 0;
  for (const Value& v : f.values) output[at(v.buffer)] = output[at(v.buffer)] || v.output;
  for (std::size_t t = 0; t < f.reads.size(); ++t) {
    Bytes live = outputs + round_up(f.problem.tasks[t].workspace, f.problem.align);
    for (std::int32_t v : f.reads[t]) live += output[at(f.values[at(v)].buffer)] ? 0 : f.values[at(v)].bytes;
    for (std::int32_t v : f.writes[t]) {
      const Value& w = f.values[at(v)];
      const bool own = contains(f.fresh[t], v), update = contains(f.problem.tasks[t].reads, w.buffer);
      if (own && !output[at(w.buffer)]) live += w.bytes;
      if (!own && !update && output[at(w.buffer)]) live -= w.bytes;
    }
    least = std::min(least, live);
  }
  return f.resident_bytes + (f.problem.tiers.empty() ? least : 0);
}

Bytes proven_bytes(const Facts& facts, const Peak& peak) {
  if (peak.end) return live_in_the_last_run(facts);
  expect(peak.moments.size() == 1, "a proof of the peak has one moment");
  return static_cast<Bytes>(
      std::min(Ledger(facts, peak.moments).total(peak.leaf, 0, {.bytes = true}), Wide{1} << 62));
}

}  // namespace

std::string verify_proof(const Problem& problem, const Plan& plan) {
  if (!plan.seconds_bound && !plan.peak_bound) return {};
  if (plan.proof.json.empty()) return "bounds are stated, but no proof";
  if (plan.seconds_bound && plan.bound_order_given)
    return "seconds_bound holds for the given order only, which no proof covers";
  try {
    const Facts facts(problem);
    const Text text = read(plan.proof.json, problem.tasks.size());
    if (plan.seconds_bound && !text.seconds) return "seconds_bound is stated, but not proven";
    if (plan.peak_bound && !text.peak) return "peak_bound is stated, but not proven";
    const double seconds = text.seconds ? proven_seconds(facts, *text.seconds, plan.budget) : 0;
    const Bytes bytes = text.peak ? proven_bytes(facts, *text.peak) : 0;
    if (plan.seconds_bound && !(*plan.seconds_bound <= seconds + 1e-9 * std::abs(seconds)))
      return fmt::format("seconds_bound is {}, but the proof gives {}", *plan.seconds_bound, seconds);
    if (plan.peak_bound && *plan.peak_bound > bytes)
      return fmt::format("peak_bound is {}, but the proof gives {}", *plan.peak_bound, bytes);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace tidemark::plan
