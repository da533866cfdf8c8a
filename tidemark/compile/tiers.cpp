// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/tiers.h"

#include <algorithm>
#include <functional>

#include "tidemark/base/text.h"
#include "tidemark/compile/loops.h"
#include "tidemark/compile/makers.h"
#include "tidemark/compile/task_list.h"
#include "tidemark/ir/passes.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool contains(const std::vector<plan::BufferId>& list, plan::BufferId b) {
  return std::find(list.begin(), list.end(), b) != list.end();
}

const Node& node_of(const Posed& posed, plan::TaskId task) {
  static const Node none;
  const std::int32_t n = posed.binding.node_of_task[at(task)];
  return n < 0 ? none : posed.binding.graph.nodes[at(n)];
}

// Not even in a step that starts over: updates, effects, and what gives other bits each time.
bool only_once(const Posed& posed, std::size_t task) {
  const std::int32_t n = posed.binding.node_of_task[task];
  return updates(posed.problem.tasks[task]) || (n >= 0 && !repeatable(posed.binding.graph.nodes[at(n)]));
}

// Whether each task is `first` or reads something that such a one made; the list is a valid order.
std::vector<char> tasks_behind(const plan::Problem& problem, const std::function<bool(std::size_t)>& first,
                               std::vector<char>& late) {
  std::vector<char> behind(problem.tasks.size(), 0);
  late.assign(problem.buffers.size(), 0);
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const plan::Task& task = problem.tasks[t];
    behind[t] = first(t) || std::any_of(task.reads.begin(), task.reads.end(),
                                        [&](plan::BufferId b) { return late[at(b)]; });
    if (!behind[t]) continue;
    for (const plan::BufferId b : task.writes) late[at(b)] = 1;
  }
  return behind;
}

template <typename Which>
void leave_makers(Posed& posed, Which which) {
  std::erase_if(posed.makers, [&](const Maker& m) {
    if (!which(m)) return false;
    forbid(posed.problem, m);
    return true;
  });
}

}  // namespace

void leave_overflowing(Posed& posed) {
  leave_makers(posed, [](const Maker& m) { return m.can_overflow; });
}

void leave_overflowing_behind(Posed& posed) {
  std::vector<char> late;
  const std::vector<char> behind = tasks_behind(
      posed.problem, [&](std::size_t t) { return only_once(posed, t); }, late);
  leave_makers(posed, [&](const Maker& m) { return m.can_overflow && behind[at(m.run.front())]; });
}

void add_tiers(Posed& posed, std::span<const TierSpec> tiers) {
  plan::Problem& problem = posed.problem;
  for (const TierSpec& spec : tiers) {
    const auto id = static_cast<plan::TierId>(problem.tiers.size());
    for (const plan::Tier& other : problem.tiers) {
      if (other.name == spec.name)
        fail(Error::Kind::usage, "[tiers] two are called '{}'; give one another name", spec.name);
    }
    problem.tiers.push_back({spec.name, spec.write_bytes_per_second, spec.read_bytes_per_second,
                             spec.latency_seconds, spec.bytes});
    Bytes held = 0;
    for (const std::string& pattern : spec.holds) {
      bool any = false;
      for (const ValueId v : posed.binding.graph.inputs) {
        const plan::BufferId b = posed.binding.buffer_of_value[at(v)];
        plan::Buffer& buffer = problem.buffers[at(b)];
        if (!glob_match(pattern, buffer.name)) continue;
        any = true;
        if (buffer.start >= 0) continue;
        buffer.resident = false;
        buffer.start = buffer.end = id;
        held += problem.size(b);
        problem.outputs.erase(std::remove(problem.outputs.begin(), problem.outputs.end(), b),
                              problem.outputs.end());
      }
      if (!any)
        fail(Error::Kind::usage, "[tiers] '{}' is to hold '{}', but no argument is called so", spec.name,
             pattern);
    }
    if (held > spec.bytes)
      fail(Error::Kind::infeasible,
           "[tiers] '{}' is to hold {} vs a capacity of {}; give it more, or less to hold", spec.name,
           format_bytes(held, spec.bytes), format_bytes(spec.bytes, held));
  }
}

