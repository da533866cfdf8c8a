// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof_facts.h"

#include <algorithm>
#include <set>

#include "tidemark/base/error.h"

namespace tidemark::plan::proof {

bool contains(const Ids& list, std::int64_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

void expect(bool holds, const char* what) {
  if (!holds) fail(Error::Kind::data, "{}", what);
}

Facts::Facts(const Problem& p, const std::vector<Row>& never_first, const std::vector<Row>& order)
    : problem(p), reads(p.tasks.size()), writes(reads), fresh(reads), sole(p.tasks.size(), true) {
  const auto n = static_cast<TaskId>(p.tasks.size());
  // Of each buffer, its values in order, each with the update that leaves it.
  std::vector<std::vector<std::pair<TaskId, std::int32_t>>> versions;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const Bytes bytes = p.size(static_cast<BufferId>(b));
    const bool resident = p.buffers[b].resident, given = resident || p.buffers[b].start >= 0;
    values.push_back({.bytes = resident ? 0 : bytes, .resident = resident, .given = given});
    versions.push_back({{-1, static_cast<std::int32_t>(b)}});
    resident_bytes += resident ? bytes : 0;
  }
  const auto inputs = [&](TaskId t) {
    return std::set(p.tasks[at(t)].reads.begin(), p.tasks[at(t)].reads.end());
  };
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = p.tasks[at(t)];
    for (const auto in = inputs(t); BufferId b : task.writes) {
      if (task.optional || !in.contains(b)) continue;
      const auto [bytes, resident] = std::pair(values[at(b)].bytes, values[at(b)].resident);
      values.push_back({.bytes = bytes, .resident = resident, .replaces = versions[at(b)].back().second});
      versions[at(b)].emplace_back(t, static_cast<std::int32_t>(values.size()) - 1);
    }
    duty.push_back(task.optional ? task.instead_of : t);
    if (duty.back() != t) sole[at(t)] = false;
    if (task.instead_of >= 0) sole[at(task.instead_of)] = false;
  }
  // The version after all updates that stand before this place.
  const auto value = [&](BufferId b, TaskId place) {
    const auto& list = versions[at(b)];
    return std::prev(std::lower_bound(list.begin(), list.end(), std::pair{place, std::int32_t{-1}}))->second;
  };
  for (BufferId b : p.outputs) values[at(value(b, n))].output = true;
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = p.tasks[at(t)];
    const std::set in = inputs(t), out(task.writes.begin(), task.writes.end());
    const TaskId update = task.instead_of >= 0 ? task.instead_of : t;  // its place, where this is one
    held.push_back(resident_bytes + round_up(task.workspace, p.align));
    std::set<BufferId> taken_over;
    for (const auto& [from, into] : task.in_place)
      if (!p.buffers[at(from)].resident && p.size(from) >= p.size(into)) taken_over.insert(into);
    for (BufferId b : in) reads[at(t)].push_back(value(b, out.contains(b) ? update : t));
    for (BufferId b : out) {
      const std::int32_t v = value(b, in.contains(b) ? update + 1 : t);
      writes[at(t)].push_back(v);
      values[at(v)].makers.push_back(t);
      values[at(v)].firsts.push_back(t);
      const bool own = !values[at(v)].resident && !in.contains(b) && !taken_over.contains(b);
      if (own) fresh[at(t)].push_back(v);
      if (own) held.back() += values[at(v)].bytes;
    }
  }
  // As if the one that is first made a value of no bytes for the other.
  for (const Row& o : order) {
    expect(
        at(o[0]) < sole.size() && at(o[1]) < sole.size() && o[0] != o[1] && sole[at(o[0])] && sole[at(o[1])],
        "order: not two tasks that every plan runs");
    const auto first = static_cast<TaskId>(o[at(o[2])]), then = static_cast<TaskId>(o[at(1 - o[2])]);
    writes[at(first)].push_back(static_cast<std::int32_t>(values.size()));
    reads[at(then)].push_back(static_cast<std::int32_t>(values.size()));
    values.push_back({.resident = true, .makers = {first}, .firsts = {first}});
  }
  walks += order.size();
  std::size_t work = 0;
  const auto take = [&](std::size_t more) { expect((work += more) < 5'000'000, "never_first: too long"); };
  for (const Row& r : never_first) {
    expect(at(r[1]) < reads.size() && at(r[0]) < values.size(), "never_first: no such task or value");
    take(writes[at(r[1])].size() + reads[at(r[1])].size() + values[at(r[0])].firsts.size());
    expect(contains(writes[at(r[1])], r[0]) && contains(reads[at(r[1])], r[2]),
           "never_first: not a maker of a value and what it reads");
    std::erase(values[at(r[0])].firsts, r[1]);
  }
  for (const Row& r : never_first) {
    const Value& read = values[at(r[2])];
    expect(!read.given, "never_first: what the maker reads is given");
    for (TaskId maker : read.makers) {
      take(read.firsts.size() + reads[at(maker)].size());
      expect(!contains(read.firsts, maker) || contains(reads[at(maker)], r[0]),
             "never_first: what the maker reads can be made without the value");
    }
  }
}

