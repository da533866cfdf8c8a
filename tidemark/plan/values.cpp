// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/values.h"

#include <algorithm>
#include <utility>

#include "tidemark/plan/update_ties.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

bool has(std::span<const std::int32_t> list, std::int32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

Values::Values(const Problem& p, std::span<const Order> orders) : problem(p) {
  find_sizes();
  find_tasks();
  makers = makes.transposed(p.buffers.size());
  readers = reads.transposed(p.buffers.size());
  find_ties(orders);
  find_firsts();
}

void Values::find_sizes() {
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    const Bytes bytes = problem.size(static_cast<BufferId>(b));
    resident.push_back(buffer.resident);
    given.push_back(buffer.resident || buffer.start >= 0);
    size.push_back(buffer.resident ? 0 : bytes);
    if (buffer.resident) resident_bytes += bytes;
  }
  std::vector<bool> seen(problem.buffers.size());
  for (const BufferId b : problem.outputs) {
    if (!seen[at(b)]) outputs.push_back(b);
    seen[at(b)] = true;
  }
}

void Values::find_tasks() {
  const auto n = static_cast<TaskId>(problem.tasks.size());
  duty.assign(problem.tasks.size(), -1);
  floor.assign(problem.tasks.size(), 0);
  sole.assign(problem.tasks.size(), false);
  std::vector<TaskId> read_by(problem.buffers.size(),
                              -1);  // the last: a task may have as many buffers as there are
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = problem.tasks[at(t)];
    for (const BufferId b : task.reads) {
      if (std::exchange(read_by[at(b)], t) != t) reads.add(b);
    }
    for (const BufferId b : task.writes) {
      if (read_by[at(b)] != t) makes.add(b);
    }
    reads.end_row();
    makes.end_row();
    if (task.optional) continue;
    duty[at(t)] = t;
    floor[at(t)] = task.seconds;
    sole[at(t)] = true;
  }
  for (TaskId t = 0; t < n; ++t) {
    const TaskId of = problem.tasks[at(t)].instead_of;
    if (of < 0) continue;
    duty[at(t)] = of;
    sole[at(of)] = false;
    floor[at(of)] = std::min(floor[at(of)], problem.tasks[at(t)].seconds);
  }
  for (const double s : floor) floor_seconds += s;
}

// An update that something can stand in for need not run itself. What runs, and not behind an update, runs before it.
void Values::find_ties(std::span<const Order> orders) {
  const UpdateTies ties(problem);
  std::vector<std::vector<TaskId>> follow(at(tasks()));
  for (TaskId t = 0; t < tasks(); ++t) {
    for (const TaskId u : ties.after[t]) {
      if (sole[at(u)]) follow[at(t)].push_back(u);
    }
    for (const TaskId u : ties.before[t]) {
      if (!sole[at(u)]) continue;
      ends.add(u);
      if (sole[at(t)]) follow[at(u)].push_back(t);
    }
    ends.end_row();
  }
  for (const Order& o : orders) follow[at(o.then)].push_back(o.first);
  for (auto& list : follow) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const TaskId t : list) follows.add(t);
    follows.end_row();
  }
  followers = follows.transposed(at(tasks()));
}

