// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners/chain_shape.h"

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// The chain of the first `n` tasks, if the others can be told apart by the step whose values they need.
std::optional<ChainShape> shape_of(const Outline& o, std::size_t n) {
  const Problem& p = *o.problem;
  ChainShape c;
  c.value = {-1};
  c.back.resize(n);
  c.needs_in.assign(n, 0);
  c.needs_out.assign(n, 0);
  std::vector<std::int32_t> index(p.buffers.size(), -1);
  for (std::size_t i = 0; i < n; ++i) {
    c.forward.push_back(o.order[i]);
    for (const BufferId b : p.tasks[at(o.order[i])].writes)
      if (!p.buffers[at(b)].resident) c.value.push_back(b), index[at(b)] = static_cast<std::int32_t>(i) + 1;
  }
  auto step = static_cast<std::int32_t>(n) - 1;
  for (std::size_t i = n; i < o.order.size(); ++i) {
    const Task& task = p.tasks[at(o.order[i])];
    std::int32_t lowest = -1, highest = -1;
    for (const BufferId b : task.writes)
      if (index[at(b)] >= 0) return std::nullopt;
    for (const BufferId b : task.reads) {
      if (index[at(b)] < 0) continue;
      lowest = lowest < 0 ? index[at(b)] : std::min(lowest, index[at(b)]);
      highest = std::max(highest, index[at(b)]);
    }
    if (highest >= 0) {
      step = std::min(step, std::max(0, highest - 1));
      if (lowest < step || highest > step + 1) return std::nullopt;
      if (lowest == step) c.needs_in[at(step)] = 1;
      if (highest == step + 1) c.needs_out[at(step)] = 1;
    }
    c.back[at(step)].push_back(o.order[i]);
  }
  return c;
}

}  // namespace

std::optional<ChainShape> find_chain(const Outline& o, std::string& against) {
  const Problem& p = *o.problem;
  // As far as each task reads only what the one before it made, and makes one value.
  std::size_t longest = 0;
  against = "no task";
  for (; longest < o.order.size(); ++longest) {
    const Task& task = p.tasks[at(o.order[longest])];
    std::size_t made_reads = 0, writes = 0;
    bool previous = true;
    for (const BufferId b : task.reads) {
      if (p.buffers[at(b)].resident) continue;
      ++made_reads;
      previous = previous && longest > 0 && o.maker[at(b)] == o.order[longest - 1];
    }
    for (const BufferId b : task.writes) writes += !p.buffers[at(b)].resident;
    if (made_reads <= 1 && previous && writes == 1 && o.repeatable[at(o.order[longest])] &&
        (longest == 0) == (made_reads == 0))
      continue;
    against =
        made_reads > 1 ? fmt::format("task '{}' reads {} made buffers", task.name, made_reads)
        : !previous    ? fmt::format("task '{}' reads what the task before it did not make", task.name)
        : writes != 1
            ? fmt::format("task '{}' makes {} buffers", task.name, writes)
            : fmt::format("task '{}' does not follow from the task before it, or runs only once", task.name);
    break;
  }
  // A shorter one where its end belongs to the backward part. Of a network that branches, the chain before the first
  // branch would be left: that is not what is meant.
  for (std::size_t n = longest; n > 0 && longest - n < 64 && 6 * n >= o.order.size(); --n)
    if (auto shape = shape_of(o, n)) return shape;
  return std::nullopt;
}

ChainShape chain_shape(const char* name, const Outline& o) {
  std::string against;
  if (auto shape = find_chain(o, against)) return *std::move(shape);
  fail(Error::Kind::unsupported, "[{}] applies to chains; {}", name, against);
}

}  // namespace tidemark::plan::named
