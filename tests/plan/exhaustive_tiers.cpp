// Dijkstra over all plans with copies: what is live, whose copies are valid or under way and for how long still, when each
// stream is free, whose work is done. Nothing in place, and tiers as large as anyone likes: for tiny problems.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <queue>

#include "exhaustive.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
std::uint64_t bit(std::int32_t i) { return std::uint64_t{1} << i; }

struct State {
  std::uint64_t live = 0, done = 0;
  std::vector<std::uint64_t> copies;  // by tier: buffers with a valid copy there
  std::vector<double> free;           // by tier and direction: from now, out before in
  struct Copy {
    bool in = false;
    TierId tier = 0;
    double left = 0;
    auto operator<=>(const Copy&) const = default;
  };
  std::map<BufferId, Copy> under_way;
  auto operator<=>(const State&) const = default;
};

class Search {
 public:
  Search(const Problem& problem, Bytes budget, std::size_t most) : p_(problem), budget_(budget), most_(most) {
    std::vector<int> version(p_.buffers.size());
    for (const Task& t : p_.tasks) {
      auto& mine = touches_.emplace_back();
      for (const auto* list : {&t.reads, &t.writes}) {
        for (BufferId b : *list) mine.emplace_back(b, version[at(b)]);
      }
      for (BufferId b : t.writes) {
        if (!t.optional && reads(t, b)) ++version[at(b)];
      }
    }
  }

  Exhaustive run() {
    State start;
    start.copies.resize(p_.tiers.size());
    start.free.resize(2 * p_.tiers.size());
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const auto id = static_cast<BufferId>(b);
      if (p_.buffers[b].resident) start.live |= bit(id);
      if (p_.buffers[b].start >= 0) start.copies[at(p_.buffers[b].start)] |= bit(id);
    }
    Exhaustive out;
    reach(start, 0);
    while (!queue_.empty()) {
      const auto [seconds, state] = *queue_.begin();
      queue_.erase(queue_.begin());
      if (!closed_.insert({state, seconds}).second) continue;
      if (is_goal(state)) {
        out.seconds = seconds;
        return out;
      }
      if (closed_.size() > most_) {
        out.complete = false;
        return out;
      }
      expand(state, seconds);
    }
    return out;
  }

 private:
  static bool reads(const Task& t, BufferId b) {
    return std::find(t.reads.begin(), t.reads.end(), b) != t.reads.end();
  }
  TaskId duty(TaskId t) const { return p_.tasks[at(t)].instead_of >= 0 ? p_.tasks[at(t)].instead_of : t; }
  Bytes bytes(std::uint64_t live) const {
    Bytes sum = 0;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      sum += (live & bit(static_cast<BufferId>(b))) != 0 ? p_.size(static_cast<BufferId>(b)) : 0;
    return sum;
  }
  void reach(const State& s, double seconds) {
    const auto [it, fresh] = best_.try_emplace(s, seconds);
    if (!fresh && it->second <= seconds) return;
    it->second = seconds;
    queue_.emplace(seconds, s);
  }
  static void pass(State& s, double seconds) {
    for (double& f : s.free) f = std::max(0.0, f - seconds);
    for (auto& [b, c] : s.under_way) c.left = std::max(0.0, c.left - seconds);
  }
  bool is_goal(const State& s) const {
    if (!s.under_way.empty()) return false;
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      if (!p_.tasks[t].optional && (s.done & bit(static_cast<TaskId>(t))) == 0) return false;
    }
    for (BufferId b : p_.outputs) {
      if ((s.live & bit(b)) == 0) return false;
    }
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].end >= 0 && (s.copies[at(p_.buffers[b].end)] & bit(static_cast<BufferId>(b))) == 0)
        return false;
    }
    return true;
  }
  bool can_run(TaskId t, const State& s) const {
    const Task& task = p_.tasks[at(t)];
    if ((s.done & bit(duty(t))) != 0 && (task.once || p_.tasks[at(duty(t))].once)) return false;
    for (BufferId b : task.reads) {
      const auto c = s.under_way.find(b);
      if ((s.live & bit(b)) == 0 || (c != s.under_way.end() && c->second.in)) return false;
    }
    for (BufferId b : task.writes) {
      if (s.under_way.count(b) != 0) return false;
    }
    for (const auto& [b, version] : touches_[at(t)]) {
      int now = 0;
      for (std::size_t u = 0; u < p_.tasks.size(); ++u) {
        const Task& other = p_.tasks[u];
        if (other.optional || (s.done & bit(static_cast<TaskId>(u))) == 0) continue;
        for (BufferId w : other.writes) now += w == b && reads(other, b) ? 1 : 0;
      }
      if (now != version) return false;
    }
    return true;
  }

  void expand(const State& s, double seconds) {
    for (TaskId t = 0; t < static_cast<TaskId>(p_.tasks.size()); ++t) {
      if (!can_run(t, s)) continue;
      const Task& task = p_.tasks[at(t)];
      State next = s;
      for (BufferId b : task.writes) {
        next.live |= bit(b);
        for (auto& copies : next.copies) copies &= reads(task, b) ? ~bit(b) : ~std::uint64_t{0};
      }
      if (bytes(next.live) + round_up(task.workspace, p_.align) > budget_) continue;
      if (p_.tasks[at(duty(t))].optional ? task.once : true) next.done |= bit(duty(t));
      pass(next, task.seconds);
      reach(next, seconds + task.seconds);
    }
    for (BufferId b = 0; b < static_cast<BufferId>(p_.buffers.size()); ++b) {
      if (p_.buffers[at(b)].resident) continue;
      if (const auto c = s.under_way.find(b); c != s.under_way.end()) {
        State next = s;
        if (!c->second.in) {
          next.live &= ~bit(b);
          next.copies[at(c->second.tier)] |= bit(b);
        }
        next.under_way.erase(b);
        pass(next, c->second.left);
        reach(next, seconds + c->second.left);
        continue;
      }
      const bool live = (s.live & bit(b)) != 0;
      if (live) {
        State next = s;
        next.live &= ~bit(b);
        reach(next, seconds);
      }
      for (TierId tier = 0; tier < static_cast<TierId>(p_.tiers.size()); ++tier) {
        const bool copied = (s.copies[at(tier)] & bit(b)) != 0;
        if (live == copied || (!live && bytes(s.live | bit(b)) > budget_)) continue;
        const Tier& link = p_.tiers[at(tier)];
        State next = s;
        next.live |= bit(b);
        double& stream = next.free[at(2 * tier + (live ? 0 : 1))];
        stream +=
            link.latency_seconds + static_cast<double>(p_.size(b)) /
                                       (live ? link.write_bytes_per_second : link.read_bytes_per_second);
        next.under_way[b] = {!live, tier, stream};
        reach(next, seconds);
      }
    }
  }

  const Problem& p_;
  Bytes budget_;
  std::size_t most_;
  std::vector<std::vector<std::pair<BufferId, int>>> touches_;
  std::map<State, double> best_;
  std::map<State, double> closed_;
  std::multimap<double, State> queue_;
};

}  // namespace

Exhaustive fastest_with_copies(const Problem& problem, Bytes budget, std::size_t most_states) {
  return Search(problem, budget, most_states).run();
}

}  // namespace tidemark::plan
