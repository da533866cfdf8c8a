// Inverses of couplings: where y = x + f and f can be made again without x (reversible blocks), x need not be kept over its gap: it is
// y - f with the rounding residual put back. y = f - x and y = x - f likewise.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/maker_pass.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernels/cpu/inverse.h"
#include "tidemark/ops/fused.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Whether making `b` again needs `x` itself: what is used behind `from` for its own sake is there, and not gone into.
bool depends_on(const MakerPass& pass, plan::BufferId b, plan::BufferId x, plan::TaskId from) {
  const plan::Problem& problem = pass.posed.problem;
  std::vector<char> seen(problem.buffers.size(), 0);
  std::vector<plan::BufferId> open{b};
  while (!open.empty()) {
    const plan::BufferId c = open.back();
    open.pop_back();
    if (c == x) return true;
    if (seen[at(c)] || pass.uses_from(c, from + 1) > 0) continue;
    seen[at(c)] = 1;
    const plan::TaskId made = pass.maker(c);
    if (made >= 0)
      open.insert(open.end(), problem.tasks[at(made)].reads.begin(), problem.tasks[at(made)].reads.end());
  }
  return false;
}

// The chain that gives x back: what made the other operand, and the inverse op.
struct Chain {
  KernelSpec spec;
  std::vector<BufferPart> parts;
};
Chain chain_of(const MakerPass& pass, const Node& node, const TaskOperands& operands, const Graph& region,
               std::size_t output, const Node& sum, std::size_t which, const Op& inverse) {
  const Graph& g = pass.posed.binding.graph;
  Chain chain{.spec = {.threads = pass.options.threads}, .parts = {}};
  Graph r;
  r.values = region.values;
  const ValueId y = region.outputs[output], other = sum.in[1 - which];
  std::vector<char> wanted(region.values.size(), 0);
  wanted[at(other)] = 1;
  for (std::size_t n = region.nodes.size(); n-- > 0;) {
    if (!wanted[at(region.nodes[n].out[0])]) continue;
    for (const ValueId v : region.nodes[n].in) wanted[at(v)] = 1;
  }
  r.inputs.push_back(y);
  chain.spec.in.push_back(g.value(node.out[output]));
  chain.parts.push_back(operands.out[output]);
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    if (!wanted[at(region.inputs[i])]) continue;
    r.inputs.push_back(region.inputs[i]);
    chain.spec.in.push_back(g.value(node.in[i]));
    chain.parts.push_back(operands.in[i]);
  }
  for (const Node& n : region.nodes) {
    if (wanted[at(n.out[0])]) r.nodes.push_back(n);
  }
  r.values.push_back(Value{.type = region.type(sum.in[which])});
  const auto x = static_cast<ValueId>(r.values.size() - 1);
  // y = x + f: y - f. y = x - f: y + f. y = f - x: f - y.
  const bool turned = std::string_view(sum.op->name) == "sub" && which == 1;
  r.nodes.push_back(Node{.op = &inverse,
                         .in = turned ? std::vector<ValueId>{other, y} : std::vector<ValueId>{y, other},
                         .out = {x}});
  r.outputs = {x};
  chain.spec.regions.push_back(std::move(r));
  return chain;
}

Graph region_of(const Graph& g, const Node& node) {
  if (!node.regions.empty()) return node.regions[0];
  Graph region;
  Node inner{.op = node.op, .attrs = node.attrs};
  for (const ValueId v : node.in) {
    region.values.push_back(Value{.type = g.type(v)});
    region.inputs.push_back(static_cast<ValueId>(region.values.size() - 1));
    inner.in.push_back(region.inputs.back());
  }
  region.values.push_back(Value{.type = g.type(node.out[0])});
  inner.out = {static_cast<ValueId>(region.values.size() - 1)};
  region.outputs = inner.out;
  region.nodes.push_back(std::move(inner));
  return region;
}

