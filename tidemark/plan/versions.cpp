// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/versions.h"

#include <fmt/format.h>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Versions::Versions(const Problem& problem) : current_(problem.buffers.size(), 0) {
  std::vector<bool> updated(problem.buffers.size(), false);
  std::vector<TaskId> read_by(problem.buffers.size(), -1);
  first_update_.push_back(0);
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    for (const BufferId b : problem.tasks[t].reads) read_by[at(b)] = static_cast<TaskId>(t);
    for (const BufferId b : problem.tasks[t].writes) {
      if (read_by[at(b)] != static_cast<TaskId>(t)) continue;
      updates_.push_back(b);
      updated[at(b)] = true;
    }
    first_update_.push_back(updates_.size());
  }

  std::vector<std::int32_t> version(problem.buffers.size(), 0);
  std::vector<std::int32_t> before_update(updates_.size(), 0);  // the version that each update finds
  first_touch_.push_back(0);
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const Task& task = problem.tasks[t];
    for (const auto* list : {&task.reads, &task.writes}) {
      for (const BufferId b : *list) {
        if (updated[at(b)]) touches_.push_back({b, version[at(b)]});
      }
    }
    first_touch_.push_back(touches_.size());
    if (task.optional) continue;
    for (std::size_t u = first_update_[t]; u < first_update_[t + 1]; ++u)
      before_update[u] = version[at(updates_[u])]++;
  }

  // A task that stands in for an update finds the version that the update finds, wherever it stands itself.
  std::vector<TaskId> marked(problem.buffers.size(), -1);
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const TaskId other = problem.tasks[t].instead_of;
    if (other < 0 || first_update_[t] == first_update_[t + 1]) continue;
    for (std::size_t u = first_update_[at(other)]; u < first_update_[at(other) + 1]; ++u) {
      marked[at(updates_[u])] = static_cast<TaskId>(t);
      version[at(updates_[u])] = before_update[u];
    }
    for (std::size_t i = first_touch_[t]; i < first_touch_[t + 1]; ++i) {
      if (marked[at(touches_[i].buffer)] == static_cast<TaskId>(t))
        touches_[i].version = version[at(touches_[i].buffer)];
    }
  }
}

std::span<const BufferId> Versions::updates(TaskId task) const {
  return std::span(updates_).subspan(first_update_[at(task)],
                                     first_update_[at(task) + 1] - first_update_[at(task)]);
}

std::string Versions::run(TaskId task, const Problem& problem) {
  for (std::size_t i = first_touch_[at(task)]; i < first_touch_[at(task) + 1]; ++i) {
    const auto [b, version] = touches_[i];
    if (version == current_[at(b)]) continue;
    return fmt::format(
        "a run reads and makes the version that the list's order gives it: of {} '{}' version {}, but {} is "
        "current",
        b, problem.buffers[at(b)].name, version, current_[at(b)]);
  }
  for (const BufferId b : updates(task)) ++current_[at(b)];
  return {};
}

}  // namespace tidemark::plan
