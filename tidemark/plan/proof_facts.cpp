// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof_facts.h"

#include <algorithm>

namespace tidemark::plan::proof {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

bool contains(const std::vector<std::int32_t>& list, std::int32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

Facts::Facts(const Problem& p) : problem(p), values(p.buffers.size()), tasks(p.tasks.size()) {
  for (std::size_t b = 0; b < values.size(); ++b) {
    Value& v = values[b];
    v.buffer = static_cast<BufferId>(b);
    v.resident = p.buffers[b].resident;
    v.given = v.resident || p.buffers[b].start >= 0;
    v.bytes = v.resident ? 0 : p.size(v.buffer);
    if (v.resident) resident_bytes += p.size(v.buffer);
  }
  // Walk the list with the current value of each buffer. An alternative to an update stands where the update
  // stands.
  std::vector<std::int32_t> now(p.buffers.size());
  for (std::size_t b = 0; b < now.size(); ++b) now[b] = static_cast<std::int32_t>(b);
  std::vector<std::vector<TaskId>> instead(p.tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (p.tasks[t].instead_of >= 0) instead[at(p.tasks[t].instead_of)].push_back(static_cast<TaskId>(t));
  }
  std::vector<std::pair<BufferId, std::int32_t>> next;  // buffers that the task at hand updates
  const auto assign = [&](TaskId t, bool as_alternative) {
    const Task& task = p.tasks[at(t)];
    Role& role = tasks[at(t)];
    const auto updated = [&](BufferId b) {
      return std::find_if(next.begin(), next.end(), [&](const auto& n) { return n.first == b; });
    };
    if (!as_alternative) {
      for (BufferId b : task.reads) role.reads.push_back(now[at(b)]);
      for (BufferId b : task.writes)
        role.writes.push_back(updated(b) != next.end() ? updated(b)->second : now[at(b)]);
      return;
    }
    for (std::size_t k = 0; k < task.reads.size(); ++k) {
      if (updated(task.reads[k]) != next.end()) role.reads[k] = now[at(task.reads[k])];
    }
    for (std::size_t k = 0; k < task.writes.size(); ++k) {
      if (updated(task.writes[k]) != next.end()) role.writes[k] = updated(task.writes[k])->second;
    }
  };
  for (std::size_t t = 0; t < tasks.size(); ++t) {  // the alternatives' own places first
    const auto id = static_cast<TaskId>(t);
    next.clear();
    if (!p.tasks[t].optional && p.tasks[t].once) {
      for (BufferId b : p.tasks[t].writes) {
        if (!contains(p.tasks[t].reads, b)) continue;
        next.emplace_back(b, static_cast<std::int32_t>(values.size()));
        values.push_back(values[at(b)]);
        values.back().given = false;
      }
    }
    assign(id, false);
    for (const auto& [b, value] : next) now[at(b)] = value;
  }
  for (std::size_t b = 0; b < now.size(); ++b) now[b] = static_cast<std::int32_t>(b);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (p.tasks[t].optional || !p.tasks[t].once) continue;
    next.clear();
    for (std::size_t k = 0; k < p.tasks[t].writes.size(); ++k) {
      if (contains(p.tasks[t].reads, p.tasks[t].writes[k]))
        next.emplace_back(p.tasks[t].writes[k], tasks[t].writes[k]);
    }
    if (next.empty()) continue;
    for (TaskId other : instead[t]) {
      if (p.tasks[at(other)].once) assign(other, true);
    }
    for (const auto& [b, value] : next) now[at(b)] = value;
  }
  for (BufferId b : p.outputs) outputs.push_back(now[at(b)]);

  for (std::size_t t = 0; t < tasks.size(); ++t) {
    Role& role = tasks[t];
    std::sort(role.reads.begin(), role.reads.end());
    role.reads.erase(std::unique(role.reads.begin(), role.reads.end()), role.reads.end());
    for (std::int32_t v : role.reads) values[at(v)].readers.push_back(static_cast<TaskId>(t));
    for (std::int32_t v : role.writes) values[at(v)].makers.push_back(static_cast<TaskId>(t));
    role.duty = p.tasks[t].optional ? p.tasks[t].instead_of : static_cast<TaskId>(t);
    role.sole = !p.tasks[t].optional && instead[t].empty();
  }
  // Rule "never first" of docs/proofs.md, until nothing changes or too much work was done.
  for (Value& v : values) v.not_first.assign(v.makers.size(), false);
  std::int64_t work = 100'000'000;
  for (bool changed = true; changed && work > 0;) {
    changed = false;
    for (std::size_t v = 0; v < values.size() && work > 0; ++v) {
      for (std::size_t k = 0; k < values[v].makers.size() && values[v].makers.size() > 1 && !values[v].given;
           ++k) {
        if (values[v].not_first[k]) continue;
        for (std::int32_t y : tasks[at(values[v].makers[k])].reads) {
          const Value& source = values[at(y)];
          bool through_v = !source.given && !source.makers.empty() && at(y) != v;
          for (std::size_t j = 0; through_v && j < source.makers.size(); ++j) {
            const auto& reads = tasks[at(source.makers[j])].reads;
            work -= 8;
            through_v = source.not_first[j] ||
                        std::binary_search(reads.begin(), reads.end(), static_cast<std::int32_t>(v));
          }
          if (through_v) values[v].not_first[k] = changed = true;
        }
      }
    }
  }
}

Instant::Instant(const Facts& f, TaskId moment)
    : task(moment), before(f.tasks.size()), not_before(f.tasks.size(), true), past(f.values.size()) {
  std::vector<TaskId> todo{moment};
  while (!todo.empty()) {
    const TaskId u = todo.back();
    todo.pop_back();
    for (std::int32_t v : f.tasks[at(u)].reads) {
      const Facts::Value& value = f.values[at(v)];
      std::vector<TaskId> first;
      for (std::size_t k = 0; k < value.makers.size() && !value.given && first.size() < 2; ++k) {
        if (!value.not_first[k]) first.push_back(value.makers[k]);
      }
      if (first.size() != 1 || before[at(first[0])]) continue;
      before[at(first[0])] = true;
      todo.push_back(first[0]);
    }
  }
  // Everything that could run if the task did not.
  std::vector<bool> there(f.values.size());
  std::vector<std::size_t> missing(f.tasks.size());
  for (std::size_t v = 0; v < f.values.size(); ++v) there[v] = f.values[v].given;
  for (std::size_t t = 0; t < f.tasks.size(); ++t) {
    for (std::int32_t v : f.tasks[t].reads) missing[t] += there[at(v)] ? 0 : 1;
    if (missing[t] == 0 && static_cast<TaskId>(t) != moment) todo.push_back(static_cast<TaskId>(t));
  }
  while (!todo.empty()) {
    const TaskId u = todo.back();
    todo.pop_back();
    not_before[at(u)] = false;
    for (std::int32_t v : f.tasks[at(u)].writes) {
      if (there[at(v)]) continue;
      there[at(v)] = true;
      for (TaskId r : f.values[at(v)].readers) {
        if (--missing[at(r)] == 0 && r != moment) todo.push_back(r);
      }
    }
  }
  for (std::size_t t = 0; t < f.tasks.size(); ++t) {
    if (!before[t] || !f.problem.tasks[t].once) continue;
    for (std::int32_t r : f.tasks[t].reads) {
      for (std::int32_t w : f.tasks[t].writes) {
        if (r != w && f.values[at(r)].buffer == f.values[at(w)].buffer) past[at(r)] = true;
      }
    }
  }
  held = f.resident_bytes + round_up(f.problem.tasks[at(moment)].workspace, f.problem.align);
  fresh = fresh_writes(f, moment);
  for (std::int32_t w : fresh) held += f.values[at(w)].bytes;
}

std::vector<std::int32_t> fresh_writes(const Facts& f, TaskId t) {
  const Task& run = f.problem.tasks[at(t)];
  std::vector<std::int32_t> fresh;
  for (std::int32_t w : f.tasks[at(t)].writes) {
    const Facts::Value& value = f.values[at(w)];
    bool own = !value.resident && !contains(run.reads, value.buffer);
    for (const auto& [r, into] : run.in_place) {
      if (into == value.buffer && !f.problem.buffers[at(r)].resident &&
          f.problem.size(r) >= f.problem.size(into))
        own = false;
    }
    if (own) fresh.push_back(w);
  }
  return fresh;
}

}  // namespace tidemark::plan::proof
