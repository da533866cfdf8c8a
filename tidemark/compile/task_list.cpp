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

void permute_tasks(Posed& posed, const std::vector<plan::TaskId>& order) {
  plan::Problem& problem = posed.problem;
  Binding& binding = posed.binding;
  TIDEMARK_CHECK(order.size() == problem.tasks.size(), "{} of {} tasks in order", order.size(),
                 problem.tasks.size());
  std::vector<plan::Task> tasks;
  Binding rest;
  std::vector<plan::TaskId> place(order.size());
  for (const plan::TaskId id : order) {
    const auto t = static_cast<std::size_t>(id);
    place[t] = static_cast<plan::TaskId>(tasks.size());
    tasks.push_back(std::move(problem.tasks[t]));
    rest.node_of_task.push_back(binding.node_of_task[t]);
    rest.kernel_of_task.push_back(std::move(binding.kernel_of_task[t]));
    rest.operands_of_task.push_back(std::move(binding.operands_of_task[t]));
  }
  for (plan::Task& task : tasks) {
    if (task.instead_of >= 0) task.instead_of = place[static_cast<std::size_t>(task.instead_of)];
  }
  for (Maker& maker : posed.makers) {
    for (auto* list : {&maker.run, &maker.instead}) {
      for (plan::TaskId& t : *list) t = place[static_cast<std::size_t>(t)];
    }
  }
  problem.tasks = std::move(tasks);
  binding.node_of_task = std::move(rest.node_of_task);
  binding.kernel_of_task = std::move(rest.kernel_of_task);
  binding.operands_of_task = std::move(rest.operands_of_task);
}

namespace {

// What tasks that have to wait read and write: later ones that touch it wait too.
class Sorting {
 public:
  explicit Sorting(const plan::Problem& problem)
      : problem_(problem),
        made_(problem.buffers.size()),
        held_read_(problem.buffers.size()),
        held_write_(problem.buffers.size()) {
    for (std::size_t b = 0; b < made_.size(); ++b)
      made_[b] = problem.buffers[b].resident || problem.buffers[b].start >= 0;
  }

  std::vector<plan::TaskId> order() {
    for (plan::TaskId t = 0; t < static_cast<plan::TaskId>(problem_.tasks.size()); ++t) {
      if (must_wait(t))
        hold(t);
      else
        place(t);
    }
    for (const plan::TaskId t : held_) {
      TIDEMARK_CHECK(task(t).optional, "task {} waits for itself", t);
      order_.push_back(t);
    }
    return std::move(order_);
  }

 private:
  const plan::Task& task(plan::TaskId t) const { return problem_.tasks[static_cast<std::size_t>(t)]; }
  static std::size_t at(plan::BufferId b) { return static_cast<std::size_t>(b); }

  bool must_wait(plan::TaskId t) const {
    const auto read = [&](plan::BufferId b) { return !made_[at(b)] || held_write_[at(b)]; };
    const auto written = [&](plan::BufferId b) { return held_write_[at(b)] || held_read_[at(b)]; };
    return std::any_of(task(t).reads.begin(), task(t).reads.end(), read) ||
           std::any_of(task(t).writes.begin(), task(t).writes.end(), written);
  }
  void hold(plan::TaskId t) {
    held_.push_back(t);
    // What is missing is no reason for its maker to wait.
    for (const plan::BufferId b : task(t).reads) held_read_[at(b)] = made_[at(b)];
    for (const plan::BufferId b : task(t).writes) held_write_[at(b)] = 1;
  }
  void place(plan::TaskId t) {
    order_.push_back(t);
    bool awaited = false;
    for (const plan::BufferId b : task(t).writes) {
      awaited |= !made_[at(b)];
      made_[at(b)] = 1;
    }
    if (!awaited || held_.empty()) return;
    std::vector<plan::TaskId> again;
    again.swap(held_);
    std::fill(held_read_.begin(), held_read_.end(), 0);
    std::fill(held_write_.begin(), held_write_.end(), 0);
    for (const plan::TaskId h : again) {
      if (must_wait(h)) {
        hold(h);
      } else {
        order_.push_back(h);
        for (const plan::BufferId b : task(h).writes) made_[at(b)] = 1;
      }
    }
  }

  const plan::Problem& problem_;
  std::vector<char> made_, held_read_, held_write_;
  std::vector<plan::TaskId> held_, order_;
};

}  // namespace

void sort_tasks(Posed& posed) { permute_tasks(posed, Sorting(posed.problem).order()); }

void check_times(const plan::Problem& problem) {
  constexpr double kMost = 1e30;  // docs/format.md
  for (const plan::Task& task : problem.tasks) {
    if (task.seconds >= 0 && task.seconds <= kMost) continue;
    fail(Error::Kind::usage,
         "[profile] by the profile of '{}' a task takes {} s vs a time from 0 to {:g} ('{}', {}); measure it "
         "anew with tidemark profile",
         problem.device, task.seconds, kMost, task.name, task.kind);
  }
}

}  // namespace tidemark
