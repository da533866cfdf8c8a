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
using Wide = __int128;

constexpr std::size_t kMostMoments = 16, kMostOrders = 16, kMostCases = 64;
constexpr std::int64_t kWhole = 1 << 20;    // the weights of `links` are parts of it
constexpr Wide kInfinity = Wide{1} << 120;  // sums stay far below
constexpr std::size_t kMostWork = 1'000'000'000;

// The cost of each unknown as rows are added, and the least that all can come to.
class Ledger {
 public:
  // Moments from the start to the end. `scale`: units a second; 0: time is left out.
  Ledger(const Facts& facts, std::vector<Moment> moments, double scale)
      : f_(facts), m_(std::move(moments)), k_(static_cast<std::int64_t>(m_.size()) - 2), scale_(scale) {
    m_.push_back({.least = std::vector<bool>(f_.values.size()), .most = m_.back().most});
  }

  // Rows time and floor.
  void add_time(const Leaf& leaf) {
    const auto [in, out] = add_links(leaf.links);
    std::vector<Wide> floors(f_.duty.size(), kInfinity);  // by required task
    for (std::int64_t l = 0; l <= k_; ++l) {
      std::vector<Wide>& costs = run(l, l);
      for (std::size_t t = 0; t < f_.duty.size(); ++t) {
        const TaskId duty = f_.duty[t];
        costs[t] = units(f_.problem.tasks[t].seconds) * (kWhole - (l == 0 ? out : in)) / kWhole;
        if (duty >= 0) floors[at(duty)] = surely_runs(l, l, t) ? 0 : std::min(floors[at(duty)], costs[t]);
      }
    }
    for (const Row& r : leaf.floors) {
      expect(at(r[0]) < floors.size() && floors[at(r[0])] < kInfinity, "floors: not a required task");
      floors[at(r[0])] = r[1];
    }
    for (const Wide& y : floors) sum_ += y < kInfinity ? y : 0;
    for (std::int64_t l = 0; l <= k_; ++l) {
      std::vector<Wide>& costs = run(l, l);
      for (std::size_t t = 0; t < f_.duty.size(); ++t)
        costs[t] -= f_.duty[t] >= 0 ? floors[at(f_.duty[t])] : 0;
    }
  }

  void add_memory(const Leaf& leaf, Bytes budget) {
    expect(static_cast<std::int64_t>(leaf.prices.size()) == k_, "not one price for each moment");
    for (std::int64_t i = 1; i <= k_; ++i) {
      const Row& price = leaf.prices[at(i - 1)];
      const auto worth = [&](Bytes bytes) {
        const Wide product = Wide{price[0]} * bytes >> std::min<std::int64_t>(price[1], 127);
        expect(product < Wide{1} << 90 && product > -(Wide{1} << 90), "a price out of range");
        return product;
      };
      sum_ += worth(m_[at(i)].held - budget);
      for (std::size_t v = 0; v < f_.values.size(); ++v) stored(i)[v] += worth(f_.values[v].bytes);
    }
  }

  // Rows need, keep and sum.
  void add_rows(const Leaf& leaf) {
    const auto is_row = [&](const Row& r, std::int64_t task, std::int64_t value) {
      return r[0] <= r[1] && r[1] <= k_ && at(task) < f_.reads.size() && at(value) < f_.values.size();
    };
    std::size_t work = 0;
    const auto take = [&](std::size_t more) { expect((work += more) < kMostWork, "rows: too much work"); };
    const auto supply = [&](const Row& r) {
      const Value& v = f_.values[at(r[3])];
      take(v.makers.size());
      stored(r[0])[at(r[3])] -= r[4];
      std::vector<Wide>& runs = run(r[0], r[1]);
      for (TaskId maker : v.makers) runs[at(maker)] -= r[4];
      if (!f_.problem.tiers.empty() && r[0] > 0 && !v.resident) away()[at(r[3])] -= r[4];
    };
    for (const Row& r : leaf.need) {
      expect(is_row(r, r[2], r[3]) && contains(f_.reads[at(r[2])], r[3]),
             "need: not what a task reads in stages");
      take(f_.reads[at(r[2])].size());
      run(r[0], r[1])[at(r[2])] += r[4];
      supply(r);
    }
    for (const Row& r : leaf.keep) {
      expect(is_row(r, 0, r[3]) && r[0] < r[2] && r[2] <= r[1] + 1,
             "keep: not a value at a moment behind stages");
      expect(r[2] <= k_ || f_.values[at(r[3])].output, "keep: not an output");
      stored(r[2])[at(r[3])] += r[4];
      supply(r);
    }
    for (const Row& r : leaf.sum) {
      expect(is_row(r, r[2], 0), "sum: not a task in stages");
      run(r[0], r[1])[at(r[2])] += r[3];
      for (std::int64_t l = r[0]; l <= r[1]; ++l) run(l, l)[at(r[2])] -= r[3];
    }
  }