// Maker m of b is never the first if it reads some y whose every first maker reads b. Were some such m the first of its b, take the earliest run for which that
// happens in a plan: y was made before it, first by a maker that may be first, which reads b: b was there already. In the order of docs/proofs.md, which the verifier has too.
void Values::find_firsts() {
  std::vector<std::vector<TaskId>> first(problem.buffers.size());
  std::vector<bool> updated(problem.buffers.size());
  std::vector<TaskId> read_by(problem.buffers.size(), -1);
  for (TaskId t = 0; t < tasks(); ++t) {
    for (const BufferId b : makes[t]) {
      if (!updated[at(b)]) first[at(b)].push_back(t);
    }
    if (problem.tasks[at(t)].optional || problem.tasks[at(t)].writes.size() == makes[t].size()) continue;
    for (const BufferId b : problem.tasks[at(t)].reads) read_by[at(b)] = t;
    for (const BufferId b : problem.tasks[at(t)].writes)
      updated[at(b)] = updated[at(b)] || read_by[at(b)] == t;
  }
  std::vector<BufferId> several;
  for (BufferId b = 0; b < values(); ++b) {
    if (first[at(b)].size() > 1) several.push_back(b);
  }
  std::stable_sort(several.begin(), several.end(),
                   [&](BufferId a, BufferId b) { return first[at(a)][0] > first[at(b)][0]; });
  std::vector<BufferId> asked(problem.buffers.size(), -1);  // by y: for which b last
  std::vector<bool> only_from_b(problem.buffers.size());    // and the answer
  for (const BufferId b : several) {
    const auto reads_b = [&](TaskId maker) { return has(reads[maker], b); };
    std::erase_if(first[at(b)], [&](TaskId m) {
      return std::any_of(reads[m].begin(), reads[m].end(), [&](BufferId y) {
        if (std::exchange(asked[at(y)], b) != b)
          only_from_b[at(y)] =
              !given[at(y)] && std::all_of(first[at(y)].begin(), first[at(y)].end(), reads_b);
        return static_cast<bool>(only_from_b[at(y)]);
      });
    });
  }
  for (const auto& list : first) {
    for (const TaskId t : list) firsts.add(t);
    firsts.end_row();
  }
}

Moment::Moment(const Values& values, TaskId moment)
    : task(moment),
      before(at(values.tasks()), false),
      after(at(values.tasks()), true),
      over(at(values.tasks()), false),
      absent(at(values.values()), false) {
  // Before: backwards from the task over what it follows and over buffers that only one maker can have been the first to make.
  std::vector<TaskId> stack{moment};
  const auto has_run = [&](TaskId t) {
    if (before[at(t)]) return;
    before[at(t)] = true;
    stack.push_back(t);
  };
  while (!stack.empty()) {
    const TaskId u = stack.back();
    stack.pop_back();
    for (const TaskId t : values.follows[u]) has_run(t);
    for (const BufferId b : values.reads[u]) {
      if (!values.given[at(b)] && values.firsts[b].size() == 1) has_run(values.firsts[b][0]);
    }
  }
  // After: all that cannot be reached without the task.
  std::vector<bool> there = values.given;
  std::vector<std::int32_t> missing(at(values.tasks()));
  const auto comes = [&](TaskId t) {
    if (--missing[at(t)] == 0 && t != moment) stack.push_back(t);
  };
  for (TaskId u = 0; u < values.tasks(); ++u) {
    missing[at(u)] = 1 + static_cast<std::int32_t>(values.follows[u].size());
    for (const BufferId b : values.reads[u]) missing[at(u)] += there[at(b)] ? 0 : 1;
    comes(u);
  }
  while (!stack.empty()) {
    const TaskId u = stack.back();
    stack.pop_back();
    after[at(u)] = false;
    for (const TaskId t : values.followers[u]) comes(t);
    for (const BufferId b : values.makes[u]) {
      if (there[at(b)]) continue;
      there[at(b)] = true;
      for (const TaskId r : values.readers[b]) comes(r);
    }
  }
  for (BufferId b = 0; b < values.values(); ++b) absent[at(b)] = !there[at(b)];
  for (TaskId u = 0; u < values.tasks(); ++u) {
    const auto ends = values.ends[u];
    over[at(u)] = (values.problem.tasks[at(u)].once && before[at(u)]) ||
                  std::any_of(ends.begin(), ends.end(), [&](TaskId t) { return before[at(t)]; });
  }
  held = held_in_run(values, moment, fresh);
}

Bytes held_in_run(const Values& values, TaskId task, std::vector<BufferId>& fresh) {
  const Task& t = values.problem.tasks[at(task)];
  Bytes held = values.resident_bytes + round_up(t.workspace, values.problem.align);
  std::vector<BufferId> taken_over;
  for (const auto& [r, into] : t.in_place) {
    if (!values.problem.buffers[at(r)].resident && values.problem.size(r) >= values.problem.size(into))
      taken_over.push_back(into);
  }
  std::sort(taken_over.begin(), taken_over.end());
  for (const BufferId b : values.makes[task]) {
    if (values.resident[at(b)] || std::binary_search(taken_over.begin(), taken_over.end(), b)) continue;
    held += values.size[at(b)];
    fresh.push_back(b);
  }
  return held;
}

}  // namespace tidemark::plan
