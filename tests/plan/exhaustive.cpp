// SPDX-License-Identifier: Apache-2.0
#include "exhaustive.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
std::uint64_t bit(std::int32_t i) { return std::uint64_t{1} << i; }

bool has(const std::vector<BufferId>& list, BufferId b) {
  return std::find(list.begin(), list.end(), b) != list.end();
}

// A state: which buffers are live (low half) and whose work is done (high half). Dijkstra over runs and
// drops, by seconds within a budget or by the highest bytes so far.
class Tree {
 public:
  Tree(const Problem& problem, Bytes budget, bool by_peak, std::size_t most)
      : p_(problem), budget_(budget), by_peak_(by_peak), most_(most), touches_(problem.tasks.size()) {
    std::vector<int> version(p_.buffers.size());
    std::vector<std::vector<std::pair<BufferId, int>>> found(
        p_.tasks.size());  // by update: the version it finds
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      const Task& task = p_.tasks[t];
      for (const auto* list : {&task.reads, &task.writes}) {
        for (BufferId b : *list) touches_[t].emplace_back(b, version[at(b)]);
      }
      for (BufferId b : task.writes) {
        if (!has(task.reads, b)) continue;
        updates_.emplace_back(duty(static_cast<TaskId>(t)), b);
        if (task.optional) continue;
        found[t].emplace_back(b, version[at(b)]++);
      }
    }
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      if (p_.tasks[t].instead_of < 0 || !p_.tasks[t].once) continue;
      for (auto& [b, v] : touches_[t]) {
        for (const auto& [updated, finds] : found[at(p_.tasks[t].instead_of)]) {
          if (updated == b) v = finds;
        }
      }
    }
    std::sort(updates_.begin(), updates_.end());
    updates_.erase(std::unique(updates_.begin(), updates_.end()), updates_.end());
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].resident) start_ |= bit(static_cast<BufferId>(b));
    }
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      if (!p_.tasks[t].optional) goal_ |= bit(static_cast<TaskId>(t) + 32);
    }
    for (BufferId b : p_.outputs) goal_ |= bit(b);
  }

  bool search() {
    push(start_, by_peak_ ? static_cast<double>(bytes(start_)) : 0, start_, {});
    while (!queue_.empty()) {
      const auto [cost, state] = queue_.top();
      queue_.pop();
      Reached& r = reached_[state];
      if (r.done || cost > r.cost) continue;
      r.done = true;
      if ((state & goal_) == goal_) {
        end_ = state;
        cost_ = cost;
        return true;
      }
      if (reached_.size() > most_) {
        complete_ = false;
        return false;
      }
      expand(state, cost);
    }
    return false;
  }

  bool complete() const { return complete_; }
  double cost() const { return cost_; }
  std::vector<Step> steps() {
    std::vector<Step> out;
    for (std::uint64_t s = end_; s != start_ || !reached_[s].first; s = reached_[s].from)
      out.push_back(reached_[s].step);
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  struct Reached {
    double cost = std::numeric_limits<double>::infinity();
    std::uint64_t from = 0;
    Step step;
    bool done = false, first = false;
  };

  TaskId duty(TaskId t) const {
    const TaskId of = p_.tasks[at(t)].instead_of;
    return of >= 0 ? of : t;
  }
  Bytes bytes(std::uint64_t live) const {
    Bytes sum = 0;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if ((live & bit(static_cast<BufferId>(b))) != 0) sum += p_.size(static_cast<BufferId>(b));
    }
    return sum;
  }

  void push(std::uint64_t state, double cost, std::uint64_t from, Step step) {
    Reached& r = reached_[state];
    if (cost >= r.cost) return;
    r.cost = cost;
    r.first = queue_.empty() && reached_.size() == 1;
    r.from = from;
    r.step = std::move(step);
    queue_.emplace(cost, state);
  }

  bool current(TaskId t, std::uint64_t state) const {
    for (const auto& [b, version] : touches_[at(t)]) {
      int now = 0;
      for (const auto& [d, updated] : updates_) now += updated == b && (state & bit(d + 32)) != 0 ? 1 : 0;
      if (now != version) return false;
    }
    return true;
  }

  void expand(std::uint64_t state, double cost) {
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const auto id = static_cast<BufferId>(b);
      if (!p_.buffers[b].resident && (state & bit(id)) != 0)
        push(state & ~bit(id), cost, state, {Step::Kind::drop, id, -1, {}});
    }
    for (TaskId t = 0; t < static_cast<TaskId>(p_.tasks.size()); ++t) {
      const Task& task = p_.tasks[at(t)];
      const bool ran = (state & bit(duty(t) + 32)) != 0;
      if (ran && (task.once || p_.tasks[at(duty(t))].once)) continue;
      bool can = current(t, state);
      for (BufferId b : task.reads) can = can && (state & bit(b)) != 0;
      if (can) take_over(t, 0, {}, state, cost);
    }
  }

  // Every set of in-place pairs that the rules allow.
  void take_over(TaskId t, std::size_t next, std::vector<std::pair<BufferId, BufferId>> pairs,
                 std::uint64_t state, double cost) {
    const Task& task = p_.tasks[at(t)];
    if (next < task.in_place.size()) {
      take_over(t, next + 1, pairs, state, cost);
      const auto [r, w] = task.in_place[next];
      bool free = !p_.buffers[at(r)].resident && std::count(task.reads.begin(), task.reads.end(), r) == 1 &&
                  has(task.writes, w) && !has(task.writes, r) && (state & bit(w)) == 0 &&
                  p_.size(w) <= p_.size(r);
      for (const auto& [r2, w2] : pairs) free = free && r2 != r && w2 != w;
      if (!free) return;
      pairs.emplace_back(r, w);
      take_over(t, next + 1, pairs, state, cost);
      return;
    }
    std::uint64_t during = state & 0xFFFFFFFF, after = state;
    for (BufferId w : task.writes) {
      const bool placed =
          std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.second == w; });
      if (!placed) during |= bit(w);
      after |= bit(w);
    }
    for (const auto& [r, w] : pairs) after &= ~bit(r);
    const Bytes most = bytes(during) + round_up(task.workspace, p_.align);
    if (!by_peak_ && most > budget_) return;
    // What an optional task without a duty does need not be remembered, unless it may run only once.
    if (p_.tasks[at(duty(t))].optional ? task.once : true) after |= bit(duty(t) + 32);
    push(after, by_peak_ ? std::max(cost, static_cast<double>(most)) : cost + task.seconds, state,
         {Step::Kind::run, t, -1, pairs});
  }

  const Problem& p_;
  Bytes budget_;
  bool by_peak_;
  std::size_t most_;
  std::vector<std::vector<std::pair<BufferId, int>>> touches_;
  std::vector<std::pair<TaskId, BufferId>> updates_;
  std::uint64_t start_ = 0, goal_ = 0, end_ = 0;
  double cost_ = 0;
  bool complete_ = true;
  std::unordered_map<std::uint64_t, Reached> reached_;
  using Item = std::pair<double, std::uint64_t>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
};

}  // namespace

Exhaustive fastest(const Problem& problem, Bytes budget, std::size_t most_states) {
  Exhaustive out;
  Tree tree(problem, budget, false, most_states);
  if (tree.search()) {
    out.seconds = tree.cost();
    out.steps = tree.steps();
  }
  out.complete = tree.complete();
  return out;
}

std::optional<Bytes> least_peak(const Problem& problem, std::size_t most_states) {
  Tree tree(problem, 0, true, most_states);
  if (tree.search()) return static_cast<Bytes>(tree.cost());
  return std::nullopt;
}

}  // namespace tidemark::plan
