// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof_facts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tidemark::plan::proof {

bool contains(const Ids& list, std::int64_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

Facts::Facts(const Problem& p)
    : problem(p),
      reads(p.tasks.size()),
      writes(p.tasks.size()),
      fresh(p.tasks.size()),
      duty(p.tasks.size(), -1),
      sole(p.tasks.size()) {
  const auto n = static_cast<TaskId>(p.tasks.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const bool resident = p.buffers[b].resident;
    const Bytes bytes = p.size(static_cast<BufferId>(b));
    values.push_back(
        {.buffer = static_cast<BufferId>(b), .bytes = resident ? 0 : bytes, .resident = resident});
    values[b].given = resident || p.buffers[b].start >= 0;
    resident_bytes += resident ? bytes : 0;
  }
  // The values that each update of the list finds and leaves.
  std::map<std::pair<TaskId, BufferId>, std::int32_t> updates;
  std::vector<TaskId> read_by(p.buffers.size(), -1);
  Ids now(p.buffers.size());
  std::iota(now.begin(), now.end(), 0);
  for (TaskId t = 0; t < n; ++t) {
    for (BufferId b : p.tasks[at(t)].reads) read_by[at(b)] = t;
    for (BufferId b : p.tasks[at(t)].writes) {
      if (p.tasks[at(t)].optional || read_by[at(b)] != t) continue;
      const auto next = static_cast<std::int32_t>(values.size());
      values.push_back({.buffer = b,
                        .bytes = values[at(b)].bytes,
                        .resident = values[at(b)].resident,
                        .replaces = now[at(b)]});
      now[at(b)] = updates[{t, b}] = next;
    }
  }
  for (BufferId b : p.outputs) values[at(now[at(b)])].output = true;
  std::iota(now.begin(), now.end(), 0);
  std::fill(read_by.begin(), read_by.end(), -1);
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = p.tasks[at(t)];
    const TaskId like = task.once && task.instead_of >= 0 ? task.instead_of : t;
    for (BufferId b : task.reads) {
      if (std::exchange(read_by[at(b)], t) == t) continue;
      const auto update = updates.find({like, b});
      const std::int32_t v = update == updates.end() ? now[at(b)] : values[at(update->second)].replaces;
      reads[at(t)].push_back(v);
      values[at(v)].readers.push_back(t);
    }
    for (BufferId b : task.writes) {
      const auto update = updates.find({like, b});
      const std::int32_t v = update == updates.end() ? now[at(b)] : update->second;
      writes[at(t)].push_back(v);
      values[at(v)].makers.push_back(t);
      if (!task.optional) now[at(b)] = v;
      bool own = !values[at(v)].resident && read_by[at(b)] != t;
      for (const auto& [from, into] : task.in_place)
        own = own && (into != b || p.buffers[at(from)].resident || p.size(from) < p.size(b));
      if (own) fresh[at(t)].push_back(v);
    }
    duty[at(t)] = task.optional ? task.instead_of : t;
    sole[at(t)] = !task.optional;
  }
  for (const Task& t : p.tasks) {
    if (t.instead_of >= 0) sole[at(t.instead_of)] = false;
  }
  // Never first, until nothing changes; leaving some out is safe, so the work has a limit.
  std::int64_t work = 20'000'000;
  for (Value& v : values) v.never_first.assign(v.makers.size(), false);
  for (bool changed = true; std::exchange(changed, false);) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      for (std::size_t m = 0; m < values[v].makers.size() && values[v].makers.size() > 1 && !values[v].given;
           ++m) {
        for (std::int32_t y : reads[at(values[v].makers[m])]) {
          const Value& other = values[at(y)];
          bool through_v = !values[v].never_first[m] && !other.given && !other.makers.empty() && at(y) != v;
          for (std::size_t k = 0; through_v && k < other.makers.size() && --work > 0; ++k)
            through_v =
                other.never_first[k] || contains(reads[at(other.makers[k])], static_cast<std::int64_t>(v));
          if (through_v && work > 0) values[v].never_first[m] = changed = true;
        }
      }
    }
  }
}

Moment::Moment(const Facts& f, TaskId moment)
    : task(moment),
      before(f.reads.size()),
      after(f.reads.size(), true),
      past(f.values.size()),
      reads(past),
      fresh(past) {
  Ids todo{moment};
  const auto next = [&] {
    const TaskId t = todo.back();
    todo.pop_back();
    return t;
  };
  while (!todo.empty()) {
    for (std::int32_t v : f.reads[at(next())]) {
      const Value& value = f.values[at(v)];
      if (value.given || std::count(value.never_first.begin(), value.never_first.end(), false) != 1) continue;
      const auto first =
          std::find(value.never_first.begin(), value.never_first.end(), false) - value.never_first.begin();
      const TaskId maker = value.makers[at(first)];
      if (!before[at(maker)]) todo.push_back(maker);
      before[at(maker)] = true;
    }
  }
  // All that could run if the task did not.
  std::vector<bool> there(f.values.size());
  std::vector<std::size_t> missing(f.reads.size());
  for (std::size_t v = 0; v < f.values.size(); ++v) there[v] = f.values[v].given;
  for (std::size_t t = 0; t < f.reads.size(); ++t) {
    for (std::int32_t v : f.reads[t]) missing[t] += there[at(v)] ? 0 : 1;
    if (missing[t] == 0) todo.push_back(static_cast<TaskId>(t));
  }
  while (!todo.empty()) {
    const TaskId t = next();
    if (t == moment) continue;
    after[at(t)] = false;
    for (std::int32_t v : f.writes[at(t)]) {
      if (there[at(v)]) continue;
      there[at(v)] = true;
      for (TaskId reader : f.values[at(v)].readers) {
        if (--missing[at(reader)] == 0) todo.push_back(reader);
      }
    }
  }
  for (std::size_t t = 0; t < f.reads.size(); ++t) {
    for (std::int32_t w : f.writes[t]) {
      const std::int32_t old = f.values[at(w)].replaces;
      if (before[t] && old >= 0 && contains(f.reads[t], old)) past[at(old)] = true;
    }
  }
  held = f.resident_bytes + round_up(f.problem.tasks[at(moment)].workspace, f.problem.align);
  for (std::int32_t r : f.reads[at(moment)]) reads[at(r)] = true;
  for (std::int32_t w : f.fresh[at(moment)]) {
    fresh[at(w)] = true;
    held += f.values[at(w)].bytes;
  }
}

}  // namespace tidemark::plan::proof
