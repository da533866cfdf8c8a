// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/cut.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tidemark/plan/certificate.h"

namespace tidemark::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// A task may take many thousand times the floor.
MinCut::Flow flow_of(double units) {
  return static_cast<MinCut::Flow>(std::min(units, static_cast<double>(MinCut::kUnlimited)));
}

// Tasks that make a common value can run in each other's place; the network charges the cheapest of such a
// group.
class Groups {
 public:
  explicit Groups(int tasks) : parent_(at(tasks)), many_(at(tasks), false) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  TaskId find(TaskId t) {
    while (parent_[at(t)] != t) t = parent_[at(t)] = parent_[at(parent_[at(t)])];
    return t;
  }
  void join(TaskId a, TaskId b) {
    many_[at(a)] = many_[at(b)] = true;
    parent_[at(find(a))] = find(b);
  }
  bool many(TaskId t) const { return many_[at(t)]; }

 private:
  std::vector<TaskId> parent_;
  std::vector<bool> many_;
};

}  // namespace

class CutModel::Builder {
 public:
  Builder(CutModel& model, const Values& values)
      : m_(model),
        v_(values),
        facts_(model.moment_),
        n_(values.tasks()),
        fixed_(at(n_)),
        can_(at(n_), true),
        done_(at(n_)),
        shared_duty_(at(n_)),
        looked_at_(at(values.values())),
        groups_(n_),
        charge_(at(n_)),
        node_of_value_(at(values.values()), kUnknown),
        node_of_task_(at(n_), kUnknown) {}

  void run() {
    classify();
    group();
    for (BufferId v : v_.reads[facts_.task]) node_of_value_[at(v)] = kThere;
    for (BufferId v : v_.outputs) demand(-1, v);
    for (TaskId u = 0; u < n_; ++u) {
      if (!fixed_[at(u)]) continue;
      for (BufferId v : v_.reads[u]) demand(u, v);
    }
    while (!todo_.empty()) {
      const BufferId v = todo_.back();
      todo_.pop_back();
      expand(v);
    }
  }

 private:
  static constexpr int kUnknown = -1, kThere = -2;

  // What runs after the moment in every plan, what can run after it at all, and what a run after it costs.
  void classify() {
    const auto& tasks = v_.problem.tasks;
    for (TaskId u = 0; u < n_; ++u) {
      fixed_[at(u)] = facts_.after[at(u)] && v_.sole[at(u)];
      can_[at(u)] = !facts_.over[at(u)];
      if (facts_.before[at(u)] && v_.duty[at(u)] >= 0) done_[at(v_.duty[at(u)])] = true;
    }
    for (TaskId u = 0; u < n_; ++u) {
      const TaskId duty = v_.duty[at(u)];
      const bool may_be_first = duty >= 0 && !done_[at(duty)];
      charge_[at(u)] = tasks[at(u)].seconds - (may_be_first ? v_.floor[at(duty)] : 0);
      if (facts_.before[at(u)] && duty >= 0) m_.base_before_ += tasks[at(u)].seconds;
      if (duty != u || done_[at(u)]) continue;
      (fixed_[at(u)] ? m_.base_after_ : m_.base_open_) += v_.floor[at(u)];
    }
  }

  void group() {
    for (BufferId v = 0; v < v_.values(); ++v) {
      TaskId first = -1;
      for (TaskId m : v_.makers[v]) {
        if (!can_[at(m)]) continue;
        if (first >= 0) groups_.join(m, first);
        first = m;
      }
    }
    for (TaskId u = 0; u < n_; ++u) {
      if (groups_.many(u)) members_.emplace_back(groups_.find(u), u);
    }
    std::sort(members_.begin(), members_.end());
  }

