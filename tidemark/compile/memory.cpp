// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tidemark/compile/storage_facts.h"

namespace tidemark {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// What parts of the graph are for: a value is wanted by the loss (a scalar result; every result where there is none), by
// other results, or by updates alone.
struct Purpose {
  std::vector<char> for_loss, beyond_updates;  // by value

  explicit Purpose(const Graph& g) : for_loss(g.values.size(), 0), beyond_updates(g.values.size(), 0) {
    std::vector<char> is_update(g.outputs.size(), 0);
    for (const auto& [in, out] : g.updates) is_update[at(out)] = 1;
    bool scalar = false;
    for (std::size_t o = 0; o < g.outputs.size(); ++o)
      scalar = scalar || (!is_update[o] && g.type(g.outputs[o]).shape.numel() == 1);
    for (std::size_t o = 0; o < g.outputs.size(); ++o) {
      if (is_update[o]) continue;
      beyond_updates[at(g.outputs[o])] = 1;
      if (!scalar || g.type(g.outputs[o]).shape.numel() == 1) for_loss[at(g.outputs[o])] = 1;
    }
    for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
      const auto any = [&](const std::vector<char>& set) {
        return std::any_of(n->out.begin(), n->out.end(), [&](ValueId v) { return set[at(v)] != 0; });
      };
      const bool loss = any(for_loss), beyond = any(beyond_updates);
      for (const ValueId v : n->in) {
        if (loss) for_loss[at(v)] = for_loss[at(root_of(g, v))] = 1;
        if (beyond) beyond_updates[at(v)] = beyond_updates[at(root_of(g, v))] = 1;
      }
    }
  }
};

}  // namespace

const char* name_of(Role role) {
  constexpr const char* names[] = {
      "parameters",    "optimizer and other state", "inputs", "outputs", "activations", "gradients",
      "packed weights"};
  return names[static_cast<std::size_t>(role)];
}

std::vector<Role> roles(const Posed& posed) {
  const Graph& g = posed.binding.graph;
  const Purpose purpose(g);
  // A parameter is read by what the loss is made from; other state by updates alone.
  std::vector<Role> role(posed.problem.buffers.size(), Role::gradient);
  std::vector<char> updated(g.inputs.size(), 0), read_by_loss(g.values.size(), 0);
  for (const auto& [in, out] : g.updates) updated[at(in)] = 1;
  // What a kernel on the way to the loss gives beside, for the backward pass alone, is an activation too.
  std::vector<char> made_for_loss = purpose.for_loss;
  for (const Node& n : g.nodes) {
    const bool loss =
        std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return purpose.for_loss[at(v)] != 0; });
    if (!loss) continue;
    for (const ValueId v : n.in) read_by_loss[at(root_of(g, v))] = 1;
    for (const ValueId v : n.out) made_for_loss[at(v)] = 1;
  }
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    const plan::BufferId b = posed.binding.buffer_of_value[v];
    if (b < 0 || g.values[v].alias_of >= 0) continue;
    if (made_for_loss[v]) role[at(b)] = Role::activation;
    if (!g.values[v].layout.blocked.empty()) role[at(b)] = Role::packed_weight;
  }
  // Codes, masks and factors are kept in the place of activations.
  for (const Maker& m : posed.makers) {
    for (const plan::TaskId t : m.run) {
      for (const plan::BufferId b : posed.problem.tasks[at(t)].writes) {
        if (posed.binding.value_of_buffer[at(b)] < 0) role[at(b)] = Role::activation;
      }
    }
  }
  for (const plan::BufferId b : posed.problem.outputs) role[at(b)] = Role::output;
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const plan::BufferId b = posed.binding.buffer_of_value[at(g.inputs[i])];
    if (b >= 0)
      role[at(b)] = !updated[i]                     ? Role::input
                    : read_by_loss[at(g.inputs[i])] ? Role::parameter
                                                    : Role::other_state;
  }
  return role;
}

std::vector<MemoryRow> memory_rows(const Posed& posed, const plan::Plan& plan) {
  const plan::Problem& problem = posed.problem;
  const std::vector<Role> role = roles(posed);
  const std::int32_t peak_step = plan::replay(problem, plan).peak_step;
  // Who is live when the fullest step has begun, and whether it was there before: by its value, for a pin gives one two buffers.
  enum class State : std::uint8_t { absent, first, again, fetched };
  std::vector<State> state(problem.buffers.size(), State::absent);
  std::vector<char> made(problem.buffers.size(), 0), leaving(problem.buffers.size(), 0);
  const auto first_of = [&](plan::BufferId b) {
    const ValueId v = posed.binding.value_of_buffer[at(b)];
    return v < 0 ? b : posed.binding.buffer_of_value[at(v)];
  };
  std::vector<plan::BufferId> in_place_of(problem.buffers.size(), -1);  // what the fullest step writes over
  Bytes workspace = 0;
  for (std::int32_t s = 0; s <= peak_step && at(s) < plan.steps.size(); ++s) {
    const plan::Step& step = plan.steps[at(s)];
    if (step.kind == plan::Step::Kind::drop) state[at(step.id)] = State::absent;
    if (step.kind == plan::Step::Kind::fetch) state[at(step.id)] = State::fetched;
    // Copied out, a buffer goes when the copy is there.
    if (step.kind == plan::Step::Kind::evict) leaving[at(step.id)] = 1;
    if (step.kind == plan::Step::Kind::wait && std::exchange(leaving[at(step.id)], 0) != 0)
      state[at(step.id)] = State::absent;
    if (step.kind != plan::Step::Kind::run) continue;
    const plan::Task& task = problem.tasks[at(step.id)];
    for (const plan::BufferId b : task.writes) {
      const bool again = std::exchange(made[at(first_of(b))], 1) != 0;
      if (!problem.buffers[at(b)].resident && state[at(b)] == State::absent)
        state[at(b)] = again ? State::again : State::first;
    }
    if (s == peak_step) {
      workspace = round_up(task.workspace, problem.align);
      for (const auto& [from, to] : step.in_place) in_place_of[at(to)] = from;
    } else {
      for (const auto& [from, to] : step.in_place) state[at(from)] = State::absent;
    }
  }
  std::array<Bytes, 7> by_role{};
  Bytes again = 0, fetched = 0, live = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    Bytes size = problem.size(static_cast<plan::BufferId>(b));
    // The bytes belong to what is read there until the step has ended.
    if (in_place_of[b] >= 0) size -= std::min(size, problem.size(in_place_of[b]));
    const bool resident = problem.buffers[b].resident;
    if (!resident && state[b] == State::absent) continue;
    (state[b] == State::again     ? again
     : state[b] == State::fetched ? fetched
                                  : by_role[static_cast<std::size_t>(role[b])]) += size;
    live += size;
  }
  live += workspace;
  std::vector<MemoryRow> rows;
  const auto row = [&](std::string what, Bytes bytes) { rows.push_back({std::move(what), bytes}); };
  const auto by = [&](Role r) { return by_role[static_cast<std::size_t>(r)]; };
  row("parameters", by(Role::parameter));
  row("gradients", by(Role::gradient));
  row("optimizer and other state", by(Role::other_state));
  row("inputs", by(Role::input));
  row("outputs", by(Role::output));
  row("activations kept", by(Role::activation));
  row("made again", again);
  if (!problem.tiers.empty()) row("fetched from a tier", fetched);
  row("packed weights", by(Role::packed_weight));
  row("workspace", workspace);
  row("between buffers", plan.peak - plan.live_peak);
  row("unexplained", plan.live_peak - live);
  return rows;
}

}  // namespace tidemark
