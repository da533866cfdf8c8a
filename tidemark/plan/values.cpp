// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/values.h"

#include <algorithm>
#include <utility>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

bool has(std::span<const std::int32_t> list, std::int32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

Lists transpose(const Lists& lists, int columns) {
  Lists out;
  out.first.assign(at(columns) + 1, 0);
  for (std::int32_t i : lists.items) ++out.first[at(i) + 1];
  for (int c = 0; c < columns; ++c) out.first[at(c) + 1] += out.first[at(c)];
  out.items.resize(lists.items.size());
  std::vector<std::int32_t> fill(out.first.begin(), out.first.end() - 1);
  for (int r = 0; r < lists.size(); ++r) {
    for (std::int32_t c : lists[r]) out.items[at(fill[at(c)]++)] = r;
  }
  return out;
}

}  // namespace

Values::Values(const Problem& p, std::span<const Order> orders) : problem(p) {
  const auto n = static_cast<TaskId>(p.tasks.size());
  std::vector<ValueId> current(p.buffers.size());
  const auto add = [&](BufferId b, std::int32_t v) {
    buffer.push_back(b);
    version.push_back(v);
    resident.push_back(p.buffers[at(b)].resident);
    given.push_back(v == 0 && (resident.back() || p.buffers[at(b)].start >= 0));
    size.push_back(resident.back() ? 0 : p.size(b));
    return static_cast<ValueId>(buffer.size()) - 1;
  };
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    current[b] = add(static_cast<BufferId>(b), 0);
    if (p.buffers[b].resident) resident_bytes += p.size(static_cast<BufferId>(b));
  }
  // What an update finds and leaves; a task that stands in for it finds and leaves the same.
  std::vector<std::vector<std::pair<ValueId, ValueId>>> updates(p.tasks.size());
  // By buffer: the last task so far that reads it, since a task may have as many buffers as there are.
  std::vector<TaskId> read_by(p.buffers.size(), -1);
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = p.tasks[at(t)];
    if (task.optional || !task.once) continue;
    for (BufferId r : task.reads) read_by[at(r)] = t;
    for (BufferId w : task.writes) {
      if (read_by[at(w)] != t) continue;
      const ValueId old = current[at(w)];
      current[at(w)] = add(w, version[at(old)] + 1);
      updates[at(t)].emplace_back(old, current[at(w)]);
    }
  }
  const auto order_value = [first = static_cast<ValueId>(buffer.size())](std::size_t i) {
    return first + static_cast<ValueId>(i);
  };
  for (std::size_t i = 0; i < orders.size(); ++i) {
    buffer.push_back(-1 - static_cast<BufferId>(i));
    version.push_back(0);
    resident.push_back(true);
    given.push_back(false);
    size.push_back(0);
  }
  for (BufferId b : p.outputs) outputs.push_back(current[at(b)]);
  for (std::size_t b = 0; b < p.buffers.size(); ++b) current[b] = static_cast<ValueId>(b);

  reads.first.push_back(0);
  writes.first.push_back(0);
  duty.assign(p.tasks.size(), -1);
  floor.assign(p.tasks.size(), 0);
  sole.assign(p.tasks.size(), false);
  std::fill(read_by.begin(), read_by.end(), -1);
  std::vector<TaskId> updated_by(p.buffers.size(), -1);
  std::vector<std::size_t> update_at(p.buffers.size());  // its place among them
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = p.tasks[at(t)];
    const TaskId like = task.instead_of >= 0 && task.once ? task.instead_of : t;
    const auto& mine = updates[at(like)];
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const BufferId b = buffer[at(mine[i].first)];
      updated_by[at(b)] = t;
      update_at[at(b)] = i;
    }
    const auto version_of = [&](BufferId b, bool after) {
      if (updated_by[at(b)] != t) return current[at(b)];
      const auto& [old, next] = mine[update_at[at(b)]];
      return after ? next : old;
    };
    for (BufferId b : task.reads) {
      if (std::exchange(read_by[at(b)], t) != t) reads.items.push_back(version_of(b, false));
    }
    for (BufferId b : task.writes) writes.items.push_back(version_of(b, read_by[at(b)] == t));
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (orders[i].then == t) reads.items.push_back(order_value(i));
      if (orders[i].first == t) writes.items.push_back(order_value(i));
    }
    reads.first.push_back(static_cast<std::int32_t>(reads.items.size()));
    writes.first.push_back(static_cast<std::int32_t>(writes.items.size()));
    if (!task.optional) {
      for (const auto& [old, next] : mine) current[at(buffer[at(old)])] = next;
      duty[at(t)] = t;
      floor[at(t)] = task.seconds;
      sole[at(t)] = true;
    }
  }
  for (TaskId t = 0; t < n; ++t) {
    const TaskId of = p.tasks[at(t)].instead_of;
    if (of < 0) continue;
    duty[at(t)] = of;
    sole[at(of)] = false;
    floor[at(of)] = std::min(floor[at(of)], p.tasks[at(t)].seconds);
  }
  for (double s : floor) floor_seconds += s;
  makers = transpose(writes, static_cast<int>(buffer.size()));
  readers = transpose(reads, static_cast<int>(buffer.size()));

  // Maker m of v is never the first if it reads some y whose every maker reads v or is never the first of y.
  // Were some such m the first of its v, take the earliest run for which that happens in a plan: y was made
  // before it, first by a maker that may be first, which reads v: v was there already. Few rounds, since
  // chains of this are short.
  never_first.assign(makers.items.size(), false);
  never_first_by.assign(makers.items.size(), -1);
  bool changed = true;
  for (int round = 0; changed && round < 8; ++round) {
    changed = false;
    for (ValueId v = 0; v < static_cast<ValueId>(buffer.size()); ++v) {
      if (given[at(v)] || makers[v].size() < 2) continue;
      for (std::size_t k = at(makers.first[at(v)]); k < at(makers.first[at(v) + 1]); ++k) {
        if (never_first[k]) continue;
        for (ValueId y : reads[makers.items[k]]) {
          bool needs_v = !given[at(y)] && y != v && !makers[y].empty() && buffer[at(y)] >= 0;
          for (std::size_t j = at(makers.first[at(y)]); needs_v && j < at(makers.first[at(y) + 1]); ++j)
            needs_v = never_first[j] || has(reads[makers.items[j]], v);
          if (needs_v) {
            never_first[k] = changed = true;
            never_first_by[k] = y;
            break;
          }
        }
      }
    }
  }
}

