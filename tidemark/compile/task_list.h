// Adding tasks to a posed Problem, with their kernels and operands: ids are places in the list, so that all move together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/pose.h"

namespace tidemark {

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

}  // namespace tidemark