  std::span<const std::pair<TaskId, TaskId>> members(TaskId root) const {
    const auto [begin, end] =
        std::equal_range(members_.begin(), members_.end(), std::pair{root, TaskId{0}},
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    return {begin, end};
  }

  // Several makers of one value: a run after the moment costs at least the cheapest. Where none of them has
  // surely run before but one of them has, there are two runs in all, of which the floor covers one: at most
  // one task of the group is a duty, so charging the first run to whoever made the value lets the second
  // count whole.
  double cost_of_group(TaskId root) {
    double least_charge = kInfinity, least_seconds = kInfinity;
    TaskId duty = -1;
    bool one_floor = true;
    Shared shared{-1, -1, -1, 0};
    for (const auto& [r, u] : members(root)) {
      least_charge = std::min(least_charge, charge_[at(u)]);
      least_seconds = std::min(least_seconds, v_.problem.tasks[at(u)].seconds);
      const TaskId d = v_.duty[at(u)];
      one_floor = one_floor && !facts_.before[at(u)] && (d < 0 || (!done_[at(d)] && (duty < 0 || duty == d)));
      if (d >= 0) duty = d;
      for (BufferId v : v_.makes[u]) {
        if (shared.reader >= 0 || v_.given[at(v)] || looked_at_[at(v)]) continue;
        looked_at_[at(v)] = true;  // all that make it are of this group
        const auto makers = v_.makers[v];
        if (!std::all_of(makers.begin(), makers.end(), [&](TaskId m) { return groups_.find(m) == root; }))
          continue;
        for (TaskId reader : v_.readers[v]) {
          if (reader == facts_.task || facts_.before[at(reader)]) shared = {-1, reader, v, 0};
        }
      }
    }
    if (m_.movable_ || !one_floor || duty < 0 || shared.reader < 0 || shared_duty_[at(duty)])
      return least_charge;
    shared_duty_[at(duty)] = true;
    shared.duty = duty;
    shared.seconds = std::min(least_seconds, v_.floor[at(duty)]);
    m_.shared_.push_back(shared);
    return shared.seconds;
  }

  int need(BufferId v) {
    int& node = node_of_value_[at(v)];
    if (node != kUnknown) return node;
    bool there = v_.resident[at(v)] && v_.given[at(v)];
    for (TaskId m : v_.makers[v]) there = there || fixed_[at(m)];
    if (there) return node = kThere;
    todo_.push_back(v);
    return node = m_.flow_.add_node();
  }

  void demand(TaskId reader, BufferId v) {
    if (node_of_value_[at(v)] != kUnknown) return;
    const int node = need(v);
    if (node >= 0)
      m_.demands_.push_back({reader, v, m_.flow_.add_edge(MinCut::kSource, node, MinCut::kUnlimited)});
  }

  int run_node(TaskId maker) {
    const bool many = groups_.many(maker);
    const TaskId who = many ? groups_.find(maker) : maker;
    if (node_of_task_[at(who)] != kUnknown) return node_of_task_[at(who)];
    const double seconds = many ? cost_of_group(who) : charge_[at(who)];
    const int node = node_of_task_[at(who)] = m_.flow_.add_node();
    const int edge = m_.flow_.add_edge(node, MinCut::kSink, flow_of(std::max(0.0, seconds) * m_.scale_));
    m_.runs_.push_back({who, node, edge, seconds});
    m_.most_extra_ += seconds;
    if (many) return node;
    for (BufferId v : v_.reads[who]) {
      const int from = need(v);
      if (from >= 0) m_.demands_.push_back({who, v, m_.flow_.add_edge(node, from, MinCut::kUnlimited)});
    }
    return node;
  }

  void expand(BufferId v) {
    const bool storable = !facts_.absent[at(v)];
    TaskId maker = -1;
    for (TaskId m : v_.makers[v]) {
      if (can_[at(m)]) maker = m;
    }
    const int to = maker >= 0 ? run_node(maker) : MinCut::kSink;
    const int edge = m_.flow_.add_edge(node_of_value_[at(v)], to, MinCut::kUnlimited);
    m_.has_unmakeable_ = m_.has_unmakeable_ || maker < 0;
    if (maker >= 0 && storable) m_.free_.push_back(v);
    m_.need_of_[at(v)] = static_cast<int>(m_.needs_.size());
    m_.needs_.push_back({v, node_of_value_[at(v)], to, edge, storable || maker < 0, -1});
  }

  CutModel& m_;
  const Values& v_;
  const Moment& facts_;
  int n_;
  std::vector<bool> fixed_, can_, done_, shared_duty_, looked_at_;
  Groups groups_;
  std::vector<std::pair<TaskId, TaskId>> members_;  // (group, task), sorted
  std::vector<double> charge_;
  std::vector<int> node_of_value_, node_of_task_;
  std::vector<BufferId> todo_;
};

CutModel::CutModel(const Values& values, TaskId moment)
    : values_(values), moment_(values, moment), need_of_(at(values.values()), -1) {
  // Capacities are rounded down, so that they never promise more than the true ones and the flow stays a
  // proof.
  scale_ = std::ldexp(1.0, -unit_exponent_for(values.floor_seconds));
  movable_ = !values.problem.tiers.empty();
  forced_ = moment_.held;
  for (BufferId v : values.reads[moment]) forced_ += values.size[at(v)];
  Builder(*this, values).run();
  base_ = values.floor_seconds;
  away_.assign(at(values.values()), 0);
}

void CutModel::set_links(std::vector<Certificate::Link> links) {
  if (!movable_) return;
  links_ = std::move(links);
  away_ = away_costs(values_, links_, unit_exponent_for(values_.floor_seconds));
  const auto [before, after] = run_weights(links_);
  constexpr auto whole = static_cast<double>(Certificate::kWhole);
  weight_after_ = static_cast<double>(after) / whole;
  base_ = base_before_ * static_cast<double>(before) / whole + base_after_ * weight_after_ +
          base_open_ * static_cast<double>(std::min(before, after)) / whole;
  for (const Run& run : runs_) flow_.set_capacity(run.edge, capacity_of(run));
}

MinCut::Flow CutModel::capacity_of(const Run& run) const {
  return flow_of(std::max(0.0, run.seconds) * weight_after_ * scale_);
}

bool CutModel::is_away(const Need& need, double price) const {
  if (!movable_ || values_.resident[at(need.value)]) return false;
  return !fits(need) || price * static_cast<double>(values_.size[at(need.value)]) * scale_ >
                            static_cast<double>(away_[at(need.value)]);
}

bool CutModel::can_decide(BufferId value) const {
  const int index = need_of_[at(value)];
  return index >= 0 && needs_[at(index)].storable && needs_[at(index)].to != MinCut::kSink &&
         needs_[at(index)].decision < 0;
}

void CutModel::decide(BufferId value, int decision) {
  Need& need = needs_[at(need_of_[at(value)])];
  decided_ +=
      (decision == 1 ? values_.size[at(value)] : 0) - (need.decision == 1 ? values_.size[at(value)] : 0);
  need.decision = decision;
}

Cut CutModel::chosen(double price) const {
  Cut cut;
  cut.moment = moment_.task;
  cut.bytes = forced_ + decided_;
  for (const Need& need : needs_) {
    const bool stored = need.storable && flow_.source_side(need.node) && !flow_.source_side(need.to);
    if (!stored && need.decision != 1) continue;
    if (need.decision != 1 && is_away(need, price)) {
      cut.away.push_back(need.value);
      cut.extra += static_cast<double>(away_[at(need.value)]) / scale_;
      continue;
    }
    cut.stored.push_back(need.value);
    if (need.decision != 1) cut.bytes += values_.size[at(need.value)];
  }
  for (const Run& run : runs_) {
    if (!flow_.source_side(run.node)) continue;
    cut.again.push_back(run.task);
    cut.extra += run.seconds * weight_after_;
  }
  return cut;
}

Cut CutModel::cut(double price, Bytes budget) {
  ++cuts_made_;
  budget_ = budget;
  for (const Need& need : needs_) {
    if (!need.storable) continue;
    const double cost = price * static_cast<double>(values_.size[at(need.value)]) * scale_;
    MinCut::Flow capacity = MinCut::kUnlimited >> 5;
    if (cost < static_cast<double>(capacity)) capacity = static_cast<MinCut::Flow>(cost);
    const bool movable = movable_ && !values_.resident[at(need.value)];
    // What cannot be made again and does not fit shows as too many bytes.
    if (need.decision == 0 || ((movable || need.to != MinCut::kSink) && !fits(need)))
      capacity = MinCut::kUnlimited;
    if (need.decision == 1) capacity = 0;
    if (movable && need.decision != 1) capacity = std::min(capacity, away_[at(need.value)]);
    flow_.set_capacity(need.edge, capacity);
  }
  const double value = static_cast<double>(flow_.solve()) / scale_;
  Cut cut = chosen(price);
  cut.price = price;
  cut.seconds = base_ + value - price * static_cast<double>(budget - forced_ - decided_);
  return cut;
}

// The same network with runs for nothing and bytes for costs.
Cut CutModel::least_stored(Certificate::Leaf* proof) {
  ++cuts_made_;
  for (const Run& run : runs_) flow_.set_capacity(run.edge, 0);
  for (const Need& need : needs_) {
    if (!need.storable) continue;
    const Bytes size = std::min<Bytes>(values_.size[at(need.value)], MinCut::kUnlimited >> 2);
    flow_.set_capacity(need.edge, need.decision < 0 ? size : need.decision == 1 ? 0 : MinCut::kUnlimited);
  }
  flow_.solve();
  Cut cut = chosen(0);
  if (proof != nullptr) {
    *proof = leaf(1);
    std::erase_if(proof->need, [](const auto& r) { return r.i == 0; });
    std::erase_if(proof->keep, [](const auto& r) { return r.i == 0; });
    proof->links.clear();
  }
  for (const Run& run : runs_) flow_.set_capacity(run.edge, capacity_of(run));
  return cut;
}

Cut CutModel::best(Bytes budget, double enough, const Wanted& wanted) {
  // `left` stores too much, `right` fits; the function of the price lies below both tangents.
  Cut left = cut(0, budget);
  Cut found = left;
  if (wanted.leaf != nullptr) *wanted.leaf = leaf(0);
  const auto report = [&](const Cut& l, const Cut& r) {
    if (wanted.more != nullptr) *wanted.more = l;
    if (wanted.less != nullptr) *wanted.less = r;
  };
  report(left, left);
  if (!flow_.complete() || left.bytes <= budget) return found;
  Cut right;
  right.extra = most_extra_ * weight_after_;
  right.bytes = forced_ + decided_;
  for (const Need& need : needs_) {
    if (movable_ && need.to == MinCut::kSink)
      right.extra += static_cast<double>(away_[at(need.value)]) / scale_;
  }
  if (has_unmakeable_ && !movable_) right = least_stored();
  if (!flow_.complete()) return found;
  if (right.bytes > budget) {
    found.seconds = kInfinity;
    report(left, right);
    return found;
  }
  for (int round = 0; round < 64 && left.bytes > right.bytes; ++round) {
    double price = (right.extra - left.extra) / static_cast<double>(left.bytes - right.bytes);
    if (!(price > 0)) break;
    double meet = base_ + left.extra + price * static_cast<double>(left.bytes - budget);
    if (round == 0 && wanted.price > 0) {
      price = wanted.price;
      meet = kInfinity;
    }
    const Cut c = cut(price, budget);
    if (c.seconds > found.seconds) {
      found = c;
      if (wanted.leaf != nullptr) *wanted.leaf = leaf(price);
    }
    if (!flow_.complete()) break;
    // No cut lies below the corner of the two tangents, but for the rounding of the capacities.
    const bool met = c.seconds >= enough || c.seconds >= meet - wanted.near * (meet - base_) ||
                     (c.bytes == left.bytes && round > 0) || (c.bytes == right.bytes && round > 0);
    (c.bytes > budget ? left : right) = c;
    if (met) break;
  }
  report(left, right);
  return found;
}

Certificate::Leaf CutModel::leaf(double price) const {
  Certificate::Leaf leaf;
  for (const Need& need : needs_) {
    if (need.decision >= 0) leaf.decisions.push_back({1, need.value, need.decision == 1});
  }
  leaf.prices = {price};
  leaf.links = links_;
  for (const Demand& d : demands_) {
    const MinCut::Flow flow = flow_.flow(d.edge);
    if (flow == 0) continue;
    if (d.reader < 0) {
      leaf.keep.push_back({1, 1, 2, d.value, flow});
    } else {
      leaf.need.push_back({1, 1, d.reader, d.value, flow});
    }
  }
  for (const Shared& s : shared_) {
    const auto y = static_cast<Units>(s.seconds * scale_);
    if (s.reader == moment_.task) {
      leaf.keep.push_back({0, 0, 1, s.value, y});
    } else {
      leaf.need.push_back({0, 0, s.reader, s.value, y});
    }
  }
  return leaf;
}

}  // namespace tidemark::plan
