// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/task_list.h"

#include <algorithm>
#include <numeric>

namespace tidemark {

Updates::Updates(const plan::Problem& problem)
    : of_(problem.buffers.size()), end_(static_cast<plan::TaskId>(problem.tasks.size())) {
  for (plan::TaskId t = 0; t < end_; ++t) {
    const plan::Task& task = problem.tasks[static_cast<std::size_t>(t)];
    if (task.optional) continue;
    for (const plan::BufferId b : task.writes) {
      if (updates(task, b)) of_[static_cast<std::size_t>(b)].push_back(t);
    }
  }
}

plan::TaskId Updates::next(plan::BufferId b, plan::TaskId t) const {
  const auto& list = of_[static_cast<std::size_t>(b)];
  const auto found = std::lower_bound(list.begin(), list.end(), t);
  return found == list.end() ? end_ : *found;
}

Moved insert_tasks(Posed& posed, std::vector<NewTask> added) {
  plan::Problem& problem = posed.problem;
  Binding& binding = posed.binding;
  std::vector<std::size_t> order(added.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return added[a].before < added[b].before; });
  Moved moved;
  moved.place.resize(problem.tasks.size());
  moved.added_at.resize(added.size());
  std::vector<plan::Task> tasks;
  Binding rest;
  std::size_t next = 0;
  for (std::size_t t = 0; t <= problem.tasks.size(); ++t) {
    for (; next < order.size() &&
           (t == problem.tasks.size() || added[order[next]].before <= static_cast<plan::TaskId>(t));
         ++next) {
      NewTask& task = added[order[next]];
      moved.added_at[order[next]] = static_cast<plan::TaskId>(tasks.size());
      tasks.push_back(std::move(task.task));
      rest.node_of_task.push_back(task.node);
      rest.kernel_of_task.push_back(std::move(task.kernel));
      rest.operands_of_task.push_back(std::move(task.operands));
    }
    if (t == problem.tasks.size()) break;
    moved.place[t] = static_cast<plan::TaskId>(tasks.size());
    tasks.push_back(std::move(problem.tasks[t]));
    rest.node_of_task.push_back(binding.node_of_task[t]);
    rest.kernel_of_task.push_back(std::move(binding.kernel_of_task[t]));
    rest.operands_of_task.push_back(std::move(binding.operands_of_task[t]));
  }
  for (plan::Task& task : tasks) {
    if (task.instead_of >= 0) task.instead_of = moved.place[static_cast<std::size_t>(task.instead_of)];
  }
  problem.tasks = std::move(tasks);
  binding.node_of_task = std::move(rest.node_of_task);
  binding.kernel_of_task = std::move(rest.kernel_of_task);
  binding.operands_of_task = std::move(rest.operands_of_task);
  return moved;
}

}  // namespace tidemark
