// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners/outline.h"

#include <algorithm>
#include <limits>

#include "tidemark/base/error.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Outline::Outline(const Problem& p)
    : problem(&p),
      place(p.tasks.size(), -1),
      maker(p.buffers.size(), -1),
      repeatable(p.tasks.size(), 1),
      droppable(p.buffers.size(), 0) {
  for (std::size_t t = 0; t < p.tasks.size(); ++t) {
    if (p.tasks[t].optional) continue;
    place[t] = static_cast<std::int32_t>(order.size());
    order.push_back(static_cast<TaskId>(t));
    for (const BufferId b : p.tasks[t].writes)
      if (maker[at(b)] < 0) maker[at(b)] = static_cast<TaskId>(t);
  }
  // What reads or makes a buffer that some task updates is tied to a version; it is left alone.
  std::vector<char> updated(p.buffers.size(), 0);
  std::vector<std::int32_t> last_read(p.buffers.size(), -1), last_use(p.buffers.size(), -1),
      made(p.buffers.size(), -1);
  for (const TaskId t : order) {
    const Task& task = p.tasks[at(t)];
    for (const BufferId b : task.reads) {
      last_read[at(b)] = last_use[at(b)] = place[at(t)];
      if (std::find(task.writes.begin(), task.writes.end(), b) != task.writes.end()) updated[at(b)] = 1;
    }
    for (const BufferId b : task.writes) {
      if (made[at(b)] < 0) made[at(b)] = place[at(t)];
      last_use[at(b)] = place[at(t)];
    }
  }
  for (const TaskId t : order) {
    const Task& task = p.tasks[at(t)];
    repeatable[at(t)] = !task.once;
    for (const auto* list : {&task.reads, &task.writes})
      for (const BufferId b : *list)
        if (updated[at(b)]) repeatable[at(t)] = 0;
  }
  for (const BufferId b : p.outputs) last_use[at(b)] = static_cast<std::int32_t>(order.size());
  // Live bytes along the list when everything is kept.
  std::vector<Bytes> change(order.size() + 2, 0);
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].resident || made[b] < 0) continue;
    change[at(made[b])] += p.size(static_cast<BufferId>(b));
    change[at(last_use[b]) + 1] -= p.size(static_cast<BufferId>(b));
  }
  Bytes live = 0, most = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    live += change[i];
    const Bytes now = live + p.tasks[at(order[i])].workspace;
    if (now > most) most = now, turn = static_cast<std::int32_t>(i);
  }
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const TaskId m = maker[b];
    droppable[b] =
        !p.buffers[b].resident && m >= 0 && made[b] <= turn && repeatable[at(m)] && p.buffers[b].start < 0;
  }
  for (const TaskId t : order)
    for (const BufferId b : p.tasks[at(t)].writes)
      if (droppable[at(b)] && maker[at(b)] == t && last_read[at(b)] > turn) activations.push_back(b);
}

Bytes Outline::made_bytes(TaskId t) const {
  Bytes sum = 0;
  for (const BufferId b : problem->tasks[at(t)].writes)
    if (!problem->buffers[at(b)].resident) sum += problem->size(b);
  return sum;
}

Sequencer::Sequencer(const Outline& outline) : o_(outline), live_(outline.problem->buffers.size(), 0) {
  const Problem& p = *o_.problem;
  // A buffer that starts in a tier is fetched when it is read; finish sees to that.
  for (std::size_t b = 0; b < live_.size(); ++b) live_[b] = p.buffers[b].resident || p.buffers[b].start >= 0;
}

void Sequencer::append(TaskId task) {
  for (const BufferId b : o_.problem->tasks[at(task)].writes) live_[at(b)] = 1;
  runs_.push_back({Step::Kind::run, task, -1, {}});
}

bool Sequencer::run(TaskId task) {
  stack_.assign(1, {task, 0});
  while (!stack_.empty()) {
    const TaskId t = stack_.back().first;
    const auto& reads = o_.problem->tasks[at(t)].reads;
    std::size_t& next = stack_.back().second;
    while (next < reads.size() && live_[at(reads[next])]) ++next;
    if (next == reads.size()) {
      append(t);
      stack_.pop_back();
      continue;
    }
    const TaskId m = o_.maker[at(reads[next])];
    if (m < 0 || !o_.repeatable[at(m)]) return false;
    stack_.push_back({m, 0});
  }
  return true;
}

std::vector<Step> runs_keeping(const Outline& o, const std::vector<char>& keep) {
  Sequencer sequencer(o);
  for (std::size_t i = 0; i < o.order.size(); ++i) {
    TIDEMARK_CHECK(sequencer.run(o.order[i]));
    if (static_cast<std::int32_t>(i) != o.turn) continue;
    for (std::size_t b = 0; b < keep.size(); ++b)
      if (o.droppable[b] && !keep[b]) sequencer.drop(static_cast<BufferId>(b));
  }
  return sequencer.take();
}

Limit limit_of(const Options& options) {
  Limit limit(options.time_limit, options.effort);
  if (options.progress) {
    limit.ask([&options, begin = seen_seconds()] {
      return options.progress({.seconds_elapsed = seen_seconds() - begin,
                               .best_seconds = std::numeric_limits<double>::infinity(),
                               .phase = "search"});
    });
  }
  return limit;
}

Plan cheapest(const Outline& o, const Options& options,
              const std::function<bool(std::vector<Step>&)>& next_candidate) {
  const Problem& p = *o.problem;
  const Limit limit = limit_of(options);
  struct Candidate {
    double seconds;
    Bytes peak;
    std::vector<Step> runs;
  };
  std::vector<Candidate> fit;
  Candidate smallest{0, std::numeric_limits<Bytes>::max(), {}};
  bool all = true;
  for (std::vector<Step> runs; next_candidate(runs);) {
    const Plan plan = with_drops(p, runs);
    Candidate c{plan.seconds, plan.live_peak, std::move(runs)};
    runs.clear();
    if (c.peak < smallest.peak) smallest = c;
    if (options.budget < 0 || c.peak <= options.budget) fit.push_back(std::move(c));
    if (limit.time_is_up()) {
      all = false;
      break;
    }
  }
  std::stable_sort(fit.begin(), fit.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  // A packing may be larger than what is live; then the next one is tried, but not for ever.
  for (std::size_t i = 0; i < std::min<std::size_t>(fit.size(), 8); ++i) {
    Plan plan = finish(p, std::move(fit[i].runs), options);
    if (plan.status != Plan::Status::infeasible) return plan;
  }
  Plan plan = finish(p, std::move(smallest.runs), options);
  if (!all && plan.status == Plan::Status::infeasible) {
    plan.status = Plan::Status::timed_out;
    plan.reason = "the time was up before a plan within the budget was found; " + plan.reason;
  }
  return plan;
}

Plan nothing_found(const Outline& o, const Options& options, std::string reason) {
  std::vector<Step> runs;
  for (const TaskId task : o.order) runs.push_back({Step::Kind::run, task, -1, {}});
  Plan plan = finish(*o.problem, std::move(runs), options);
  if (plan.status == Plan::Status::infeasible) plan.reason = std::move(reason);
  return plan;
}

}  // namespace tidemark::plan::named
