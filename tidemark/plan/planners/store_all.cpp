// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/plan/finish.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Which pairs of the list, run once, can be used: the read has its last use there and the write its first, and neither is anywhere else.
class Pairs {
 public:
  explicit Pairs(const Problem& problem)
      : p_(problem), first_(problem.buffers.size(), -1), last_(problem.buffers.size(), -1) {
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      const Task& task = p_.tasks[t];
      if (task.optional) continue;
      for (const auto* list : {&task.reads, &task.writes}) {
        for (const BufferId b : *list) {
          if (first_[at(b)] < 0) first_[at(b)] = static_cast<TaskId>(t);
          last_[at(b)] = static_cast<TaskId>(t);
        }
      }
    }
    for (const BufferId b : p_.outputs) last_[at(b)] = -1;
  }

  std::vector<std::pair<BufferId, BufferId>> of(TaskId t) const {
    const Task& task = p_.tasks[at(t)];
    std::vector<std::pair<BufferId, BufferId>> used;
    for (const auto& [read, write] : task.in_place) {
      const auto taken = [read = read, write = write](const auto& pair) {
        return pair.first == read || pair.second == write;
      };
      const auto times = [](const std::vector<BufferId>& list, BufferId b) {
        return std::count(list.begin(), list.end(), b);
      };
      if (moves(read) || moves(write) || last_[at(read)] != t || first_[at(write)] != t ||
          p_.size(write) > p_.size(read))
        continue;
      if (times(task.reads, read) != 1 || times(task.reads, write) + times(task.writes, read) > 0 ||
          times(task.writes, write) == 0)
        continue;
      if (std::none_of(used.begin(), used.end(), taken)) used.emplace_back(read, write);
    }
    return used;
  }

 private:
  bool moves(BufferId b) const {
    const Buffer& buffer = p_.buffers[at(b)];
    return buffer.resident || buffer.start >= 0 || buffer.end >= 0;
  }

  const Problem& p_;
  std::vector<TaskId> first_, last_;  // by buffer: the tasks that use it; last: -1 for an output
};

}  // namespace

Plan store_all(const Problem& problem, const Options& options) {
  const Pairs pairs(problem);
  std::vector<Step> runs;
  runs.reserve(problem.tasks.size());
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (problem.tasks[t].optional) continue;
    runs.push_back({Step::Kind::run, static_cast<TaskId>(t), -1, {}});
    if (options.in_place) runs.back().in_place = pairs.of(static_cast<TaskId>(t));
  }
  return finish(problem, std::move(runs), options);
}

}  // namespace tidemark::plan::named