Moment::Moment(const Values& values, TaskId moment)
    : task(moment),
      before(at(values.tasks()), false),
      after(at(values.tasks()), false),
      gone(at(values.values()), false) {
  // Before: backwards from the task over values that only one maker can have been the first to make.
  std::vector<TaskId> stack{moment};
  while (!stack.empty()) {
    const TaskId u = stack.back();
    stack.pop_back();
    for (ValueId v : values.reads[u]) {
      if (values.given[at(v)]) continue;
      TaskId only = -1;
      int firsts = 0;
      for (std::size_t k = at(values.makers.first[at(v)]); k < at(values.makers.first[at(v) + 1]); ++k) {
        if (values.never_first[k]) continue;
        only = values.makers.items[k];
        ++firsts;
      }
      if (firsts != 1 || before[at(only)]) continue;
      before[at(only)] = true;
      stack.push_back(only);
    }
  }
  // After: all that cannot be reached without the task.
  std::fill(after.begin(), after.end(), true);
  std::vector<bool> there = values.given;
  std::vector<std::int32_t> missing(at(values.tasks()));
  for (TaskId u = 0; u < values.tasks(); ++u) {
    for (ValueId v : values.reads[u]) missing[at(u)] += there[at(v)] ? 0 : 1;
    if (missing[at(u)] == 0 && u != moment) stack.push_back(u);
  }
  while (!stack.empty()) {
    const TaskId u = stack.back();
    stack.pop_back();
    after[at(u)] = false;
    for (ValueId v : values.writes[u]) {
      if (there[at(v)]) continue;
      there[at(v)] = true;
      for (TaskId r : values.readers[v]) {
        if (--missing[at(r)] == 0 && r != moment) stack.push_back(r);
      }
    }
  }
  // An update's `once` makes the value it found the past as soon as it has run.
  for (TaskId u = 0; u < values.tasks(); ++u) {
    if (!before[at(u)] || !values.problem.tasks[at(u)].once) continue;
    for (ValueId w : values.writes[u]) {
      for (ValueId r : values.reads[u]) {
        if (r != w && values.buffer[at(r)] == values.buffer[at(w)]) gone[at(r)] = true;
      }
    }
  }
  held = held_in_run(values, moment, fresh);
}

Bytes held_in_run(const Values& values, TaskId task, std::vector<ValueId>& fresh) {
  const Task& t = values.problem.tasks[at(task)];
  Bytes held = values.resident_bytes + round_up(t.workspace, values.problem.align);
  std::vector<BufferId> there = t.reads;  // what is written there has storage
  for (const auto& [r, into] : t.in_place) {
    if (!values.problem.buffers[at(r)].resident && values.problem.size(r) >= values.problem.size(into))
      there.push_back(into);
  }
  std::sort(there.begin(), there.end());
  for (ValueId w : values.writes[task]) {
    const BufferId b = values.buffer[at(w)];
    if (values.resident[at(w)] || std::binary_search(there.begin(), there.end(), b)) continue;
    held += values.problem.size(b);
    fresh.push_back(w);
  }
  return held;
}

}  // namespace tidemark::plan
