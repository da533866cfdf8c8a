// Cheap chains made inside the kernel that reads them: a chain of elementwise ops whose result waits for a later chain runs again as
// the first part of that chain, tile by tile, so that the result is in memory neither meanwhile nor then. The same tile functions in
// the same types: the same bits.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/maker_pass.h"
#include "tidemark/ir/op.h"
#include "tidemark/ops/fused.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

constexpr std::size_t kMostNodes = 48, kMostInputs = 24;  // of a fused chain, as ir/fuse.h has them

bool is_chain(const Node& n) {
  if (n.op == &fused_op) return true;
  return n.op->elementwise() && !n.in.empty() && n.out.size() == 1;
}

// A node of one elementwise op as a region.
Graph region_of(const Graph& g, const Node& node) {
  if (!node.regions.empty()) return node.regions[0];
  Graph region;
  Node inner{.op = node.op, .attrs = node.attrs, .loc = node.loc};
  for (const ValueId v : node.in) {
    region.values.push_back(Value{.type = g.type(v)});
    region.inputs.push_back(static_cast<ValueId>(region.values.size() - 1));
    inner.in.push_back(region.inputs.back());
  }
  region.values.push_back(Value{.type = g.type(node.out[0])});
  inner.out.push_back(static_cast<ValueId>(region.values.size() - 1));
  region.outputs = inner.out;
  region.nodes.push_back(std::move(inner));
  return region;
}

// What one pass over the elements covers.
Shape domain_of(const Graph& region) {
  for (const Node& n : region.nodes) {
    if (n.op->fold != Fold::none) return region.type(n.in[0]).shape;
  }
  return region.type(region.outputs[0]).shape;
}

struct Merged {
  Graph region;
  std::vector<Value> in;
  std::vector<BufferPart> parts;
};

// `reader` with its input `i` computed by the part of `maker` that output `o` needs.
Merged merge(const MakerPass& pass, plan::TaskId maker_task, const Node& maker, std::size_t o,
             plan::TaskId reader_task, const Node& reader, std::size_t i) {
  const Graph& g = pass.posed.binding.graph;
  const Graph first = region_of(g, maker), second = region_of(g, reader);
  Merged m;
  const TaskOperands& first_parts = pass.posed.binding.operands_of_task[at(maker_task)];
  const TaskOperands& second_parts = pass.posed.binding.operands_of_task[at(reader_task)];
  std::vector<ValueId> outer;  // the graph's value of each input
  const auto input = [&](ValueId v, const BufferPart& part) {
    const auto found = std::find(outer.begin(), outer.end(), v);
    if (found != outer.end()) return m.region.inputs[static_cast<std::size_t>(found - outer.begin())];
    m.region.values.push_back(Value{.type = g.type(v)});
    m.region.inputs.push_back(static_cast<ValueId>(m.region.values.size() - 1));
    outer.push_back(v);
    m.in.push_back(g.value(v));
    m.parts.push_back(part);
    return m.region.inputs.back();
  };
  std::vector<char> wanted(first.values.size(), 0);
  wanted[at(first.outputs[o])] = 1;
  for (std::size_t n = first.nodes.size(); n-- > 0;) {
    if (!wanted[at(first.nodes[n].out[0])]) continue;
    for (const ValueId v : first.nodes[n].in) wanted[at(v)] = 1;
  }
  std::vector<ValueId> here(first.values.size(), -1);
  const auto copy = [&](const Graph& from, const Node& node) {
    Node copied = node;
    for (ValueId& v : copied.in) v = here[at(v)];
    m.region.values.push_back(Value{.type = from.type(node.out[0])});
    here[at(node.out[0])] = static_cast<ValueId>(m.region.values.size() - 1);
    copied.out = {here[at(node.out[0])]};
    m.region.nodes.push_back(std::move(copied));
  };
  for (std::size_t k = 0; k < first.inputs.size(); ++k) {
    if (wanted[at(first.inputs[k])]) here[at(first.inputs[k])] = input(maker.in[k], first_parts.in[k]);
  }
  for (const Node& n : first.nodes) {
    if (wanted[at(n.out[0])]) copy(first, n);
  }
  const ValueId made = here[at(first.outputs[o])];
  here.assign(second.values.size(), -1);
  for (std::size_t k = 0; k < second.inputs.size(); ++k) {
    here[at(second.inputs[k])] =
        k == i || reader.in[k] == reader.in[i] ? made : input(reader.in[k], second_parts.in[k]);
  }
  for (const Node& n : second.nodes) copy(second, n);
  for (const ValueId v : second.outputs) m.region.outputs.push_back(here[at(v)]);
  return m;
}