  Wide least() const {
    Wide sum = sum_;
    for (const auto& [key, costs] : cost_) {
      const auto [i, j] = key;
      for (std::size_t x = 0; x < costs.size(); ++x) {
        const bool is_run = i <= j;
        const bool must = is_run ? surely_runs(i, j, x) : m_[at(i)].least[x];
        const bool may = is_run ? !m_[at(j + 1)].after[x] && !m_[at(i)].over[x] : m_[at(i)].most[x];
        if (costs[x] > 0 ? must : must || may) sum += costs[x];
      }
    }
    return sum;
  }

 private:
  std::vector<Wide>& run(std::int64_t i, std::int64_t j) { return costs(i, j, f_.reads.size()); }
  std::vector<Wide>& stored(std::int64_t i) { return costs(i, i - 1, f_.values.size()); }
  std::vector<Wide>& away() { return stored(k_ + 2); }
  std::vector<Wide>& costs(std::int64_t i, std::int64_t j, std::size_t size) {
    auto& list = cost_[{i, j}];
    list.resize(size);
    return list;
  }
  bool surely_runs(std::int64_t i, std::int64_t j, std::size_t t) const {
    return m_[at(i)].after[t] && m_[at(j + 1)].before[t];
  }
  // Rounded down: charging less than it costs is always safe.
  Wide units(double seconds) const {
    return static_cast<Wide>(std::floor(std::min(seconds * scale_, 0x1p60)));
  }

  // What being away costs, and the parts of the time after the moment and before it that count there.
  std::pair<Wide, Wide> add_links(const std::vector<Row>& links) {
    const auto& tiers = f_.problem.tiers;
    expect(links.empty() || (links.size() == tiers.size() && k_ == 1),
           "links: not one for each tier at one moment");
    Wide read = 0, written = 0;
    for (std::size_t i = 0; i < links.size(); ++i) {
      read += links[i][0], written += links[i][1];
      for (std::size_t v = 0; v < f_.values.size(); ++v) {
        const auto copy = [&](double rate) {
          return units(tiers[i].latency_seconds + static_cast<double>(f_.values[v].bytes) / rate);
        };
        const Wide in = links[i][0] * copy(tiers[i].read_bytes_per_second);
        const Wide out = f_.values[v].given ? 0 : links[i][1] * copy(tiers[i].write_bytes_per_second);
        const Wide cost = (in + out) / kWhole;
        away()[v] = i == 0 ? cost : std::min(away()[v], cost);
      }
    }
    expect(read <= kWhole && written <= kWhole, "links: weights above the whole");
    return {read, written};
  }

  const Facts& f_;
  std::vector<Moment> m_;  // 0: the start; k + 1: the end; k + 2: for what may be away
  std::int64_t k_;
  double scale_;
  Wide sum_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Wide>> cost_;  // see run and stored
};

// The decisions that hold at the leaves of a binary tree, from left to right: each leaf turns the last 0 of the one
// before into 1, without what follows it, and adds its own, all 0.
class Path {
 public:
  const std::vector<Row>& enter(const std::vector<Row>& own) {
    expect(!begun_ || !rows_.empty(), "a leaf after the last");
    begun_ = true;
    for (const Row& d : own) rows_.push_back({d[0], d[1], 0});
    return rows_;
  }
  void leave() {
    while (!rows_.empty() && rows_.back()[2] == 1) rows_.pop_back();
    if (!rows_.empty()) rows_.back()[2] = 1;
  }
  void end() const { expect(begun_ && rows_.empty(), "a leaf is missing"); }

 private:
  std::vector<Row> rows_;
  bool begun_ = false;
};