Moment the_start(const Facts& f) {
  const std::vector<bool> none(f.reads.size()), all(f.reads.size(), true);
  std::vector<bool> given;
  for (const Value& v : f.values) given.push_back(v.given);
  return {.before = none, .after = all, .over = none, .least = given, .most = given};
}

Moment the_end(const Facts& f) {
  const std::vector<bool> none(f.reads.size()), all(f.values.size(), true);
  return {.before = f.sole, .after = none, .over = none, .least = all, .most = all};
}

Moment first_run(const Facts& f, TaskId task, const std::vector<Row>& after) {
  const auto n = static_cast<TaskId>(f.reads.size());
  Moment m{.before = std::vector<bool>(f.reads.size()), .held = f.held[at(task)]};
  m.after = m.over = m.before;
  m.least.resize(f.values.size());
  // Whatever is the only one to make first what a required task reads stands before it in the list, but for what `order` says.
  for (TaskId step = 0, steps = n * static_cast<TaskId>(f.walks); step < steps; ++step) {
    const TaskId t = n - 1 - step % n;
    for (std::int32_t v : t == task || m.before[at(t)] ? f.reads[at(t)] : Ids()) {
      const Value& value = f.values[at(v)];
      if (!value.given && value.firsts.size() == 1) m.before[at(value.firsts[0])] = true;
    }
  }
  std::int64_t next = 0;
  for (const Row& r : after) {
    expect(next <= r[0] && r[0] <= r[1] && r[1] < n, "after: not ranges of tasks in order");
    for (next = r[0]; next <= r[1]; ++next) m.after[at(next)] = true;
  }
  m.after[at(task)] = true;
  for (const Value& v : f.values) {
    const auto is_after = [&](TaskId maker) { return m.after[at(maker)]; };
    m.most.push_back(v.given || !std::all_of(v.makers.begin(), v.makers.end(), is_after));
  }
  const auto cannot_be_there = [&](std::int32_t v) { return !m.most[at(v)]; };
  std::vector<bool> past(f.values.size());
  for (TaskId t = 0; t < n; ++t) {
    const Ids& reads = f.reads[at(t)];
    expect(!m.after[at(t)] || t == task || std::any_of(reads.begin(), reads.end(), cannot_be_there),
           "after: a task that can run before the moment");
    for (std::int32_t v : m.before[at(t)] ? f.writes[at(t)] : Ids())
      if (f.values[at(v)].replaces >= 0) past[at(f.values[at(v)].replaces)] = true;
  }
  for (TaskId t = 0; t < n; ++t) {
    m.over[at(t)] = f.problem.tasks[at(t)].once && m.before[at(t)];
    for (const Ids* list : {&f.reads[at(t)], &f.writes[at(t)]})
      for (std::int32_t v : *list) m.over[at(t)] = m.over[at(t)] || past[at(v)];
  }
  for (std::int32_t v : f.fresh[at(task)]) past[at(v)] = true;  // in the bytes held, and nowhere else
  for (std::int32_t v : f.reads[at(task)]) m.least[at(v)] = true;
  for (std::size_t v = 0; v < past.size(); ++v) m.most[v] = m.least[v] || (m.most[v] && !past[v]);
  return m;
}

}  // namespace tidemark::plan::proof
