// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/pins.h"

#include <algorithm>

#include "tidemark/compile/micro_batches.h"
#include "tidemark/compile/task_list.h"
#include "tidemark/ir/passes.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool contains(const std::vector<plan::BufferId>& list, plan::BufferId b) {
  return std::find(list.begin(), list.end(), b) != list.end();
}

// The only task that makes the buffer; -1: none (an argument), or it is updated.
plan::TaskId maker_of(const plan::Problem& problem, plan::BufferId b) {
  plan::TaskId maker = -1;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (problem.tasks[t].optional || !contains(problem.tasks[t].writes, b)) continue;
    if (maker >= 0 || contains(problem.tasks[t].reads, b)) return -1;
    maker = static_cast<plan::TaskId>(t);
  }
  return maker;
}

// Readers behind the longest stretch of work in which nobody uses the buffer.
std::vector<plan::TaskId> late_readers(const plan::Problem& problem, plan::BufferId b, plan::TaskId maker) {
  std::vector<plan::TaskId> readers;
  double passed = 0, longest = 0;
  std::size_t first = 0;
  for (std::size_t t = at(maker) + 1; t < problem.tasks.size(); ++t) {
    if (problem.tasks[t].optional) continue;
    if (contains(problem.tasks[t].reads, b)) {
      if (passed > longest && !readers.empty()) longest = passed, first = readers.size();
      readers.push_back(static_cast<plan::TaskId>(t));
      passed = 0;
    } else {
      passed += problem.tasks[t].seconds;
    }
  }
  if (first == 0) return {};
  return {readers.begin() + static_cast<std::ptrdiff_t>(first), readers.end()};
}

// The first task behind `maker` that updates something it reads: from there on it would make another value.
plan::TaskId next_update(const plan::Problem& problem, plan::TaskId maker) {
  const Updates updates(problem);
  auto first = static_cast<plan::TaskId>(problem.tasks.size());
  for (const plan::BufferId b : problem.tasks[at(maker)].reads)
    first = std::min(first, updates.next(b, maker + 1));
  return first;
}

// The last task in front of `end` that makes or reads the buffer.
plan::TaskId last_use_before(const plan::Problem& problem, plan::BufferId b, plan::TaskId end) {
  plan::TaskId t = end - 1;
  while (!contains(problem.tasks[at(t)].reads, b) && !contains(problem.tasks[at(t)].writes, b)) --t;
  return t;
}

// A second buffer of the same contents, made again by a task of its own in front of `before`. What else the task makes is made into
// buffers that nobody reads.
void recompute_for(Posed& posed, plan::BufferId b, plan::TaskId maker, plan::TaskId before,
                   const std::vector<plan::TaskId>& readers) {
  plan::Problem& problem = posed.problem;
  std::vector<std::pair<plan::BufferId, plan::BufferId>> copies;
  plan::Task again = problem.tasks[at(maker)];
  TaskOperands operands = posed.binding.operands_of_task[at(maker)];
  for (plan::BufferId& w : again.writes) {
    const auto copy = static_cast<plan::BufferId>(problem.buffers.size());
    plan::Buffer buffer = problem.buffers[at(w)];
    buffer.name += "'";
    problem.buffers.push_back(std::move(buffer));
    posed.binding.value_of_buffer.push_back(posed.binding.value_of_buffer[at(w)]);
    copies.emplace_back(w, copy);
    w = copy;
  }
  const auto renamed = [&](plan::BufferId old) {
    for (const auto& [from, to] : copies) {
      if (from == old) return to;
    }
    return old;
  };
  for (BufferPart& part : operands.out) part.buffer = renamed(part.buffer);
  for (auto& [from, to] : again.in_place) to = renamed(to);
  const plan::BufferId copy = renamed(b);
  for (const plan::TaskId r : readers) {
    plan::Task& reader = problem.tasks[at(r)];
    std::replace(reader.reads.begin(), reader.reads.end(), b, copy);
    for (auto& pair : reader.in_place) {
      if (pair.first == b) pair.first = copy;
    }
    for (BufferPart& part : posed.binding.operands_of_task[at(r)].in) {
      if (part.buffer == b) part.buffer = copy;
    }
  }
  again.name += "'";
  std::vector<NewTask> added;
  added.push_back({.before = before,
                   .task = std::move(again),
                   .kernel = posed.binding.kernel_of_task[at(maker)],
                   .operands = std::move(operands),
                   .node = posed.binding.node_of_task[at(maker)]});
  insert_tasks(posed, std::move(added));
}

