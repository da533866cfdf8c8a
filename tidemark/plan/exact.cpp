// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/exact.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <unordered_map>

#include "tidemark/plan/timeline.h"

namespace tidemark::plan {
namespace {

constexpr std::int32_t kMostTasks = 24, kMostBuffers = 32, kMostCopies = 64;
constexpr std::size_t kMostStates = 200'000;
constexpr double kSecondsAState = 2e-6;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }
std::uint64_t bit(std::int32_t id) { return std::uint64_t{1} << id; }

struct State {
  std::uint64_t live = 0, done = 0, copies = 0;
  bool operator==(const State&) const = default;
};

struct Hash {
  std::size_t operator()(const State& s) const {
    std::uint64_t h = s.live * 0x9E3779B97F4A7C15u;
    h = (h ^ (h >> 29) ^ s.done) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 32) ^ s.copies) * 0x94D049BB133111EBu;
    return h ^ (h >> 31);
  }
};

// More live is never worse (what is live can be dropped at any time), so a buffer is dropped only where a run finds no room, and a copy
// discarded only where another finds none.
class Tree {
 public:
  Tree(const Model& model, const ExactOptions& options, const Limit& limit)
      : m_(model),
        o_(options),
        limit_(limit),
        sets_(at(m_.tasks)),
        updates_(at(m_.tasks)),
        cheapest_(at(m_.tasks)) {
    const Problem& p = *m_.problem;
    for (TaskId t = 0; t < m_.tasks; ++t) {
      const Task& task = p.tasks[at(t)];
      if (m_.group[at(t)] >= 0) sets_[at(t)] |= bit(m_.group[at(t)]);
      if (!m_.can_repeat[at(t)]) sets_[at(t)] |= bit(t);
      for (const BufferId b : task.writes) {
        const bool read = std::find(task.reads.begin(), task.reads.end(), b) != task.reads.end();
        if (read && m_.first_copy[at(b)] >= 0) updates_[at(t)] |= copies_of(b);
      }
    }
    for (const TaskId t : m_.order) {
      goal_.done |= bit(t);
      cheapest_[at(t)] = m_.seconds[at(t)];
    }
    for (TaskId t = 0; t < m_.tasks; ++t) {
      const std::int32_t group = m_.group[at(t)];
      if (group >= 0 && m_.allowed[at(t)])
        cheapest_[at(group)] = std::min(cheapest_[at(group)], m_.seconds[at(t)]);
    }
    for (BufferId b = 0; b < m_.buffers; ++b) {
      if (m_.resident[at(b)]) continue;
      if (m_.output[at(b)]) goal_.live |= bit(b);
      const Buffer& buffer = p.buffers[at(b)];
      if (m_.first_copy[at(b)] < 0) continue;
      if (buffer.start >= 0) start_.copies |= copy(b, buffer.start);
      if (buffer.end >= 0) goal_.copies |= copy(b, buffer.end);
    }
  }

  Exact search() {
    push(start_, 0, start_, -1);
    while (!queue_.empty()) {
      const auto [estimate, serial, state] = queue_.top();
      queue_.pop();
      Reached& r = reached_[state];
      if (r.closed) continue;
      r.closed = true;
      if (is_goal(state)) return {.complete = true, .runs = path(state)};
      worked(1, kSecondsAState);
      if (reached_.size() > kMostStates || (++expanded_ % 64 == 0 && limit_.time_is_up())) return {};
      expand(state, r.seconds);
    }
    return {.complete = true, .runs = {}};
  }

 private:
  struct Reached {
    double seconds = std::numeric_limits<double>::infinity();
    State from;
    TaskId run = -1;  // -1: a drop or a discard
    bool closed = false;
  };
  struct Item {
    double estimate;
    std::uint64_t serial;
    State state;
    bool operator>(const Item& o) const {
      return estimate != o.estimate ? estimate > o.estimate : serial < o.serial;  // the newest of equals
    }
  };