std::string broken_atomicity(const Posed& posed, const plan::Plan& plan, std::span<const TierSpec> tiers,
                             bool copies) {
  const plan::Problem& problem = posed.problem;
  const std::string *updated = nullptr, *once = nullptr;
  std::vector<char> may_fail(problem.buffers.size(), 0);  // its copy under way
  for (const plan::Step& step : plan.steps) {
    switch (step.kind) {
      case plan::Step::Kind::run: {
        const plan::Task& task = problem.tasks[at(step.id)];
        const Kernel* kernel = posed.binding.kernel_of_task[at(step.id)].get();
        if (kernel->can_overflow() && once != nullptr)
          return fmt::format("'{}' can overflow behind '{}', which may not run twice", task.name, *once);
        if (copies && updated != nullptr && copies_can_fail(node_of(posed, step.id), tiers))
          return fmt::format("a copy of a state of '{}' can fail behind the update of '{}'", task.name,
                             *updated);
        if (updates(task) && updated == nullptr) updated = &task.name;
        if (only_once(posed, at(step.id)) && once == nullptr) once = &task.name;
        break;
      }
      case plan::Step::Kind::evict:
      case plan::Step::Kind::fetch:
        // What the caller keeps there has its room in the file already, and of nothing nothing is copied.
        may_fail[at(step.id)] = copies && tiers[at(step.tier)].can_fail() &&
                                problem.buffers[at(step.id)].start != step.tier &&
                                problem.buffers[at(step.id)].bytes > 0;
        break;
      case plan::Step::Kind::wait:
        if (may_fail[at(step.id)] && updated != nullptr)
          return fmt::format("a copy of '{}' can fail behind the update of '{}'",
                             problem.buffers[at(step.id)].name, *updated);
        may_fail[at(step.id)] = 0;
        break;
      default:
        break;
    }
  }
  return {};
}

void gate_updates(Posed& posed) {
  plan::Problem& problem = posed.problem;
  if (std::any_of(problem.tasks.begin(), problem.tasks.end(),
                  [](const plan::Task& t) { return t.kind == "gate"; }))
    return;
  const bool overflow =
      std::any_of(posed.makers.begin(), posed.makers.end(), [](const Maker& m) { return m.can_overflow; });
  const auto waits = [&](std::size_t t) {
    return overflow ? only_once(posed, t) : updates(problem.tasks[t]);
  };
  std::vector<char> late;
  const std::vector<char> behind = tasks_behind(problem, waits, late);
  if (std::none_of(behind.begin(), behind.end(), [](char b) { return b; })) return;
  plan::Task gate{.name = "gate", .kind = "gate"};
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (!behind[t] || problem.tasks[t].optional) continue;
    for (const plan::BufferId b : problem.tasks[t].reads) {
      const plan::Buffer& buffer = problem.buffers[at(b)];
      if (!buffer.resident && buffer.start < 0 && !late[at(b)] && !contains(gate.reads, b))
        gate.reads.push_back(b);
    }
  }
  // An effect may read little: it waits for all that does not depend on it, which is kept to the end anyway.
  for (const plan::BufferId b : problem.outputs) {
    const plan::Buffer& buffer = problem.buffers[at(b)];
    if (overflow && !buffer.resident && buffer.start < 0 && !late[at(b)] && !contains(gate.reads, b))
      gate.reads.push_back(b);
  }
  std::vector<char> waiting(problem.tasks.size());
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) waiting[t] = waits(t);
  const auto token = static_cast<plan::BufferId>(problem.buffers.size());
  problem.buffers.push_back({.name = "gate", .bytes = 1, .kind = "gate"});
  posed.binding.value_of_buffer.push_back(-1);
  gate.writes.push_back(token);
  gate.once = true;
  // The others first, in their order; then the gate; then what waits for it.
  std::vector<plan::TaskId> order;
  for (std::size_t t = 0; t < behind.size(); ++t) {
    if (waiting[t]) problem.tasks[t].reads.push_back(token);
    if (!behind[t]) order.push_back(static_cast<plan::TaskId>(t));
  }
  order.push_back(static_cast<plan::TaskId>(behind.size()));
  for (std::size_t t = 0; t < behind.size(); ++t) {
    if (behind[t]) order.push_back(static_cast<plan::TaskId>(t));
  }
  std::vector<NewTask> added;
  added.push_back({.before = static_cast<plan::TaskId>(behind.size()),
                   .task = std::move(gate),
                   .kernel = make_kernel(0, [](const Operands&) {})});
  insert_tasks(posed, std::move(added));
  permute_tasks(posed, order);
}

}  // namespace tidemark
