// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/update_ties.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

void add_row(Csr& rows, std::vector<TaskId>& row) {
  std::sort(row.begin(), row.end());
  row.erase(std::unique(row.begin(), row.end()), row.end());
  for (const TaskId t : row) rows.add(t);
  rows.end_row();
  row.clear();
}

}  // namespace

UpdateTies::UpdateTies(const Problem& problem) {
  const auto n = static_cast<TaskId>(problem.tasks.size());
  std::vector<std::vector<TaskId>> updates(problem.buffers.size());
  // By buffer: the last task so far that reads it, since a task may have as many buffers as there are.
  std::vector<TaskId> read_by(problem.buffers.size(), -1), updated_by = read_by;
  const auto for_each_update = [&](TaskId t, const auto& each) {
    for (const BufferId r : problem.tasks[at(t)].reads) read_by[at(r)] = t;
    for (const BufferId w : problem.tasks[at(t)].writes) {
      if (read_by[at(w)] == t) each(w);
    }
  };
  bool any = false;
  for (TaskId t = 0; t < n; ++t) {
    if (problem.tasks[at(t)].optional) continue;
    for_each_update(t, [&](BufferId b) {
      updates[at(b)].push_back(t);
      any = true;
    });
  }
  std::fill(read_by.begin(), read_by.end(), -1);
  std::vector<TaskId> follows, precedes;
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = problem.tasks[at(t)];
    if (any && task.optional) for_each_update(t, [&](BufferId b) { updated_by[at(b)] = t; });
    for (const auto* list : {&task.reads, &task.writes}) {
      for (std::size_t i = 0; any && i < list->size(); ++i) {
        const BufferId b = (*list)[i];
        if (updated_by[at(b)] == t) continue;
        const auto& u = updates[at(b)];
        const auto here = std::lower_bound(u.begin(), u.end(), t);
        if (here != u.begin()) follows.push_back(here[-1]);
        const auto next = here != u.end() && *here == t ? here + 1 : here;
        if (next != u.end()) precedes.push_back(*next);
      }
    }
    add_row(after, follows);
    add_row(before, precedes);
  }
}

}  // namespace tidemark::plan
