// Binding: what the tasks and buffers of a Problem are in the Graph it was posed from, with the kernel of
// each task. pose makes it beside the Problem; lower reads both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/kernel.h"
#include "tidemark/plan/problem.h"

namespace tidemark {

// What a kernel is given: a buffer from an offset on (views).
struct BufferPart {
  plan::BufferId buffer = -1;
  Bytes offset = 0;
};
struct TaskOperands {
  std::vector<BufferPart> in, out;
};

struct Binding {
  Graph graph;
  std::vector<std::int32_t> node_of_task;  // -1: of no node alone (a codec, a factor, a gate)
  std::vector<std::shared_ptr<const Kernel>> kernel_of_task;
  std::vector<TaskOperands> operands_of_task;
  std::vector<plan::BufferId> buffer_of_value;  // views have their root's; -1: never in memory
  std::vector<ValueId> value_of_buffer;         // the first version
};

}  // namespace tidemark
