// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/pose.h"

#include <algorithm>

#include "tidemark/compile/loops.h"
#include "tidemark/compile/storage_facts.h"
#include "tidemark/compile/task_list.h"
#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/loops.h"
#include "tidemark/runtime/profiler.h"

namespace tidemark {
namespace {

// A node that only renames storage: its outputs are views, so nothing runs.
bool is_view(const Graph& g, const Node& n) {
  return !n.out.empty() &&
         std::all_of(n.out.begin(), n.out.end(), [&](ValueId v) { return g.value(v).alias_of >= 0; });
}

// Names are for people's eyes, in errors and reports: no line breaks, no orders to a terminal.
std::string printable(std::string name) {
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name;
}

Bytes storage_bytes(const Value& v) {
  return v.layout.blocked.empty() ? v.type.bytes() : v.layout.blocked_bytes;
}

}  // namespace

Posed pose(Graph graph, const PoseOptions& given) {
  PoseOptions options = given;
  if (!options.regions) options.regions = std::make_shared<RegionCache>();
  Posed posed;
  plan::Problem& problem = posed.problem;
  Binding& binding = posed.binding;
  DeviceProfile otherwise;
  if (options.profile == nullptr) otherwise = cpu_profile(options.threads);
  const DeviceProfile* profile = options.profile != nullptr ? options.profile : &otherwise;
  problem.name = printable(options.name);
  for (Value& v : graph.values) v.name = printable(std::move(v.name));
  problem.device = profile->device;
  problem.align = 64;
  binding.buffer_of_value.assign(graph.values.size(), -1);
  const auto add_buffer = [&](ValueId v, bool resident, const char* kind) {
    const Value& value = graph.value(v);
    binding.buffer_of_value[static_cast<std::size_t>(v)] =
        static_cast<plan::BufferId>(problem.buffers.size());
    binding.value_of_buffer.push_back(v);
    problem.buffers.push_back({.name = value.name.empty() ? fmt::format("%{}", v) : value.name,
                               .bytes = storage_bytes(value),
                               .resident = resident,
                               .kind = kind});
  };
  for (const ValueId v : graph.inputs) add_buffer(v, true, "input");
  for (const auto& [in, out] : graph.updates) {
    binding.buffer_of_value[static_cast<std::size_t>(graph.outputs[static_cast<std::size_t>(out)])] =
        binding.buffer_of_value[static_cast<std::size_t>(graph.inputs[static_cast<std::size_t>(in)])];
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const ValueId v : node.out) {
      if (binding.buffer_of_value[static_cast<std::size_t>(v)] < 0 && graph.value(v).alias_of < 0)
        add_buffer(v, false, "");
    }
    for (const ValueId v : node.out) {
      if (graph.value(v).alias_of >= 0) {
        binding.buffer_of_value[static_cast<std::size_t>(v)] =
            binding.buffer_of_value[static_cast<std::size_t>(root_of(graph, v))];
      }
    }
    if (is_view(graph, node)) continue;

    const KernelSpec spec = spec_of(graph, node, options.threads);
    const bool loop = is_loop(*node.op);
    LoopTask planned = loop ? loop_task(*node.op, spec, options) : LoopTask{};
    std::shared_ptr<const Kernel> kernel = loop ? std::move(planned.kernel) : prepare(*node.op, spec);
    plan::Task task{.name = node.out.empty() ? node.op->name : graph.value(node.out[0]).name,
                    .kind = node.op->name};
    task.seconds = loop ? planned.seconds : estimate(*profile, *node.op, spec).seconds;
    task.workspace = kernel->workspace();
    task.random = node.op->facts.random;
    const auto buffer = [&](ValueId v) { return binding.buffer_of_value[static_cast<std::size_t>(v)]; };
    for (const ValueId v : node.in) {
      if (std::find(task.reads.begin(), task.reads.end(), buffer(v)) == task.reads.end())
        task.reads.push_back(buffer(v));
    }
    for (const ValueId v : node.out) {
      task.writes.push_back(buffer(v));
      // A place of the caller's that is only written (place_updates): the plan sees an update of it.
      const bool resident = problem.buffers[static_cast<std::size_t>(buffer(v))].resident;
      if (resident && std::find(task.reads.begin(), task.reads.end(), buffer(v)) == task.reads.end()) task.reads.push_back(buffer(v));
      if (std::find(task.reads.begin(), task.reads.end(), buffer(v)) != task.reads.end()) task.once = true;
    }
    task.once = task.once || !repeatable(node);
    for (const auto& [i, o] : node.op->facts.in_place) {
      if (i >= static_cast<int>(node.in.size()) || o >= static_cast<int>(node.out.size())) continue;
      const ValueId from = node.in[static_cast<std::size_t>(i)], to = node.out[static_cast<std::size_t>(o)];
      const plan::BufferId b = buffer(from);
      // One argument only may read the storage, and it must be all of it.
      const auto readers =
          std::count_if(node.in.begin(), node.in.end(), [&](ValueId v) { return buffer(v) == b; });
      if (problem.buffers[static_cast<std::size_t>(b)].resident || b == buffer(to) || readers != 1) continue;
      if (problem.buffers[static_cast<std::size_t>(buffer(to))].resident) continue;
      if (covers_alike(graph.value(from), graph.value(to)) &&
          storage_bytes(graph.value(root_of(graph, from))) == storage_bytes(graph.value(to))) {
        task.in_place.emplace_back(b, buffer(to));
      }
    }
    const auto operand = [&](ValueId v) {
      const Value& value = graph.value(v);
      return BufferPart{buffer(v), value.layout.offset * size_of(value.type.dtype)};
    };
    TaskOperands operands;
    for (const ValueId v : node.in) operands.in.push_back(operand(v));
    for (const ValueId v : node.out) operands.out.push_back(operand(v));
    binding.operands_of_task.push_back(std::move(operands));
    problem.tasks.push_back(std::move(task));
    binding.node_of_task.push_back(static_cast<std::int32_t>(n));
    binding.kernel_of_task.push_back(std::move(kernel));
  }
  for (const ValueId v : graph.outputs) {
    const plan::BufferId b = binding.buffer_of_value[static_cast<std::size_t>(v)];
    if (std::find(problem.outputs.begin(), problem.outputs.end(), b) == problem.outputs.end())
      problem.outputs.push_back(b);
  }
  binding.graph = std::move(graph);
  check_times(problem);
  return posed;
}

}  // namespace tidemark