  std::int32_t copy_index(BufferId b, TierId tier) const { return (m_.evict_of(b, tier) - m_.tasks) / 3; }
  std::uint64_t copy(BufferId b, TierId tier) const { return bit(copy_index(b, tier)); }
  std::uint64_t copies_of(BufferId b) const {
    std::uint64_t all = 0;
    for (TierId tier = 0; tier < static_cast<TierId>(m_.problem->tiers.size()); ++tier) all |= copy(b, tier);
    return all;
  }
  bool is_goal(const State& s) const {
    return (s.live & goal_.live) == goal_.live && (s.done & goal_.done) == goal_.done &&
           (s.copies & goal_.copies) == goal_.copies;
  }
  Bytes bytes(std::uint64_t live) const {
    Bytes sum = m_.base;
    for (; live != 0; live &= live - 1) sum += m_.size[at(std::countr_zero(live))];
    return sum;
  }
  // What no plan can save of what is left to do.
  double rest(const State& s) const {
    double sum = 0;
    for (std::uint64_t left = goal_.done & ~s.done; left != 0; left &= left - 1)
      sum += cheapest_[at(std::countr_zero(left))];
    return sum;
  }

  void push(const State& state, double seconds, const State& from, TaskId run) {
    Reached& r = reached_[state];
    if (seconds >= r.seconds) return;
    r.seconds = seconds;
    r.from = from;
    r.run = run;
    queue_.push({seconds + rest(state), serial_++, state});
  }