// In units, or in bytes without a scale: the least over the leaves.
Wide proven(const Facts& f, const Case& part, Bytes budget, double scale) {
  expect(part.moments.size() <= (f.problem.tiers.empty() ? kMostMoments : 1), "too many moments");
  std::vector<Moment> moments{the_start(f)};
  for (std::size_t i = 0; i < part.moments.size(); ++i) {
    expect(f.sole[at(part.moments[i].task)], "a moment is not a task that every plan runs");
    moments.push_back(first_run(f, part.moments[i].task, part.moments[i].after));
    expect(i == 0 || moments.back().before[at(part.moments[i - 1].task)],
           "a moment does not surely come after the one before it");
  }
  moments.push_back(the_end(f));
  Wide least = kInfinity;
  Path path;
  std::size_t steps = 0;
  for (const Leaf& leaf : part.leaves) {
    std::vector<Moment> decided = moments;
    const std::vector<Row>& decisions = path.enter(leaf.decisions);
    expect((steps += decisions.size()) < kMostWork, "too many decisions");
    for (const Row& d : decisions) {
      expect(d[0] >= 1 && at(d[0]) <= part.moments.size() && at(d[1]) < f.values.size(),
             "decisions: not a value at a moment");
      decided[at(d[0])].least[at(d[1])] = decided[at(d[0])].most[at(d[1])] = d[2] == 1;
    }
    Ledger ledger(f, std::move(decided), leaf.impossible ? 0 : scale);
    ledger.add_time(leaf);
    ledger.add_memory(leaf, budget);
    ledger.add_rows(leaf);
    expect(!leaf.impossible || ledger.least() > 0, "a leaf said to be impossible is not shown to be");
    if (!leaf.impossible) least = std::min(least, ledger.least());
    path.leave();
  }
  path.end();
  return least;
}

// The least over the cases.
Wide proven(const Problem& p, const Text& text, const Part& part, Bytes budget, double scale) {
  Wide least = kInfinity;
  std::size_t work = 0;
  Path path;
  expect(part.cases.size() <= kMostCases, "too many cases");
  for (const Case& c : part.cases) {
    const std::vector<Row>& order = path.enter(c.order);
    expect(order.size() <= kMostOrders, "order: too many");
    const Facts f(p, text.never_first, order);
    work += c.leaves.size() * (f.reads.size() + f.values.size() + 1) * (c.moments.size() + 1);
    expect(work < kMostWork, "too many leaves");
    least = std::min(least, proven(f, c, budget, scale));
    path.leave();
  }
  path.end();
  return least;
}

double proven_seconds(const Problem& p, const Text& text, Bytes budget) {
  const Part& part = *text.seconds;
  for (const Case& c : part.cases) expect(c.moments.empty() || budget >= 0, "a moment without a budget");
  const Wide units = proven(p, text, part, budget, std::ldexp(1.0, -part.unit_exponent));
  return units == kInfinity ? HUGE_VAL : std::ldexp(static_cast<double>(units), part.unit_exponent);
}

// At the end: in the last run, whichever task it is, all outputs are live, since without tiers nothing appears after it. Where no task
// is required there may be none.
Bytes proven_bytes(const Problem& p, const Text& text) {
  for (const Case& c : text.peak->cases)
    for (const Leaf& leaf : c.leaves)
      expect(!leaf.impossible && leaf.prices == std::vector<Row>{{1, 0}},
             "a peak is at one moment, at price 1");
  if (!text.peak->end)
    return static_cast<Bytes>(std::clamp(proven(p, text, *text.peak, 0, 0), Wide{0}, Wide{1} << 62));
  const Facts f(p, text.never_first, {});
  const auto required = [](const Task& t) { return !t.optional; };
  if (!std::any_of(f.problem.tasks.begin(), f.problem.tasks.end(), required) || !f.problem.tiers.empty())
    return f.resident_bytes;
  Bytes outputs = 0, least = Bytes{1} << 62;
  for (const Value& v : f.values) outputs += v.output ? v.bytes : 0;
  for (std::size_t t = 0; t < f.reads.size(); ++t) {
    Bytes live = outputs + f.held[t];
    for (std::int32_t v : f.reads[t]) live += f.values[at(v)].output ? 0 : f.values[at(v)].bytes;
    for (std::int32_t v : f.writes[t]) live -= f.values[at(v)].output ? f.values[at(v)].bytes : 0;
    least = std::min(least, live);
  }
  return least;
}

}  // namespace

std::string verify_proof(const Problem& problem, const Plan& plan) {
  if (!plan.seconds_bound && !plan.peak_bound) return {};
  if (plan.proof.json.empty()) return "bounds are stated, but no proof";
  if (plan.seconds_bound && plan.bound_order_given)
    return "seconds_bound holds for the given order only, which no proof covers";
  try {
    const Text text = read(plan.proof.json, problem.tasks.size());
    const double seconds = text.seconds ? proven_seconds(problem, text, plan.budget) : 0;
    const Bytes bytes = text.peak ? proven_bytes(problem, text) : 0;
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