void offer(MakerPass& pass, plan::TaskId t, const Node& reader, std::size_t i) {
  const Graph& g = pass.posed.binding.graph;
  const TaskOperands& operands = pass.posed.binding.operands_of_task[at(t)];
  const plan::BufferId b = operands.in[i].buffer;
  if (!pass.is_passing(b) || !pass.is_gap(pass.use_before(b, t), t) || pass.uses_from(b, t) != 1) return;
  const plan::TaskId made_by = pass.maker(b);
  const plan::Task& made = pass.posed.problem.tasks[at(made_by)];
  const std::int32_t n = pass.posed.binding.node_of_task[at(made_by)];
  if (n < 0 || made.random) return;
  const Node& maker = g.nodes[at(n)];
  if (!is_chain(maker)) return;
  const auto o = static_cast<std::size_t>(std::find(maker.out.begin(), maker.out.end(), reader.in[i]) -
                                          maker.out.begin());
  if (o == maker.out.size()) return;  // a view of it
  const Type& type = g.type(reader.in[i]);
  // Narrow floats are rounded when they are stored.
  if (type.dtype == DType::bf16 || type.dtype == DType::f16) return;
  const Graph region = region_of(g, reader);
  if (type.shape != domain_of(region)) return;
  Merged m = merge(pass, made_by, maker, o, t, reader, i);
  if (m.region.nodes.size() > kMostNodes || m.in.size() > kMostInputs) return;
  // Worth it only where what the chain reads is there anyway.
  for (const BufferPart& part : m.parts) {
    const bool there =
        pass.is_constant(part.buffer) || (pass.is_passing(part.buffer) && pass.uses_from(part.buffer, t) > 0);
    const bool own = std::any_of(operands.in.begin(), operands.in.end(),
                                 [&](const BufferPart& p) { return p.buffer == part.buffer; });
    if ((!there && !own) || pass.next_update(part.buffer, made_by) < t) return;
  }
  const Op& op = reader.op == &fused_fold_op ? fused_fold_op : fused_op;
  KernelSpec spec{.in = m.in, .attrs = {}, .threads = pass.options.threads};
  for (const ValueId v : reader.out) spec.out.push_back(g.value(v));
  spec.regions.push_back(std::move(m.region));
  const plan::Task& old = pass.posed.problem.tasks[at(t)];
  NewTask use{.before = t + 1, .kernel = prepare(op, spec)};
  use.operands.in = m.parts;
  use.operands.out = operands.out;
  for (const BufferPart& part : m.parts) {
    if (std::find(use.task.reads.begin(), use.task.reads.end(), part.buffer) == use.task.reads.end())
      use.task.reads.push_back(part.buffer);
  }
  use.task.name = old.name;
  use.task.kind = old.kind + " with " + made.name;
  use.task.writes = old.writes;
  for (const auto& pair : old.in_place) {
    const auto readers = std::count_if(m.parts.begin(), m.parts.end(),
                                       [&](const BufferPart& p) { return p.buffer == pair.first; });
    if (readers == 1) use.task.in_place.push_back(pair);
  }
  use.task.seconds = pass.seconds(op, spec);
  use.task.instead_of = t;
  Maker found{.method = "in consumer",
              .buffer = b,
              .instead = {t},
              .saved = pass.posed.problem.size(b),
              .seconds = std::max(0.0, use.task.seconds - old.seconds)};
  found.run = {static_cast<plan::TaskId>(pass.add_task(std::move(use)))};
  pass.add(std::move(found));
}

}  // namespace

void find_in_consumer(MakerPass& pass) {
  for_each_node_task(pass, [&](plan::TaskId t, const Node& node) {
    if (!is_chain(node) && node.op != &fused_fold_op) return;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      if (std::find(node.in.begin(), node.in.begin() + static_cast<std::ptrdiff_t>(i), node.in[i]) ==
          node.in.begin() + static_cast<std::ptrdiff_t>(i))
        offer(pass, t, node, i);
    }
  });
}

}  // namespace tidemark