void offer(MakerPass& pass, plan::TaskId t, const Node& node) {
  static const Op* const add = find_op("add");
  static const Op* const sub = find_op("sub");
  const Graph& g = pass.posed.binding.graph;
  const TaskOperands operands = pass.posed.binding.operands_of_task[at(t)];
  const Graph region = region_of(g, node);
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    const auto found = std::find_if(region.nodes.begin(), region.nodes.end(),
                                    [&](const Node& n) { return n.out[0] == region.outputs[o]; });
    if (found == region.nodes.end() || (found->op != add && found->op != sub)) continue;
    for (std::size_t which = 0; which < 2; ++which) {
      const auto input = static_cast<std::size_t>(
          std::find(region.inputs.begin(), region.inputs.end(), found->in[which]) - region.inputs.begin());
      if (input == region.inputs.size() || found->in[0] == found->in[1]) continue;
      const plan::BufferId x = operands.in[input].buffer, y = operands.out[o].buffer;
      const Value &xv = g.value(node.in[input]), &yv = g.value(node.out[o]);
      if (!pass.is_passing(x) || x == y || xv.alias_of >= 0 || xv.type != yv.type ||
          !(xv.layout == yv.layout))
        continue;
      // Its uses before the gap end with or behind the sum, and some come behind the gap.
      const auto& uses = pass.uses(x);
      plan::TaskId from = -1, to = -1;
      for (std::size_t k = 1; k < uses.size(); ++k) {
        if (uses[k - 1] >= t && pass.is_gap(uses[k - 1], uses[k]) &&
            (from < 0 || pass.seconds_between(uses[k - 1], uses[k]) > pass.seconds_between(from, to)))
          from = uses[k - 1], to = uses[k];
      }
      if (from < 0) continue;
      const Op& inverse = found->op == add || which == 1 ? *sub : *add;
      Chain chain = chain_of(pass, node, operands, region, o, *found, which, inverse);
      const bool coupled = std::any_of(chain.parts.begin() + 1, chain.parts.end(), [&](const BufferPart& p) {
        return depends_on(pass, p.buffer, x, from);
      });
      if (coupled) continue;
      chain.spec.out.push_back(xv);
      kernels::ExactInverse kernel = kernels::exact_inverse(chain.spec);
      if (!kernel.encode || !kernel.decode) continue;
      const std::string name = pass.posed.problem.buffers[at(x)].name;
      const plan::BufferId residual = pass.add_buffer(name + ".residual", kernel.slot, "residual");
      NewTask encode{.before = from + 1, .kernel = std::move(kernel.encode)},
          decode{.before = to, .kernel = std::move(kernel.decode)};
      for (const BufferPart& p : chain.parts) {
        for (NewTask* task : {&encode, &decode}) {
          task->operands.in.push_back(p);
          auto& reads = task->task.reads;
          if (std::find(reads.begin(), reads.end(), p.buffer) == reads.end()) reads.push_back(p.buffer);
        }
      }
      encode.operands.in.push_back(operands.in[input]);
      encode.task.reads.push_back(x);
      encode.operands.out = {{residual, 0}};
      encode.task.writes = {residual};
      decode.operands.in.push_back({residual, 0});
      decode.task.reads.push_back(residual);
      decode.operands.out = {{x, 0}};
      decode.task.writes = {x};
      encode.task.name = name + ".residual";
      encode.task.kind = "residual of inverse";
      decode.task.name = name;
      decode.task.kind = "inverse";
      encode.task.seconds = decode.task.seconds =
          pass.seconds(fused_op, chain.spec) + pass.seconds(pass.posed.problem.size(x));
      Maker maker{.method = "inverse",
                  .buffer = x,
                  .saved = pass.posed.problem.size(x) - pass.posed.problem.size(residual),
                  .can_overflow = true};
      maker.seconds = 2 * encode.task.seconds;
      // The other operand has to be made again where nobody else wants it.
      for (std::size_t k = 1; k < chain.parts.size(); ++k) {
        const plan::BufferId f = chain.parts[k].buffer;
        if (pass.maker(f) >= 0 && pass.uses_from(f, from + 1) == 0)
          maker.seconds += pass.posed.problem.tasks[at(pass.maker(f))].seconds;
      }
      maker.run = {static_cast<plan::TaskId>(pass.add_task(std::move(encode))),
                   static_cast<plan::TaskId>(pass.add_task(std::move(decode)))};
      pass.add(std::move(maker));
      break;
    }
  }
}

}  // namespace

void find_inverses(MakerPass& pass) {
  for_each_node_task(pass, [&](plan::TaskId t, const Node& node) {
    if (node.op == &fused_op || (node.op->elementwise() && node.in.size() == 2 && node.out.size() == 1))
      offer(pass, t, node);
  });
}

}  // namespace tidemark
