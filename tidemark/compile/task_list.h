// The list of a posed Problem: which tasks update a buffer next, and adding tasks with their kernels and operands. Ids are places in the list, so
// that all move together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/pose.h"

namespace tidemark {

// The updates of each buffer by tasks that have to run. What is made from a buffer is another value behind the next of them.
class Updates {
 public:
  explicit Updates(const plan::Problem& problem);
  bool any(plan::BufferId b) const { return !of_[static_cast<std::size_t>(b)].empty(); }
  // The first from `t` on; behind the last task where there is none.
  plan::TaskId next(plan::BufferId b, plan::TaskId t) const;

 private:
  std::vector<std::vector<plan::TaskId>> of_;
  plan::TaskId end_;
};

struct NewTask {
  plan::TaskId before = -1;  // the task it stands in front of; those in front of one keep their order
  plan::Task task;           // `instead_of` by the ids before the insertion
  std::shared_ptr<const Kernel> kernel;
  TaskOperands operands;
  std::int32_t node = -1;
};

// The new place of each old task; `added_at` of each new one.
struct Moved {
  std::vector<plan::TaskId> place, added_at;
};
Moved insert_tasks(Posed& posed, std::vector<NewTask> added);

// The tasks in another order: `order` has each id once. Makers follow.
void permute_tasks(Posed& posed, const std::vector<plan::TaskId>& order);
// Their order, but for tasks that read what only a later one makes: they come behind it, and what has to come behind them does.
void sort_tasks(Posed& posed);

// Throws Error(usage) where the profile gives a task what is no time.
void check_times(const plan::Problem& problem);

}  // namespace tidemark
