// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tidemark/plan/json_read.h"
#include "tidemark/plan/proof_facts.h"

namespace tidemark::plan {
namespace {

using json::Element;
using json::Place;
using proof::Facts;
using proof::Instant;
using Wide = __int128;
using Row = std::vector<std::int64_t>;

constexpr std::size_t kMostMoments = 16;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Rows of integers in named fields; a proof has nothing else but its prices and kinds.
std::vector<Row> read_rows(Element element, const Place& place, std::size_t width) {
  std::vector<Row> rows;
  for (const Element row : json::read_array(element, place)) {
    Row& r = rows.emplace_back();
    for (const Element cell : json::read_array(row, place)) r.push_back(json::read_integer(cell, place));
    if (r.size() != width) json::refuse(place, fmt::format("a row of {} numbers, not {}", r.size(), width));
    for (const std::int64_t cell : r) {
      if (cell < 0 || cell > std::int64_t{1} << 60) json::refuse(place, "a number below 0 or above 2^60");
    }
  }
  return rows;
}

struct Leaf {
  std::vector<Row> decisions, need, keep, sum, within, floors;
  std::vector<double> prices;
  bool impossible = false;
};

// Sums multiplied inequalities over the unknowns run(i, j, t) and stored(i, v) and takes the least that the
// remaining costs allow. In units of time for a bound on seconds; in bytes, at one moment and without costs,
// for a bound on the peak.
class Sums {
 public:
  Sums(const Facts& facts, const std::vector<TaskId>& moments, int unit_exponent, bool timed)
      : f_(facts), unit_exponent_(unit_exponent), timed_(timed) {
    for (TaskId t : moments) {
      if (t < 0 || at(t) >= f_.tasks.size() || !f_.tasks[at(t)].sole) {
        wrong_ = fmt::format("moment {} is not a task that every plan runs", t);
        return;
      }
      instants_.emplace_back(f_, t);
      if (instants_.size() > 1 && !instants_.back().before[at(instants_[instants_.size() - 2].task)]) {
        wrong_ = fmt::format("moment {} does not surely come after the one before it", t);
        return;
      }
    }
    k_ = static_cast<std::int64_t>(instants_.size());
    for (const Facts::Value& v : f_.values) most_bytes_ = std::max(most_bytes_, v.bytes);
    cost_.assign(f_.tasks.size(), 0);
    floor_.assign(f_.tasks.size(), 0);
    members_.resize(f_.tasks.size());
    for (std::size_t t = 0; timed && t < cost_.size(); ++t) {
      cost_[t] =
          static_cast<std::int64_t>(std::floor(std::ldexp(f_.problem.tasks[t].seconds, -unit_exponent)));
      if (f_.tasks[t].duty >= 0) members_[at(f_.tasks[t].duty)].push_back(static_cast<TaskId>(t));
    }
    // Each required task's work is done once: its cost counts where that is known, else the cheapest way is
    // the floor.
    for (std::size_t d = 0; d < members_.size(); ++d) {
      bool known = members_[d].empty();
      std::int64_t least = std::int64_t{1} << 62;
      for (TaskId t : members_[d]) {
        least = std::min(least, cost_[at(t)]);
        for (std::int64_t l = 0; l <= k_; ++l) known = known || run_range(l, l, t).first == 1;
      }
      floor_[d] = known ? 0 : least;
      base_ += floor_[d];
      for (TaskId t : members_[d]) {
        for (std::int64_t l = 0; l <= k_; ++l) base_ += run_range(l, l, t).first * (cost_[at(t)] - floor_[d]);
      }
    }
  }

  const std::string& wrong() const { return wrong_; }