std::string why_once(const Posed& posed, plan::TaskId maker) {
  const std::int32_t n = posed.binding.node_of_task[at(maker)];
  if (n >= 0 && !repeatable(posed.binding.graph.nodes[at(n)]))
    return fmt::format("what makes it, {}, may not run again", posed.problem.tasks[at(maker)].kind);
  return "its task runs once";
}

void pin_down(Posed& posed, const Pin& pin, plan::BufferId b) {
  const std::string name = posed.problem.buffers[at(b)].name;
  const plan::TaskId maker = maker_of(posed.problem, b);
  const bool exact = pin.pattern.find_first_of("*?") == std::string::npos;
  if (pin.what == keep) {
    if (maker >= 0) posed.problem.tasks[at(maker)].once = true;
    return;
  }
  if (maker < 0 || posed.problem.tasks[at(maker)].once) {
    // A pattern may reach over arguments and kept values; a name says exactly this one.
    if (!exact) return;
    fail(Error::Kind::usage, "[pins] '{}' cannot be recomputed: {}", name,
         maker < 0 ? "it is an argument or is updated in place" : why_once(posed, maker));
  }
  const std::vector<plan::TaskId> readers = late_readers(posed.problem, b, maker);
  // An output is wanted as it is at the end.
  const bool output = contains(posed.problem.outputs, b);
  if (exact && output)
    fail(Error::Kind::usage, "[pins] '{}' cannot be recomputed: it is a result, and kept as such", name);
  if (output || readers.empty()) return;
  const plan::TaskId before = std::min(readers.front(), next_update(posed.problem, maker));
  const plan::TaskId last = last_use_before(posed.problem, b, readers.front());
  if (before > last + 1) {
    recompute_for(posed, b, maker, before, readers);
  } else if (exact) {
    fail(Error::Kind::usage,
         "[pins] '{}' cannot be recomputed: what it is made from is updated before it is read again", name);
  }
}

void refuse_idle(const plan::Problem& problem, const std::vector<Pin>& pins,
                 const std::vector<std::vector<plan::BufferId>>& decided) {
  for (std::size_t p = 0; p < pins.size(); ++p) {
    if (!decided[p].empty()) continue;
    std::size_t by = pins.size();
    bool any = false;
    for (std::size_t before = 0; before < p && by == pins.size(); ++before) {
      for (const plan::BufferId b : decided[before]) {
        if (!names(pins[p].pattern, problem.buffers[at(b)].name)) continue;
        any = true;
        if (pins[before].what != pins[p].what) by = before;
      }
    }
    if (!any)
      fail(Error::Kind::usage,
           "[pins] no stored value is called '{}'; what is fused into its reader is never stored",
           pins[p].pattern);
    if (by < pins.size())
      fail(Error::Kind::usage,
           "[pins] {} decides nothing: {} before it has what it names, and the first that matches counts; "
           "remove one of them",
           to_string(pins[p]), to_string(pins[by]));
  }
}

}  // namespace

std::string to_string(const Pin& pin) {
  return fmt::format("{{\"{}\", {}}}", pin.pattern, pin.what == keep ? "keep" : "recompute");
}

std::vector<std::vector<plan::BufferId>> pinned_buffers(const plan::Problem& problem,
                                                        const std::vector<Pin>& pins) {
  std::vector<std::vector<plan::BufferId>> decided(pins.size());
  for (plan::BufferId b = 0; at(b) < problem.buffers.size(); ++b) {
    for (std::size_t p = 0; p < pins.size(); ++p) {
      if (!names(pins[p].pattern, problem.buffers[at(b)].name)) continue;
      decided[p].push_back(b);
      break;
    }
  }
  return decided;
}

void apply_pins(Posed& posed, const std::vector<Pin>& pins) {
  const auto decided = pinned_buffers(posed.problem, pins);
  refuse_idle(posed.problem, pins, decided);
  for (std::size_t p = 0; p < pins.size(); ++p) {
    for (const plan::BufferId b : decided[p]) pin_down(posed, pins[p], b);
  }
}

}  // namespace tidemark
