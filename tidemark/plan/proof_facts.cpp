// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof_facts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tidemark/base/error.h"

namespace tidemark::plan::proof {

constexpr std::size_t kMostOrders = 16;  // each may take another walk through the list

void expect(bool holds, const char* what) {
  if (!holds) fail(Error::Kind::data, "{}", what);
}

Facts::Facts(const Problem& p, const Rows& never_first)
    : problem(p),
      output(p.buffers.size()),
      makers(p.buffers.size()),
      firsts(makers),
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
  reads = fresh = follows = ends = std::vector<Ids>(p.tasks.size());
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
    for (const BufferId b : touched) {
      const bool made = !in.contains(b), updates = !made && out.contains(b);
      if (made) makers[at(b)].push_back(t);
      if (made && !updated[at(b)]) firsts[at(b)].push_back(t);
      if (made && !taken_over.contains(b)) fresh[at(t)].push_back(b);
      if (updates && task.optional) continue;  // in the place of what it is instead of, wherever it stands
      if (update[at(b)] >= 0) follows[at(t)].push_back(update[at(b)]);
      if (updates) updated[at(b)] = true;
      if (updates && sole[at(t)]) {
        for (const TaskId earlier : since[at(b)]) {
          ends[at(earlier)].push_back(t);
          if (sole[at(earlier)]) follows[at(t)].push_back(earlier);  // it runs, and not behind this
        }
        update[at(b)] = t;
        since[at(b)].clear();
      }
      since[at(b)].push_back(t);
    }
    for (const BufferId b : fresh[at(t)]) held.back() += bytes[at(b)];
  }
  const auto has = [](const Ids& sorted, std::int64_t id) { return std::ranges::binary_search(sorted, id); };
  std::set<std::pair<std::int64_t, std::int64_t>> never, because;  // each once, however often it is said
  for (const Row& r : never_first) {
    expect(has(makers[at(r[0])], r[1]) && has(reads[at(r[1])], r[2]),
           "never_first: not a maker of a buffer and what it reads");
    never.insert({r[0], r[1]});
    because.insert({r[0], r[2]});
  }
  for (std::size_t b = 0; b < firsts.size() && !never.empty(); ++b)
    std::erase_if(firsts[b], [&](TaskId m) { return never.contains({static_cast<BufferId>(b), m}); });
  for (const auto& [b, y] : because) {
    const auto reads_it = [&, b = b](TaskId maker) { return has(reads[at(maker)], b); };
    expect(!given[at(y)] && std::ranges::all_of(firsts[at(y)], reads_it),
           "never_first: what the maker reads is given, or can be made without the buffer");
  }
}

Moment first_run(const Facts& f, const MomentText& text, const std::vector<Decision>& decisions) {
  std::vector<std::pair<std::int64_t, std::int64_t>> orders;  // the first, and what never runs before it has
  for (const Decision& d : decisions)
    if (d.by_order) orders.push_back(d.holds ? std::pair(d.task, d.other) : std::pair(d.other, d.task));
  expect(orders.size() <= kMostOrders, "order: too many");
  const auto n = static_cast<TaskId>(f.reads.size());
  const std::vector<bool> none(f.reads.size());
  Moment m{.before = none, .after = none, .over = none, .held = f.held[at(text.task)]};
  // One walk back through the list finds nearly all of this: only orders may go against it.
  for (bool more = true; std::exchange(more, false);) {
    const auto has_run = [&](std::int64_t t) {
      if (!m.before[at(t)]) m.before[at(t)] = more = true;
    };
    for (const auto& [first, then] : orders)
      if (then == text.task || m.before[at(then)]) has_run(first);
    for (TaskId t = n - 1; t >= 0; --t) {
      if (t != text.task && !m.before[at(t)]) continue;
      for (const TaskId earlier : f.follows[at(t)]) has_run(earlier);
      for (const BufferId b : f.reads[at(t)])
        if (!f.given[at(b)] && f.firsts[at(b)].size() == 1) has_run(f.firsts[at(b)][0]);
    }
  }
  std::int64_t next = 0;
  for (const Row& r : text.after) {
    expect(next <= r[0] && r[0] <= r[1], "after: not ranges of tasks in order");
    for (next = r[0]; next <= r[1]; ++next) m.after[at(next)] = true;
  }
  m.after[at(text.task)] = true;
  const auto is_before = [&](TaskId t) { return m.before[at(t)]; };
  const auto is_after = [&](TaskId t) { return m.after[at(t)]; };
  const auto may_be_there = [&](BufferId b) { return m.most[at(b)]; };
  for (std::size_t b = 0; b < f.bytes.size(); ++b)
    m.most.push_back(f.given[b] || !std::ranges::all_of(f.firsts[b], is_after));
  std::vector<bool> comes_later(f.reads.size());
  for (const auto& [first, then] : orders)
    comes_later[at(then)] = comes_later[at(then)] || m.after[at(first)];
  for (TaskId t = 0; t < n; ++t) {
    expect(!is_after(t) || t == text.task || std::ranges::any_of(f.follows[at(t)], is_after) ||
               comes_later[at(t)] || !std::ranges::all_of(f.reads[at(t)], may_be_there),
           "after: a task that can run before the moment");
    m.over[at(t)] =
        (f.problem.tasks[at(t)].once && is_before(t)) || std::ranges::any_of(f.ends[at(t)], is_before);
  }
  m.least.resize(f.bytes.size());
  for (const BufferId b : f.fresh[at(text.task)])
    m.most[at(b)] = false;  // in the bytes held, and nowhere else
  for (const BufferId b : f.reads[at(text.task)]) m.least[at(b)] = m.most[at(b)] = true;
  for (const Decision& d : decisions)
    if (!d.by_order && d.task == text.task) m.least[at(d.other)] = m.most[at(d.other)] = d.holds;
  return m;
}

}  // namespace tidemark::plan::proof
