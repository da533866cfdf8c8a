// Dynamic tensor rematerialisation, simulated: tasks run in the order of the list without knowing what comes; when the memory is
// full, the value with the least cost / (size * staleness) goes, and comes back when it is read. Kirisame et al.,
// "Dynamic tensor rematerialization" (ICLR 2021), heuristic h_DTR-eq: the cost of a value counts the components of dropped
// neighbours, kept by union-find.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

class Dtr {
 public:
  Dtr(const Outline& o, Bytes budget)
      : o_(o),
        p_(*o.problem),
        budget_(budget),
        used_(resident_bytes(*o.problem)),
        live_(p_.buffers.size(), 0),
        pins_(p_.buffers.size(), 0),
        made_(p_.buffers.size(), 0),
        touched_(p_.buffers.size(), 0),
        last_(p_.buffers.size(), -1),
        set_(p_.buffers.size()),
        cost_(p_.buffers.size(), 0),
        readers_(p_.buffers.size()) {
    std::iota(set_.begin(), set_.end(), 0);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].start >= 0) used_ += p_.size(static_cast<BufferId>(b));
      live_[b] = p_.buffers[b].resident || p_.buffers[b].start >= 0;
    }
    for (const TaskId t : o.order) {
      for (const BufferId b : p_.tasks[at(t)].reads)
        last_[at(b)] = o.place[at(t)], readers_[at(b)].push_back(t);
      for (const BufferId b : p_.tasks[at(t)].writes) last_[at(b)] = std::max(last_[at(b)], o.place[at(t)]);
    }
    for (const BufferId b : p_.outputs) last_[at(b)] = std::numeric_limits<std::int32_t>::max();
  }

  enum class End { done, full, time_is_up };
  End run(const Limit& limit) {
    for (std::size_t i = 0; i < o_.order.size(); ++i) {
      now_place_ = static_cast<std::int32_t>(i);
      const End end = call(o_.order[i], limit);
      if (end != End::done) return end;
    }
    return End::done;
  }
  std::vector<Step> take() { return std::move(runs_); }
  TaskId stuck_at() const { return stuck_at_; }

 private:
  struct Call {
    TaskId task;
    std::size_t next;
  };

  // Reads found live are pinned until the run they are for.
  End call(TaskId task, const Limit& limit) {
    std::vector<Call> stack{{task, 0}};
    while (!stack.empty()) {
      const TaskId t = stack.back().task;
      const auto& reads = p_.tasks[at(t)].reads;
      std::size_t& next = stack.back().next;
      while (next < reads.size() && live_[at(reads[next])]) ++pins_[at(reads[next++])];
      if (next < reads.size()) {
        stack.push_back({o_.maker[at(reads[next])], 0});
        continue;
      }
      if (!perform(t, stack.size() == 1)) {
        stuck_at_ = task;
        return End::full;
      }
      stack.pop_back();
      if (limit.time_is_up() || runs_.size() > 50'000'000) return End::time_is_up;
    }
    return End::done;
  }

  bool perform(TaskId t, bool first) {
    const Task& task = p_.tasks[at(t)];
    Bytes need = round_up(task.workspace, p_.align);
    for (const BufferId b : task.writes) {
      ++pins_[at(b)];
      if (!live_[at(b)]) need += p_.size(b);
    }
    while (used_ + need > budget_)
      if (!evict_one()) return false;
    for (const BufferId b : task.writes) {
      if (!live_[at(b)]) {
        used_ += p_.size(b);
        live_[at(b)] = 1;
        // Back again: its share leaves the component, which is not split (that is what "eq" approximates).
        if (made_[at(b)]) cost_[at(find(b))] -= task.seconds, set_alone(b);
        made_[at(b)] = 1;
      }
      touched_[at(b)] = clock_;
      --pins_[at(b)];
    }
    clock_ += task.seconds;
    for (const BufferId b : task.reads) touched_[at(b)] = clock_, --pins_[at(b)];
    runs_.push_back({Step::Kind::run, t, -1, {}});
    // What the program does not use any more is freed, as its reference count tells; what was just made again is for
    // the call that waits for it.
    for (const BufferId b : task.reads) free_if_dead(b);
    if (first)
      for (const BufferId b : task.writes) free_if_dead(b);
    return true;
  }

  void free_if_dead(BufferId b) {
    if (last_[at(b)] > now_place_ || !live_[at(b)] || pins_[at(b)] > 0) return;
    if (p_.buffers[at(b)].resident || p_.buffers[at(b)].start >= 0) return;
    // What cannot be made again may be needed to make something else again.
    if (!o_.repeatable[at(o_.maker[at(b)])]) return;
    live_[at(b)] = 0;
    used_ -= p_.size(b);
  }

  bool can_evict(std::size_t b) const {
    if (!live_[b] || pins_[b] > 0 || p_.buffers[b].resident || p_.buffers[b].start >= 0 ||
        p_.buffers[b].bytes == 0)
      return false;
    const TaskId m = o_.maker[b];
    return m >= 0 && o_.repeatable[at(m)] && o_.place[at(m)] <= now_place_;
  }

  bool evict_one() {
    double best = std::numeric_limits<double>::infinity();
    BufferId chosen = -1;
    for (std::size_t b = 0; b < live_.size(); ++b) {
      if (!can_evict(b)) continue;
      const double cost = neighbourhood(static_cast<BufferId>(b));
      const double stale = clock_ - touched_[b] + 1e-12;
      const double h = cost / (static_cast<double>(p_.size(static_cast<BufferId>(b))) * stale);
      if (h < best) best = h, chosen = static_cast<BufferId>(b);
    }
    if (chosen < 0) return false;
    live_[at(chosen)] = 0;
    used_ -= p_.size(chosen);
    cost_[at(find(chosen))] = p_.tasks[at(o_.maker[at(chosen)])].seconds;
    each_dropped_neighbour(chosen, [&](BufferId other) {
      const std::int32_t a = find(chosen), b = find(other);
      if (a == b) return;
      set_[at(b)] = a;
      cost_[at(a)] += cost_[at(b)];
    });
    return true;
  }

  double neighbourhood(BufferId b) {
    double sum = p_.tasks[at(o_.maker[at(b)])].seconds;
    seen_.clear();
    each_dropped_neighbour(b, [&](BufferId other) {
      const std::int32_t root = find(other);
      if (std::find(seen_.begin(), seen_.end(), root) != seen_.end()) return;
      seen_.push_back(root);
      sum += std::max(0.0, cost_[at(root)]);
    });
    return sum;
  }

  template <typename F>
  void each_dropped_neighbour(BufferId b, F&& f) {
    const auto dropped = [&](BufferId other) {
      return made_[at(other)] && !live_[at(other)] && last_[at(other)] > now_place_;
    };
    for (const BufferId r : p_.tasks[at(o_.maker[at(b)])].reads)
      if (dropped(r)) f(r);
    for (const TaskId t : readers_[at(b)])
      for (const BufferId w : p_.tasks[at(t)].writes)
        if (w != b && dropped(w)) f(w);
  }

  std::int32_t find(std::int32_t b) {
    while (set_[at(b)] != b) b = set_[at(b)] = set_[at(set_[at(b)])];
    return b;
  }
  // A root cannot leave its component; it then stands for those that are left.
  void set_alone(BufferId b) {
    if (set_[at(b)] != b) set_[at(b)] = b, cost_[at(b)] = 0;
  }

  const Outline& o_;
  const Problem& p_;
  Bytes budget_, used_;
  double clock_ = 0;
  std::int32_t now_place_ = 0;
  TaskId stuck_at_ = -1;
  std::vector<char> live_;
  std::vector<std::int32_t> pins_;
  std::vector<char> made_;
  std::vector<double> touched_;
  std::vector<std::int32_t> last_;  // place of the last use in the list
  std::vector<std::int32_t> set_, seen_;
  std::vector<double> cost_;
  std::vector<std::vector<TaskId>> readers_;
  std::vector<Step> runs_;
};

}  // namespace

Plan dtr(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const Limit limit = limit_of(options);
  const Bytes whole = options.budget < 0 ? std::numeric_limits<Bytes>::max() / 2 : options.budget;
  Plan plan;
  // Less where the packing of its answer is too large for the budget.
  for (const double share : {1.0, 0.98, 0.95, 0.9, 0.8}) {
    Dtr dtr(o, share == 1.0 ? whole : static_cast<Bytes>(static_cast<double>(whole) * share));
    const Dtr::End end = dtr.run(limit);
    if (end == Dtr::End::done) {
      plan = finish(problem, dtr.take(), options);
      if (plan.status != Plan::Status::infeasible) return plan;
      continue;
    }
    if (share < 1.0) return plan;
    if (end == Dtr::End::full)
      return nothing_found(
          o, options,
          fmt::format("nothing is left to evict at task '{}'", problem.tasks[at(dtr.stuck_at())].name));
    plan = {.status = Plan::Status::timed_out, .budget = options.budget};
    plan.reason = "the time was up while values were made again and again";
    return plan;
  }
  return plan;
}

}  // namespace tidemark::plan::named
