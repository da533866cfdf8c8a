// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tidemark/base/error.h"

namespace tidemark::plan::proof {

void expect(bool holds, const char* what) {
  if (!holds) fail(Error::Kind::data, "{}", what);
}

Facts::Facts(const Problem& p)
    : problem(p),
      output(p.buffers.size()),
      makers(p.buffers.size()),
      firsts(makers),
      readers(makers),
      sole(p.tasks.size(), true) {
  for (const Buffer& b : p.buffers) {
    const Bytes size = round_up(b.bytes, p.align);
    bytes.push_back(b.resident ? 0 : size);
    resident_bytes += size - bytes.back();
    given.push_back(b.resident || b.start >= 0);
  }
  for (const BufferId b : p.outputs) output[at(b)] = true;
  for (const Task& task : p.tasks) {
    duty.push_back(task.optional ? task.instead_of : static_cast<TaskId>(duty.size()));
    if (task.optional) sole[duty.size() - 1] = false;
    if (task.instead_of >= 0) sole[at(task.instead_of)] = false;
  }
  reads = starts = fresh = follows = followers = ends = std::vector<Ids>(p.tasks.size());
  find_runs();
  find_firsts();
}

void Facts::find_runs() {
  const Problem& p = problem;
  std::vector<bool> updated(p.buffers.size());
  std::vector<TaskId> update(p.buffers.size(), -1);  // by buffer: the last that is sole
  std::vector<Ids> since(p.buffers.size());          // and what reads or writes it from there on
  for (TaskId t = 0; t < static_cast<TaskId>(p.tasks.size()); ++t) {
    const Task& task = p.tasks[at(t)];
    const std::set<BufferId> in(task.reads.begin(), task.reads.end()),
        out(task.writes.begin(), task.writes.end());
    std::set<BufferId> touched = in, taken_over;
    touched.insert(out.begin(), out.end());
    for (const auto& [from, into] : task.in_place)
      if (!p.buffers[at(from)].resident && p.size(from) >= p.size(into)) taken_over.insert(into);
    reads[at(t)].assign(in.begin(), in.end());
    held.push_back(resident_bytes + round_up(task.workspace, p.align));
    std::set<TaskId> earlier;  // than the task
    for (const BufferId b : touched) {
      const bool made = !in.contains(b), updates = !made && out.contains(b);
      (made ? makers : readers)[at(b)].push_back(t);
      if (made && !updated[at(b)]) firsts[at(b)].push_back(t);
      if (made && !taken_over.contains(b)) fresh[at(t)].push_back(b);
      if (updates && task.optional) continue;  // in the place of what it is instead of, wherever it stands
      if (update[at(b)] >= 0) earlier.insert(update[at(b)]);
      if (updates) updated[at(b)] = true;
      if (updates && sole[at(t)]) {
        for (const TaskId s : since[at(b)]) {
          ends[at(s)].push_back(t);
          if (sole[at(s)]) earlier.insert(s);  // it runs, and not behind this
        }
        update[at(b)] = t;
        since[at(b)].clear();
      }
      since[at(b)].push_back(t);
    }
    for (const BufferId b : fresh[at(t)]) held.back() += bytes[at(b)];
    follows[at(t)].assign(earlier.begin(), earlier.end());
    for (const TaskId s : earlier) followers[at(s)].push_back(t);
  }
}

// From the back of the list, for what a value is made of comes before it: with inverses of inverses, the last goes first.
void Facts::find_firsts() {
  Ids several;
  for (BufferId b = 0; b < std::ssize(firsts); ++b)
    if (firsts[at(b)].size() > 1) several.push_back(b);
  std::ranges::stable_sort(several, std::ranges::greater(), [&](BufferId b) { return firsts[at(b)][0]; });
  for (const BufferId b : several) {
    std::map<BufferId, bool> only_from_b;  // what a maker of it reads, each looked at once
    const auto reads_b = [&](TaskId m) { return std::ranges::binary_search(reads[at(m)], b); };
    std::erase_if(firsts[at(b)], [&](TaskId maker) {
      return std::ranges::any_of(reads[at(maker)], [&](BufferId y) {
        const auto [known, is_new] = only_from_b.emplace(y, !given[at(y)]);
        if (is_new && known->second) known->second = std::ranges::all_of(firsts[at(y)], reads_b);
        return known->second;
      });
    });
  }
  for (BufferId b = 0; b < std::ssize(firsts); ++b)
    for (const TaskId t : firsts[at(b)]) starts[at(t)].push_back(b);
}

Moment first_run(const Facts& f, std::int64_t task, const std::vector<Decision>& decisions, Bytes budget) {
  std::vector<std::pair<std::int64_t, std::int64_t>> orders;  // the first, and what never runs before it has
  for (const Decision& d : decisions)
    if (d.by_order) orders.push_back(d.holds ? std::pair(d.task, d.other) : std::pair(d.other, d.task));
  const auto n = static_cast<TaskId>(f.reads.size());
  const std::vector<bool> none(f.reads.size());
  Moment m{.before = none,
           .after = std::vector<bool>(f.reads.size(), true),
           .over = none,
           .least = std::vector<bool>(f.bytes.size()),
           .most = f.given,
           .held = f.held[at(task)]};

  Ids found{static_cast<TaskId>(task)};
  const auto has_run = [&](std::int64_t t) {
    if (!m.before[at(t)]) found.push_back(static_cast<TaskId>(t));
    m.before[at(t)] = true;
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    const TaskId t = found[i];
    for (const TaskId earlier : f.follows[at(t)]) has_run(earlier);
    for (const auto& [first, then] : orders)
      if (then == t) has_run(first);
    for (const BufferId b : f.reads[at(t)])
      if (!f.given[at(b)] && f.firsts[at(b)].size() == 1) has_run(f.firsts[at(b)][0]);
  }

  // What can run while the task has not: all that waits for nothing more.
  std::vector<std::int64_t> waits_for(f.reads.size(), 1);
  found.clear();
  const auto one_less = [&](std::int64_t t) {
    if (--waits_for[at(t)] == 0 && t != task) found.push_back(static_cast<TaskId>(t));
  };
  for (const auto& [first, then] : orders) ++waits_for[at(then)];
  for (TaskId t = 0; t < n; ++t) {
    waits_for[at(t)] += std::ssize(f.follows[at(t)]);
    for (const BufferId b : f.reads[at(t)]) waits_for[at(t)] += f.given[at(b)] ? 0 : 1;
    one_less(t);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const TaskId t = found[i];
    m.after[at(t)] = false;
    for (const TaskId later : f.followers[at(t)]) one_less(later);
    for (const auto& [first, then] : orders)
      if (first == t) one_less(then);
    for (const BufferId b : f.starts[at(t)]) {
      if (m.most[at(b)]) continue;
      m.most[at(b)] = true;
      for (const TaskId reader : f.readers[at(b)]) one_less(reader);
    }
  }

  const auto is_before = [&](TaskId t) { return m.before[at(t)]; };
  for (TaskId t = 0; t < n; ++t)
    m.over[at(t)] =
        (f.problem.tasks[at(t)].once && is_before(t)) || std::ranges::any_of(f.ends[at(t)], is_before);
  for (const BufferId b : f.fresh[at(task)]) m.most[at(b)] = false;  // in the bytes held, and nowhere else
  for (const BufferId b : f.reads[at(task)]) m.least[at(b)] = m.most[at(b)] = true;
  for (const Decision& d : decisions)
    if (!d.by_order && d.task == task) m.least[at(d.other)] = m.most[at(d.other)] = d.holds;
  Bytes room = budget - m.held;
  for (std::size_t b = 0; b < f.bytes.size(); ++b) room -= m.least[b] ? f.bytes[b] : 0;
  for (std::size_t b = 0; b < f.bytes.size(); ++b)
    m.most[b] = m.most[b] && (m.least[b] || f.bytes[b] <= room);
  return m;
}

}  // namespace tidemark::plan::proof
