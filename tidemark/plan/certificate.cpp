// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tidemark::plan {
namespace {

using Wide = __int128;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// price x bytes in units, exactly, rounded down or up.
Wide priced(double price, Bytes bytes, int unit_exponent, bool up) {
  if (price == 0 || bytes == 0) return 0;
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(price, &exponent), 53));
  const int shift = exponent - 53 - unit_exponent;
  const Wide product = static_cast<Wide>(mantissa) * bytes;
  if (shift >= 0) return product << shift;
  if (shift < -126) return up ? 1 : 0;
  const Wide floor = product >> -shift;
  return up && (floor << -shift) != product ? floor + 1 : floor;
}

std::vector<Moment> facts_at(const Values& values, const std::vector<TaskId>& moments) {
  std::vector<Moment> facts;
  for (const TaskId t : moments) facts.emplace_back(values, t);
  return facts;
}

}  // namespace

Units units(double seconds, int unit_exponent, Units most) {
  return static_cast<Units>(
      std::floor(std::min(std::ldexp(seconds, -unit_exponent), static_cast<double>(most))));
}

double Certificate::unit() const { return std::ldexp(1.0, unit_exponent); }

std::vector<Order> held_orders(const std::vector<Certificate::Case>& orders) {
  std::vector<Order> held;
  for (const auto& o : orders) held.push_back(o.holds());
  return held;
}

int unit_exponent_for(double floor_seconds) {
  int exponent = 0;
  std::frexp(std::max(floor_seconds, 1e-200), &exponent);
  return exponent - 50;
}

std::vector<Units> away_costs(const Values& values, const std::vector<Certificate::Link>& links,
                              int unit_exponent) {
  const auto& tiers = values.problem.tiers;
  std::vector<Units> costs(at(values.values()), 0);
  for (BufferId v = 0; v < values.values() && !links.empty(); ++v) {
    Wide least = Wide{1} << 100;
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      const auto copy = [&](double rate) {
        const double seconds = tiers[i].latency_seconds + static_cast<double>(values.size[at(v)]) / rate;
        return static_cast<Wide>(units(seconds, unit_exponent));
      };
      Wide cost = links[i].read * copy(tiers[i].read_bytes_per_second);
      if (!values.given[at(v)]) cost += links[i].write * copy(tiers[i].write_bytes_per_second);
      least = std::min(least, cost / Certificate::kWhole);
    }
    costs[at(v)] = static_cast<Units>(std::min(least, Wide{1} << 60));
  }
  return costs;
}

std::pair<std::int64_t, std::int64_t> run_weights(const std::vector<Certificate::Link>& links) {
  std::pair<std::int64_t, std::int64_t> weights{Certificate::kWhole, Certificate::kWhole};
  for (const auto& link : links) {
    weights.first -= link.write;
    weights.second -= link.read;
  }
  return weights;
}

Evaluation::Evaluation(const Values& values, const std::vector<TaskId>& moments, int unit_exponent,
                       Bytes budget)
    : Evaluation(values, facts_at(values, moments), unit_exponent, budget) {}

Evaluation::Evaluation(const Values& values, std::vector<Moment> facts, int unit_exponent, Bytes budget)
    : values_(values), unit_exponent_(unit_exponent), budget_(budget), facts_(std::move(facts)) {
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    room_.push_back(budget - facts_[i].held);
    for (BufferId v : values.reads[facts_[i].task]) room_.back() -= values.size[at(v)];
    if (i > 0) chain_ = chain_ && facts_[i].before[at(facts_[i - 1].task)];
    std::vector<Stored>& stored = stored_.emplace_back(at(values.values()), Stored::perhaps);
    for (BufferId v = 0; v < values.values(); ++v)
      if (facts_[i].absent[at(v)]) stored[at(v)] = Stored::never;
    for (BufferId v : facts_[i].fresh) stored[at(v)] = Stored::never;
    for (BufferId v : values.reads[facts_[i].task]) stored[at(v)] = Stored::always;
  }
  const int n = values.tasks();
  cost_.resize(at(n));
  for (TaskId t = 0; t < n; ++t) first_is_open_.push_back(values.duty[at(t)] == t && values.floor[at(t)] > 0);
  for (TaskId t = 0; t < n; ++t) {
    cost_[at(t)] = units(values.problem.tasks[at(t)].seconds, unit_exponent);
    for (int l = 0; l < stages() && values.duty[at(t)] >= 0; ++l) {
      if (run_range(l, l, t).first == 1) first_is_open_[at(values.duty[at(t)])] = false;
    }
  }
}

std::pair<int, int> Evaluation::run_range(int i, int j, TaskId t) const {
  const int k = stages() - 1;
  const bool not_before_i = i == 0 || facts_[at(i - 1)].after[at(t)];
  const bool by_end_of_j = j == k ? values_.sole[at(t)] : static_cast<bool>(facts_[at(j)].before[at(t)]);
  if (not_before_i && by_end_of_j) return {1, 1};
  if (j < k && facts_[at(j)].after[at(t)]) return {0, 0};
  return i > 0 && facts_[at(i - 1)].over[at(t)] ? std::pair{0, 0} : std::pair{0, 1};
}

std::pair<int, int> Evaluation::stored_range(int i, BufferId v, Bytes room) const {
  if (i == 0) return values_.given[at(v)] ? std::pair{1, 1} : std::pair{0, 0};
  if (i == stages()) return {1, 1};  // an output at the end
  const Stored stored = stored_[at(i - 1)][at(v)];
  if (stored == Stored::always) return {1, 1};
  return stored == Stored::never || values_.size[at(v)] > room ? std::pair{0, 0} : std::pair{0, 1};
}

