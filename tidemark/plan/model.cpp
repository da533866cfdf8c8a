// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tidemark/plan/update_ties.h"

namespace tidemark::plan {
namespace {

bool contains(const std::vector<BufferId>& sorted, BufferId b) {
  return std::binary_search(sorted.begin(), sorted.end(), b);
}

}  // namespace

Model::Model(const Problem& p, const ModelOptions& options)
    : problem(&p),
      tasks(static_cast<std::int32_t>(p.tasks.size())),
      buffers(static_cast<std::int32_t>(p.buffers.size())) {
  size.resize(p.buffers.size());
  resident.resize(p.buffers.size());
  output.resize(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    resident[b] = p.buffers[b].resident;
    const Bytes bytes = p.size(static_cast<BufferId>(b));
    if (resident[b])
      base += bytes;
    else
      size[b] = bytes;
  }
  for (const BufferId b : p.outputs)
    output[static_cast<std::size_t>(b)] = !resident[static_cast<std::size_t>(b)];

  bool any_pair = false;
  // By buffer: the last task so far that reads it; a task may have as many buffers as there are. None is written twice by one task.
  std::vector<TaskId> read_by(p.buffers.size(), -1);
  for (std::size_t t = 0; t < p.tasks.size(); ++t) {
    const Task& task = p.tasks[t];
    seconds.push_back(task.seconds);
    workspace.push_back(round_up(task.workspace, p.align));
    kind.push_back(Kind::task);
    group.push_back(!task.optional ? static_cast<TaskId>(t) : task.instead_of);
    for (const BufferId b : task.reads) {
      const bool again = std::exchange(read_by[static_cast<std::size_t>(b)], static_cast<TaskId>(t)) ==
                         static_cast<TaskId>(t);
      if (!resident[static_cast<std::size_t>(b)] && !again) reads.add(b);
    }
    reads.end_row();
    bool is_update = false;
    for (const BufferId b : task.writes) {
      const bool update = read_by[static_cast<std::size_t>(b)] == static_cast<TaskId>(t);
      is_update |= update;
      if (!resident[static_cast<std::size_t>(b)]) (update ? updates : writes).add(b);
    }
    writes.end_row();
    updates.end_row();
    can_repeat.push_back(!task.once && !is_update);
    // One that makes nothing and stands in for nothing, as makers that are left away become, has no use.
    const bool idle = task.writes.empty() && task.instead_of < 0;
    allowed.push_back(!task.optional || (options.makers && !is_update && !idle));
    leaves_out |= options.makers && task.optional && is_update;
    any_pair |= !task.in_place.empty();
    if (!task.optional) order.push_back(static_cast<TaskId>(t));
  }
  const UpdateTies ties(p);
  std::vector<std::vector<TaskId>> tied_to(p.tasks.size());
  for (std::size_t t = 0; t < p.tasks.size(); ++t) {
    for (const auto& [from, into] : {std::pair{&ties.after, &after}, std::pair{&ties.before, &before}}) {
      for (const TaskId u : (*from)[t]) {
        into->add(u);
        tied_to[static_cast<std::size_t>(u)].push_back(static_cast<TaskId>(t));
      }
      into->end_row();
    }
  }
  for (const auto& list : tied_to) {
    for (const TaskId t : list) tied.add(t);
    tied.end_row();
  }
  if (any_pair && options.in_place) {
    in_place.resize(p.tasks.size());
    for (std::size_t t = 0; t < p.tasks.size(); ++t) {
      const Task& task = p.tasks[t];
      if (task.in_place.empty()) continue;
      // A task may have as many buffers as there are.
      std::vector<BufferId> reads = task.reads, writes = task.writes;
      std::sort(reads.begin(), reads.end());
      std::sort(writes.begin(), writes.end());
      const auto reads_once = [&](BufferId b) {
        const auto [first, last] = std::equal_range(reads.begin(), reads.end(), b);
        return last - first == 1;
      };
      for (const auto& [r, w] : task.in_place) {
        const bool fits = !resident[static_cast<std::size_t>(r)] && !resident[static_cast<std::size_t>(w)] &&
                          size[static_cast<std::size_t>(w)] <= size[static_cast<std::size_t>(r)] && r != w;
        if (fits && reads_once(r) && !contains(reads, w) && !contains(writes, r) && contains(writes, w)) {
          in_place[t].push_back({r, w});
        }
      }
      // Of those that share a buffer the first counts: the one that saves most.
      auto& pairs = in_place[t];
      std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
        return size[static_cast<std::size_t>(a.write)] > size[static_cast<std::size_t>(b.write)];
      });
      std::set<BufferId> read, written;
      for (const Pair& pair : pairs) {
        const bool reads_first = read.insert(pair.read).second;
        leaves_out |= !written.insert(pair.write).second || !reads_first;
      }
    }
  }

  first_copy.assign(p.buffers.size(), -1);
  all = tasks;
  for (std::size_t b = 0; b < p.buffers.size() && !p.tiers.empty(); ++b) {
    const bool needs = p.buffers[b].start >= 0 || p.buffers[b].end >= 0;
    const auto holds = [&](const Tier& t) { return p.size(static_cast<BufferId>(b)) <= t.bytes; };
    const bool may = options.tiers && std::any_of(p.tiers.begin(), p.tiers.end(), holds);
    if (resident[b] || !(may || needs)) continue;
    first_copy[b] = all;
    for (TierId tier = 0; tier < static_cast<TierId>(p.tiers.size()); ++tier) {
      for (const Kind k : {Kind::evict, Kind::wait_out, Kind::fetch}) {
        kind.push_back(k);
        seconds.push_back(0);
        workspace.push_back(0);
        group.push_back(-1);
        can_repeat.push_back(1);
        allowed.push_back(1);
        copies.push_back({static_cast<BufferId>(b), tier});
        (k == Kind::fetch ? writes : reads).add(static_cast<BufferId>(b));
        reads.end_row();
        writes.end_row();
        after.end_row();
        before.end_row();
        tied.end_row();
        ++all;
      }
    }
  }

  std::vector<std::vector<TaskId>> made_by(p.buffers.size());
  for (TaskId t = 0; t < tasks; ++t) {
    if (!allowed[static_cast<std::size_t>(t)]) continue;
    for (const BufferId b : writes[static_cast<std::size_t>(t)])
      made_by[static_cast<std::size_t>(b)].push_back(t);
  }
  for (auto& list : made_by) {
    std::stable_sort(list.begin(), list.end(), [&](TaskId x, TaskId y) {
      return seconds[static_cast<std::size_t>(x)] < seconds[static_cast<std::size_t>(y)];
    });
    for (const TaskId t : list) makers.add(t);
    makers.end_row();
  }
}

double Model::copy_seconds(BufferId b, TierId tier, bool out) const {
  const Tier& t = problem->tiers[static_cast<std::size_t>(tier)];
  const double rate = out ? t.write_bytes_per_second : t.read_bytes_per_second;
  const auto bytes = static_cast<double>(problem->size(b));
  return t.latency_seconds + (rate > 0 ? bytes / rate : 0);
}

}  // namespace tidemark::plan