  std::vector<TaskId> path(State state) {
    std::vector<TaskId> runs;
    while (!(state == start_)) {
      const Reached& r = reached_[state];
      if (r.run >= m_.tasks && m_.kind[at(r.run)] == Model::Kind::evict) runs.push_back(r.run + 1);
      if (r.run >= 0) runs.push_back(r.run);
      state = r.from;
    }
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  bool may_run(TaskId t, const State& s) const {
    if (!m_.allowed[at(t)]) return false;
    if (!m_.can_repeat[at(t)] && (s.done & bit(t)) != 0) return false;
    const std::int32_t group = m_.group[at(t)];
    const bool first = group >= 0 && (s.done & bit(group)) == 0;
    if (group >= 0 && !first && !m_.can_repeat[at(group)]) return false;
    if (!first && !o_.recompute) return false;
    if (first && !o_.reorder && (goal_.done & ~s.done & (bit(group) - 1)) != 0) return false;
    for (const TaskId u : m_.after[at(t)]) {
      if ((s.done & bit(u)) == 0) return false;
    }
    for (const TaskId u : m_.before[at(t)]) {
      if ((s.done & bit(u)) != 0) return false;
    }
    for (const BufferId b : m_.reads[at(t)]) {
      if ((s.live & bit(b)) == 0) return false;
    }
    return true;
  }

  void expand(const State& s, double seconds) {
    for (TaskId t = 0; t < m_.tasks; ++t) {
      if (may_run(t, s)) run(t, 0, 0, 0, s, seconds);
    }
    for (std::size_t c = 0; c < m_.copies.size(); c += 3) {
      const auto id = static_cast<std::int32_t>(c / 3);
      const auto [b, tier] = m_.copies[c];
      const TaskId evict = m_.tasks + static_cast<TaskId>(c);
      if ((s.live & bit(b)) != 0 && (s.copies & bit(id)) == 0) {
        State next = s;
        next.live &= ~bit(b);
        next.copies |= bit(id);
        if (fits_tier(next.copies, tier))
          push(next, seconds + m_.copy_seconds(b, tier, true), s, evict);
        else
          discard_one(s, seconds, tier);
      }
      if ((s.live & bit(b)) == 0 && (s.copies & bit(id)) != 0) {
        State next = s;
        next.live |= bit(b);
        if (bytes(next.live) <= o_.budget)
          push(next, seconds + m_.copy_seconds(b, tier, false), s, evict + 2);
        else
          drop_one(s, seconds, bit(b));
      }
    }
  }

  // With each set of the task's pairs from `next` on, beside those chosen: `taken` storages for `placed` writes.
  void run(TaskId t, std::size_t next, std::uint64_t taken, std::uint64_t placed, const State& s,
           double seconds) {
    if (m_.has_in_place() && next < m_.in_place[at(t)].size()) {
      run(t, next + 1, taken, placed, s, seconds);
      const auto [read, write] = m_.in_place[at(t)][next];
      if ((taken & bit(read)) == 0 && (placed & bit(write)) == 0)
        run(t, next + 1, taken | bit(read), placed | bit(write), s, seconds);
      return;
    }
    std::uint64_t touched = 0, written = 0;
    for (const BufferId b : m_.reads[at(t)]) touched |= bit(b);
    for (const BufferId b : m_.writes[at(t)]) written |= bit(b);
    const std::uint64_t during = (s.live & ~placed) | (written & ~placed);
    if (bytes(during) + m_.workspace[at(t)] > o_.budget) {
      drop_one(s, seconds, touched | written);
      return;
    }
    State after{(s.live | written) & ~taken, s.done | sets_[at(t)], s.copies & ~updates_[at(t)]};
    push(after, seconds + m_.seconds[at(t)], s, t);
  }

  void drop_one(const State& s, double seconds, std::uint64_t kept) {
    for (std::uint64_t some = s.live & ~kept; some != 0; some &= some - 1) {
      State next = s;
      next.live &= ~(some & -some);
      push(next, seconds, s, -1);
    }
  }

  bool fits_tier(std::uint64_t copies, TierId tier) const {
    Bytes sum = 0;
    for (; copies != 0; copies &= copies - 1) {
      const Model::Copy c = m_.copies[3 * at(std::countr_zero(copies))];
      if (c.tier == tier) sum += m_.size[at(c.buffer)];
    }
    return sum <= m_.problem->tiers[at(tier)].bytes;
  }
  void discard_one(const State& s, double seconds, TierId tier) {
    for (std::uint64_t some = s.copies; some != 0; some &= some - 1) {
      if (m_.copies[3 * at(std::countr_zero(some))].tier != tier) continue;
      State next = s;
      next.copies &= ~(some & -some);
      push(next, seconds, s, -1);
    }
  }

  const Model& m_;
  const ExactOptions& o_;
  const Limit& limit_;
  State start_, goal_;
  std::vector<std::uint64_t> sets_, updates_;  // by task: what is done behind it, copies that it makes stale
  std::vector<double> cheapest_;  // by required task: the least seconds of it or what stands in for it
  std::unordered_map<State, Reached, Hash> reached_;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
  std::uint64_t serial_ = 0, expanded_ = 0;
};

}  // namespace

bool is_tiny(const Model& model) {
  return model.tasks <= kMostTasks && model.buffers <= kMostBuffers &&
         static_cast<std::int32_t>(model.copies.size()) <= 3 * kMostCopies;
}

Exact exact(const Model& model, const ExactOptions& options, const Limit& limit) {
  return Tree(model, options, limit).search();
}

std::optional<ExactLeast> exact_least(const Model& model, Bytes low, ExactOptions options,
                                      const Limit& limit) {
  std::optional<ExactLeast> best;
  Timeline line(model);
  while (!best || low < best->peak) {
    if (best) options.budget = low + (best->peak - low) / 2;
    Exact found = exact(model, options, limit);
    if (!found.complete || (found.runs.empty() && !best)) break;
    if (found.runs.empty()) {
      low = options.budget + 1;
      continue;
    }
    line.assign(found.runs, 0);
    // Where several writes compete for a storage, the timeline may choose another than the search did.
    if (best && line.peak() > options.budget) {
      low = options.budget + 1;
      continue;
    }
    best = {line.peak(), std::move(found.runs)};
  }
  return best;
}

}  // namespace tidemark::plan