double Evaluation::seconds(const Certificate::Leaf& leaf) const {
  const bool timed = !leaf.impossible;
  const int k = stages() - 1;
  const int n = values_.tasks();
  // Reduced costs: of run(i, j, t) by pair of stages, made on first use, and of stored(i, v).
  std::vector<std::vector<Wide>> run(at((k + 1) * (k + 1)));
  std::vector<std::vector<Wide>> stored(at(k) + 2, std::vector<Wide>(at(values_.values()), 0));
  const auto runs = [&](int i, int j) -> std::vector<Wide>& {
    auto& list = run[at(i * (k + 1) + j)];
    if (list.empty()) list.assign(at(n), 0);
    return list;
  };
  Wide total = 0;
  const auto [weight_before, weight_after] = run_weights(leaf.links);
  const auto weighted = [&, before = weight_before, after = weight_after](int l, Units cost) {
    return static_cast<Units>(static_cast<Wide>(cost) * (l == 0 ? before : after) / Certificate::kWhole);
  };
  for (int l = 0; l <= k; ++l) {
    auto& r = runs(l, l);
    for (TaskId t = 0; timed && t < n; ++t) r[at(t)] = weighted(l, cost_[at(t)]);
  }
  for (int i = 1; i <= k; ++i) {
    const Bytes held = facts_[at(i - 1)].held;
    const double price = leaf.prices[at(i - 1)];
    const auto worth = [&](Bytes bytes, bool up) -> Wide {
      return timed ? priced(price, bytes, unit_exponent_, up) : Wide{bytes};
    };
    Bytes most = std::max(budget_, held);
    for (Bytes size : values_.size) most = std::max(most, size);
    // Prices and products that the verifier takes.
    if (timed && (std::ldexp(price, -unit_exponent_) >= 0x1p60 ||
                  std::ldexp(price * static_cast<double>(most), -unit_exponent_) > 0x1p89))
      return -kInfinity;
    for (BufferId v = 0; v < values_.values(); ++v) stored[at(i)][at(v)] += worth(values_.size[at(v)], false);
    total -= budget_ >= held ? worth(budget_ - held, true) : -worth(held - budget_, false);
  }
  std::vector<Units> away(at(values_.values()), 0);
  if (timed) away = away_costs(values_, leaf.links, unit_exponent_);
  const bool movable = !values_.problem.tiers.empty();
  const auto supply = [&](int i, int j, BufferId v, Units y) {
    stored[at(i)][at(v)] -= y;
    for (TaskId m : values_.makers[v]) runs(i, j)[at(m)] -= y;
    if (movable && i > 0 && !values_.resident[at(v)]) away[at(v)] -= y;  // it may be fetched
  };
  for (const auto& r : leaf.need) {
    runs(r.i, r.j)[at(r.task)] += r.y;
    supply(r.i, r.j, r.value, r.y);
  }
  for (const auto& r : leaf.keep) {
    stored[at(r.at)][at(r.value)] += r.y;
    supply(r.i, r.j, r.value, r.y);
  }
  for (const auto& r : leaf.parts) {
    runs(r.ends.front(), r.ends.back() - 1)[at(r.task)] += r.y;
    for (std::size_t a = 1; a < r.ends.size(); ++a) runs(r.ends[a - 1], r.ends[a] - 1)[at(r.task)] -= r.y;
  }
  const auto add = [&](Wide reduced, std::pair<int, int> range) {
    total += reduced > 0 ? reduced * range.first : reduced * range.second;
  };
  std::vector<Wide> first_runs(at(n),
                               Certificate::kMost);  // by required task: what it costs that it is done once
  for (int i = 0; i <= k; ++i) {
    for (int j = i; j <= k; ++j) {
      const auto& list = run[at(i * (k + 1) + j)];
      for (std::size_t t = 0; t < list.size(); ++t) {
        const TaskId duty = i == j ? values_.duty[t] : -1;
        if (list[t] == 0 && duty < 0) continue;
        const auto range = run_range(i, j, static_cast<TaskId>(t));
        add(list[t], range);
        if (duty < 0 || range.second == 0) continue;
        first_runs[at(duty)] =
            std::min(first_runs[at(duty)], range.first == 1 ? 0 : std::max<Wide>(list[t], 0));
      }
    }
  }
  for (TaskId t = 0; t < n; ++t) {
    if (values_.duty[at(t)] == t) total += first_runs[at(t)];
  }
  for (int i = 0; i <= k + 1; ++i) {
    std::vector<std::pair<BufferId, bool>> decided;
    Bytes left = i == 0 || i == k + 1 ? 0 : room(i);
    for (const auto& d : leaf.decisions) {
      if (d.moment != i) continue;
      decided.emplace_back(d.value, d.stored);
      if (d.stored) left -= values_.size[at(d.value)];
    }
    std::sort(decided.begin(), decided.end());
    for (BufferId v = 0; v < values_.values(); ++v) {
      if (stored[at(i)][at(v)] == 0) continue;
      auto range = stored_range(i, v, left);
      const auto d = std::lower_bound(decided.begin(), decided.end(), std::pair{v, false});
      if (d != decided.end() && d->first == v) range = {d->second ? 1 : 0, d->second ? 1 : 0};
      add(stored[at(i)][at(v)], range);
    }
  }
  for (Units cost : away) total += std::min<Units>(cost, 0);
  if (!timed) return total > 0 ? kInfinity : -kInfinity;
  return std::ldexp(static_cast<double>(total), unit_exponent_);
}

}  // namespace tidemark::plan