  // What the leaf proves; sets wrong() if it is malformed.
  Wide total(const Leaf& leaf, Bytes budget) {
    std::map<Key, Wide> change;  // of the costs of unknowns, beside their base
    Wide sum = base_;
    if (leaf.prices.size() != instants_.size()) return refuse("not one price for each moment");
    for (std::int64_t i = 1; i <= k_; ++i) {
      const Instant& m = instants_[at(i - 1)];
      const double price = leaf.prices[at(i - 1)];
      const Bytes most = std::max({most_bytes_, budget, m.held});
      if (!(price >= 0 && std::ldexp(price * static_cast<double>(most), -unit_exponent_) < 0x1p100))
        return refuse("a price out of range");
      sum -= budget >= m.held ? worth(price, budget - m.held, true) : -worth(price, m.held - budget, false);
      for (std::int32_t v : f_.tasks[at(m.task)].reads) sum += worth(price, f_.values[at(v)].bytes, false);
    }
    const auto supply = [&](std::int64_t i, std::int64_t j, std::int64_t v, std::int64_t y) {
      change[{i, -1, v}] -= y;
      for (TaskId m : f_.values[at(v)].makers) change[{i, j, m}] -= y;
      if (!f_.problem.tiers.empty() && !f_.values[at(v)].resident) sum -= y;  // or it is fetched
    };
    for (const Row& r : leaf.need) {
      if (!stages(r[0], r[1]) || !task(r[2]) ||
          !contains(f_.tasks[at(r[2])].reads, static_cast<std::int32_t>(r[3])))
        return refuse("need: not a task and what it reads in a range of stages");
      change[{r[0], r[1], r[2]}] += r[4];
      supply(r[0], r[1], r[3], r[4]);
    }
    for (const Row& r : leaf.keep) {
      const bool output =
          r[2] == k_ + 1 && value(r[3]) && contains(f_.outputs, static_cast<std::int32_t>(r[3]));
      if (!stages(r[0], r[1]) || !value(r[3]) || r[2] <= r[0] || r[2] > r[1] + 1 || (r[2] > k_ && !output))
        return refuse("keep: not a value between two moments, nor an output");
      if (output) {
        sum += r[4];
      } else {
        change[{r[2], -1, r[3]}] += r[4];
      }
      supply(r[0], r[1], r[3], r[4]);
    }
    for (const Row& r : leaf.sum) {
      if (!stages(r[0], r[1]) || !task(r[2])) return refuse("sum: not a task in a range of stages");
      change[{r[0], r[1], r[2]}] += r[3];
      for (std::int64_t l = r[0]; l <= r[1]; ++l) change[{l, l, r[2]}] -= r[3];
    }
    for (const Row& r : leaf.within) {
      if (!stages(r[0], r[1]) || !stages(r[2], r[3]) || r[2] < r[0] || r[3] > r[1] || !task(r[4]))
        return refuse("within: not a task in a range within a range of stages");
      change[{r[2], r[3], r[4]}] += r[5];
      change[{r[0], r[1], r[4]}] -= r[5];
    }
    std::map<std::int64_t, std::int64_t> floors;
    for (const Row& r : leaf.floors) {
      if (!task(r[0]) || members_[at(r[0])].empty() || !floors.emplace(r[0], r[1]).second)
        return refuse("floors: not a required task, or twice");
      sum += r[1] - floor_[at(r[0])];
      for (TaskId t : members_[at(r[0])]) {
        for (std::int64_t l = 0; l <= k_; ++l) change[{l, l, t}] -= r[1] - floor_[at(r[0])];
      }
    }
    std::map<Key, bool> decided;
    for (const Row& r : leaf.decisions) {
      if (r[0] < 1 || r[0] > k_ || !value(r[1]) || r[2] > 1)
        return refuse("decisions: not a value at a moment");
      decided[{r[0], -1, r[1]}] = r[2] == 1;
      change[{r[0], -1, r[1]}] += 0;
    }
    for (const auto& [key, delta] : change) {
      const auto& [i, j, id] = key;
      auto range = j < 0 ? stored_range(i, id) : run_range(i, j, id);
      Wide base = 0;
      if (j == i) base = cost_[at(id)] - (f_.tasks[at(id)].duty >= 0 ? floor_[at(f_.tasks[at(id)].duty)] : 0);
      if (j < 0 && i >= 1 && i <= k_) base = worth(leaf.prices[at(i - 1)], f_.values[at(id)].bytes, false);
      sum -= base * range.first;  // as counted above
      if (const auto d = decided.find(key); d != decided.end()) range = {d->second, d->second};
      const Wide cost = base + delta;
      sum += cost * (cost > 0 ? range.first : range.second);
    }
    return sum;
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // (i, j, task), or (i, -1, value)

  Wide refuse(const char* what) {
    wrong_ = what;
    return 0;
  }
  bool stages(std::int64_t i, std::int64_t j) const { return i <= j && j <= k_; }
  bool task(std::int64_t t) const { return at(t) < f_.tasks.size(); }
  bool value(std::int64_t v) const { return at(v) < f_.values.size(); }
  static bool contains(const std::vector<std::int32_t>& list, std::int32_t v) {
    return proof::contains(list, v);
  }

  // The least and the most that run(i, j, t) can be.
  std::pair<int, int> run_range(std::int64_t i, std::int64_t j, std::int64_t t) const {
    const Facts::Role& role = f_.tasks[at(t)];
    if ((i == 0 || instants_[at(i - 1)].not_before[at(t)]) &&
        (j == k_ ? role.sole : instants_[at(j)].before[at(t)]))
      return {1, 1};
    if (j < k_ && instants_[at(j)].not_before[at(t)]) return {0, 0};
    if (i == 0) return {0, 1};
    const Instant& m = instants_[at(i - 1)];
    const auto past = [&](std::int32_t v) -> bool { return m.past[at(v)]; };
    const bool over = (f_.problem.tasks[at(t)].once && m.before[at(t)]) ||
                      std::any_of(role.reads.begin(), role.reads.end(), past) ||
                      std::any_of(role.writes.begin(), role.writes.end(), past);
    return {0, over ? 0 : 1};
  }

  std::pair<int, int> stored_range(std::int64_t i, std::int64_t v) const {
    const Facts::Value& value = f_.values[at(v)];
    if (i == 0) return {value.given, value.given};
    const Instant& m = instants_[at(i - 1)];
    const auto id = static_cast<std::int32_t>(v);
    if (contains(f_.tasks[at(m.task)].reads, id)) return {1, 1};
    if (m.past[at(v)] || contains(m.fresh, id)) return {0, 0};
    const bool makeable =
        std::any_of(value.makers.begin(), value.makers.end(), [&](TaskId t) { return !m.not_before[at(t)]; });
    return {0, value.given || makeable ? 1 : 0};
  }

  // price x bytes in units, exactly, rounded against the prover.
  Wide worth(double price, Bytes bytes, bool up) const {
    if (!timed_) return bytes;
    if (price == 0) return 0;
    int exponent = 0;
    const Wide product = static_cast<Wide>(std::ldexp(std::frexp(price, &exponent), 53)) * bytes;
    const int shift = exponent - 53 - unit_exponent_;
    if (shift >= 0) return product << shift;
    if (shift <= -127) return up ? 1 : 0;
    return (product >> -shift) + (up && (product & ((Wide{1} << -shift) - 1)) != 0 ? 1 : 0);
  }

  const Facts& f_;
  int unit_exponent_;
  bool timed_;
  std::int64_t k_ = 0;
  Bytes most_bytes_ = 0;
  std::vector<Instant> instants_;
  std::vector<std::int64_t> cost_, floor_;
  std::vector<std::vector<TaskId>> members_;  // by required task: those that do its work
  Wide base_ = 0;
  std::string wrong_;
};

// The leaves, in order, are those of a full binary tree: each follows from the one before by turning its last
// "not stored" into "stored" and then deciding more.
std::string covers_all(const std::vector<Leaf>& leaves) {
  if (leaves.empty()) return "no leaves";
  const std::vector<Row>* last = nullptr;
  std::vector<Row> expected;
  for (const Leaf& leaf : leaves) {
    if (last != nullptr) {
      expected = *last;
      while (!expected.empty() && expected.back()[2] == 1) expected.pop_back();
      if (expected.empty()) return "leaves after the last";
      expected.back()[2] = 1;
    }
    const auto& d = leaf.decisions;
    if (d.size() < expected.size() || !std::equal(expected.begin(), expected.end(), d.begin()))
      return "a leaf is missing";
    for (std::size_t i = expected.size(); i < d.size(); ++i) {
      if (d[i][2] != 0) return "a leaf is missing";
    }
    last = &d;
  }
  for (const Row& r : *last) {
    if (r[2] != 1) return "the last leaf is missing";
  }
  return {};
}

std::string verify_seconds(const Facts& facts, const Plan& plan, Element root, double* proven) {
  const Place place{"proof", "seconds"};
  std::vector<TaskId> moments;
  std::vector<Leaf> leaves;
  std::int64_t exponent = 0;
  static constexpr std::string_view kFields[] = {"unit_exponent", "moments", "leaves"};
  static constexpr std::string_view kLeaf[] = {"prices", "decisions", "need",  "keep",
                                               "sum",    "within",    "floors", "impossible"};
  static constexpr std::size_t kWidth[] = {0, 3, 5, 5, 4, 6, 2, 0};
  json::read_object(root, place, kFields, [&](std::size_t field, Element e) {
    if (field == 0) exponent = json::read_integer(e, place);
    if (field == 1) moments = json::read_ids(e, place, facts.tasks.size());
    if (field != 2) return;
    for (const Element item : json::read_array(e, place)) {
      Leaf& leaf = leaves.emplace_back();
      std::vector<Row>* rows[] = {nullptr,   &leaf.decisions, &leaf.need,  &leaf.keep,
                                  &leaf.sum, &leaf.within,    &leaf.floors};
      json::read_object(item, place, kLeaf, [&](std::size_t f, Element list) {
        if (f == 7) {
          leaf.impossible = json::read_bool(list, place);
          return;
        }
        if (f > 0) {
          *rows[f] = read_rows(list, place, kWidth[f]);
          return;
        }
        for (const Element price : json::read_array(list, place))
          leaf.prices.push_back(json::read_double(price, place));
      });
    }
  });
  if (exponent < -900 || exponent > 900) return "unit_exponent is out of range";
  if (moments.size() > kMostMoments) return fmt::format("more than {} moments", kMostMoments);
  for (const Task& t : facts.problem.tasks) {
    if (std::ldexp(t.seconds, -static_cast<int>(exponent)) > 0x1p60)
      return "unit_exponent is too small for the tasks";
  }
  if (std::string gap = covers_all(leaves); !gap.empty()) return gap;
  Sums seconds(facts, moments, static_cast<int>(exponent), true), bytes(facts, moments, 0, false);
  *proven = HUGE_VAL;
  for (Leaf& leaf : leaves) {
    if (!seconds.wrong().empty()) break;
    if (leaf.impossible) {
      leaf.prices.assign(1, 1);
      if (moments.size() != 1 || bytes.total(leaf, plan.budget) <= 0 || !bytes.wrong().empty())
        return "a leaf said to be impossible is not shown to be";
      continue;
    }
    const Wide total = seconds.total(leaf, plan.budget);
    *proven = std::min(*proven, std::ldexp(static_cast<double>(total), static_cast<int>(exponent)));
  }
  return seconds.wrong();
}

std::string verify_peak(const Facts& facts, Element root, Bytes* proven) {
  const Place place{"proof", "peak"};
  std::vector<TaskId> moments;
  Leaf leaf{.prices = {1}};
  bool end = false;
  static constexpr std::string_view kFields[] = {"moments", "need", "keep", "end"};
  json::read_object(root, place, kFields, [&](std::size_t field, Element e) {
    if (field == 0) moments = json::read_ids(e, place, facts.tasks.size());
    if (field == 1) leaf.need = read_rows(e, place, 5);
    if (field == 2) leaf.keep = read_rows(e, place, 5);
    if (field == 3) end = json::read_bool(e, place);
  });
  if (end) {
    // Nothing appears after the last run but by a copy; so, without tiers, all outputs are live in it.
    std::vector<bool> output(facts.problem.buffers.size());
    Bytes outputs = 0;
    for (std::int32_t v : facts.outputs) {
      const BufferId b = facts.values[at(v)].buffer;
      if (!output[at(b)]) outputs += facts.values[at(v)].bytes;
      output[at(b)] = true;
    }
    Bytes least = facts.tasks.empty() ? 0 : Bytes{1} << 62;
    for (std::size_t t = 0; t < facts.tasks.size(); ++t) {
      const Task& task = facts.problem.tasks[t];
      Bytes live = outputs + round_up(task.workspace, facts.problem.align);
      for (std::int32_t v : facts.tasks[t].reads) {
        if (!output[at(facts.values[at(v)].buffer)]) live += facts.values[at(v)].bytes;
      }
      const std::vector<std::int32_t> fresh = proof::fresh_writes(facts, static_cast<TaskId>(t));
      for (std::int32_t v : facts.tasks[t].writes) {
        const Facts::Value& w = facts.values[at(v)];
        const bool own = proof::contains(fresh, v);
        if (own && !output[at(w.buffer)]) live += w.bytes;
        if (!own && output[at(w.buffer)] && !proof::contains(task.reads, w.buffer)) live -= w.bytes;
      }
      least = std::min(least, live);
    }
    if (!facts.problem.tiers.empty()) return "an end proof needs that nothing can be copied";
    *proven = facts.resident_bytes + least;
    return {};
  }
  if (moments.size() != 1) return "a proof of the peak has one moment";
  Sums sums(facts, moments, 0, false);
  if (!sums.wrong().empty()) return sums.wrong();
  const Wide total = sums.total(leaf, 0);
  *proven = total > Wide{1} << 62 ? Bytes{1} << 62 : static_cast<Bytes>(total);
  return sums.wrong();
}

}  // namespace

std::string verify_proof(const Problem& problem, const Plan& plan) {
  if (!plan.seconds_bound && !plan.peak_bound) return {};
  if (plan.proof.json.empty()) return "bounds are stated, but no proof";
  try {
    const Facts facts(problem);
    const json::Document document("proof", plan.proof.json);
    bool timed = false, peaked = false;
    double seconds = 0;
    Bytes peak = 0;
    std::string wrong;
    static constexpr std::string_view kFields[] = {"seconds", "peak"};
    json::read_object(document.root(), Place{"proof"}, kFields, [&](std::size_t field, Element e) {
      (field == 0 ? timed : peaked) = true;
      const std::string fault =
          field == 0 ? verify_seconds(facts, plan, e, &seconds) : verify_peak(facts, e, &peak);
      if (!fault.empty() && wrong.empty())
        wrong = fmt::format("{}: {}", field == 0 ? "seconds" : "peak", fault);
    });
    if (!wrong.empty()) return wrong;
    if (plan.seconds_bound && plan.bound_order_given)
      return "seconds_bound holds for the given order only, which no proof covers";
    if (plan.seconds_bound && !timed) return "seconds_bound is stated, but not proven";
    if (plan.seconds_bound && !(*plan.seconds_bound <= seconds + 1e-9 * std::abs(seconds)))
      return fmt::format("seconds_bound is {}, but the proof gives {}", *plan.seconds_bound, seconds);
    if (plan.peak_bound && !peaked) return "peak_bound is stated, but not proven";
    if (plan.peak_bound && *plan.peak_bound > peak)
      return fmt::format("peak_bound is {}, but the proof gives {}", *plan.peak_bound, peak);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace tidemark::plan
