// Inverses: where y = x + f and f can be made again without x (reversible blocks), x need not be kept over its gap: it is y - f with
// the rounding residual put back. Likewise for every chain of ops from x to y that have an inverse (ops/inverse.h): affine couplings
// y = x s + t, activations.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/maker_pass.h"
#include "tidemark/ir/builder.h"
#include "tidemark/kernels/cpu/inverse.h"
#include "tidemark/ops/fused.h"
#include "tidemark/ops/inverse.h"

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

// A way back through a region, from one of its outputs to one of its inputs: nodes, and the argument of each that is gone on with.
struct Path {
  std::vector<std::pair<const Node*, std::size_t>> steps;
  std::size_t input = 0;
};
constexpr std::size_t kLongestPath = 6;

// Whether y has about as many digits of x as x has: sums and products with anything, or one other function (an activation) scaled by
// numbers.
bool keeps_digits(const Graph& region, const Path& path) {
  std::size_t functions = 0, others = 0;
  for (const auto& [step, which] : path.steps) {
    const std::string_view op = step->op->name;
    const bool scales = op == "neg" || ((op == "mul" || op == "div") && region.type(step->in[1 - which]).shape.rank() == 0);
    functions += step->in.size() == 1 && !scales;
    others += step->in.size() == 2 && !scales;
  }
  return functions == 0 || (functions == 1 && others == 0);
}

// Every such way, shortest first.
std::vector<Path> paths_back(const Graph& region, std::size_t output) {
  struct Open {
    ValueId at;
    Path path;
  };
  std::vector<Open> open{{region.outputs[output], {}}};
  std::vector<Path> found;
  for (std::size_t k = 0; k < open.size(); ++k) {
    const auto input = std::find(region.inputs.begin(), region.inputs.end(), open[k].at);
    if (input != region.inputs.end()) {
      open[k].path.input = static_cast<std::size_t>(input - region.inputs.begin());
      if (!open[k].path.steps.empty() && keeps_digits(region, open[k].path)) found.push_back(open[k].path);
      continue;
    }
    const auto node = std::find_if(region.nodes.begin(), region.nodes.end(),
                                   [&](const Node& n) { return n.out[0] == open[k].at; });
    if (node == region.nodes.end() || !has_inverse(*node->op) || open[k].path.steps.size() == kLongestPath)
      continue;
    if (node->in.size() == 2 && node->in[0] == node->in[1]) continue;
    for (std::size_t which = 0; which < node->in.size(); ++which) {
      if (region.type(node->in[which]) != region.type(open[k].at)) continue;
      Open next{node->in[which], open[k].path};
      next.path.steps.emplace_back(&*node, which);
      open.push_back(std::move(next));
    }
  }
  return found;
}

// The chain that gives x back: what made the other operands, and the inverse ops.
struct Chain {
  KernelSpec spec;
  std::vector<BufferPart> parts;
};
Chain chain_of(const MakerPass& pass, const Node& node, const TaskOperands& operands, const Graph& region,
               std::size_t output, const Path& path) {
  const Graph& g = pass.posed.binding.graph;
  Chain chain{.spec = {.threads = pass.options.threads}, .parts = {}};
  std::vector<char> wanted(region.values.size(), 0);
  for (const auto& [step, which] : path.steps) {
    for (std::size_t i = 0; i < step->in.size(); ++i)
      wanted[at(step->in[i])] = wanted[at(step->in[i])] || i != which;
  }
  for (std::size_t n = region.nodes.size(); n-- > 0;) {
    if (!wanted[at(region.nodes[n].out[0])]) continue;
    for (const ValueId v : region.nodes[n].in) wanted[at(v)] = 1;
  }
  Graph r;
  r.values = region.values;
  const ValueId y = region.outputs[output];
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
  const auto builder = std::make_shared<Builder>(std::move(r));
  Tensor x = builder->tensor(y);
  for (const auto& [step, which] : path.steps) {
    Tensors in;
    for (std::size_t i = 0; i < step->in.size(); ++i)
      in.push_back(i == which ? Tensor{} : builder->tensor(step->in[i]));
    x = inverse(*step->op, which, x, in);
  }
  chain.spec.regions.push_back(builder->finish(Tensors{x}));
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

// Where x is not used for a while though y, or what made it, still will be: its uses before end with or behind task t. -1, -1: nowhere.
std::pair<plan::TaskId, plan::TaskId> longest_gap(const MakerPass& pass, plan::BufferId x, plan::TaskId t) {
  const auto& uses = pass.uses(x);
  plan::TaskId from = -1, to = -1;
  for (std::size_t k = 1; k < uses.size(); ++k) {
    if (uses[k - 1] >= t && pass.is_gap(uses[k - 1], uses[k]) &&
        (from < 0 || pass.seconds_between(uses[k - 1], uses[k]) > pass.seconds_between(from, to)))
      from = uses[k - 1], to = uses[k];
  }
  return {from, to};
}

// One way back, if it is one: x from y between two uses of x. With the residual, or plain.
bool offer_path(MakerPass& pass, plan::TaskId t, const Node& node, const Graph& region, std::size_t o,
                const Path& path, bool plain) {
  const Graph& g = pass.posed.binding.graph;
  const TaskOperands operands = pass.posed.binding.operands_of_task[at(t)];
  const plan::BufferId x = operands.in[path.input].buffer, y = operands.out[o].buffer;
  const Value &xv = g.value(node.in[path.input]), &yv = g.value(node.out[o]);
  if (!pass.is_passing(x) || x == y || xv.alias_of >= 0 || xv.type != yv.type || !(xv.layout == yv.layout))
    return false;
  const auto [from, to] = longest_gap(pass, x, t);
  if (from < 0) return false;
  Chain chain = chain_of(pass, node, operands, region, o, path);
  // In front of the first update of a parameter that the chain reads: behind it the way back would begin from another one.
  plan::TaskId before = to;
  for (const BufferPart& p : chain.parts) before = std::min(before, pass.next_update(p.buffer, t));
  if (before <= from) return false;
  const plan::TaskId behind = from;
  if (std::any_of(chain.parts.begin() + 1, chain.parts.end(),
                  [&](const BufferPart& p) { return depends_on(pass, p.buffer, x, behind); }))
    return false;
  chain.spec.out.push_back(xv);
  kernels::ExactInverse kernel;
  if (plain)
    kernel.decode = prepare(fused_op, chain.spec);
  else
    kernel = kernels::exact_inverse(chain.spec);
  if (!kernel.decode || (!plain && !kernel.encode)) return false;
  const std::string name = pass.posed.problem.buffers[at(x)].name;
  const plan::BufferId residual = plain ? -1 : pass.add_buffer(name + ".residual", kernel.slot, "residual");
  Maker maker{.method = "inverse",
              .buffer = x,
              .saved = pass.posed.problem.size(x) - (plain ? 0 : pass.posed.problem.size(residual)),
              .lossy = plain,
              .can_overflow = !plain};
  const auto add = [&](NewTask task, const char* kind, plan::BufferId also, plan::BufferId out) {
    for (const BufferPart& p : chain.parts) {
      task.operands.in.push_back(p);
      if (std::find(task.task.reads.begin(), task.task.reads.end(), p.buffer) == task.task.reads.end())
        task.task.reads.push_back(p.buffer);
    }
    if (also >= 0) {
      task.operands.in.push_back({also, 0});
      task.task.reads.push_back(also);
    }
    task.operands.out = {{out, 0}};
    task.task.writes = {out};
    task.task.name = pass.posed.problem.buffers[at(out)].name;
    task.task.kind = kind;
    task.task.lossy = plain;
    task.task.seconds =
        pass.seconds(fused_op, chain.spec) + (plain ? 0 : pass.seconds(pass.posed.problem.size(x)));
    maker.seconds += task.task.seconds;
    maker.run.push_back(static_cast<plan::TaskId>(pass.add_task(std::move(task))));
  };
  if (!plain)
    add({.before = from + 1, .kernel = std::move(kernel.encode)}, "residual of inverse", x, residual);
  add({.before = before, .kernel = std::move(kernel.decode)}, "inverse", residual, x);
  // The other operands have to be made again where nobody else wants them.
  for (std::size_t k = 1; k < chain.parts.size(); ++k) {
    const plan::BufferId f = chain.parts[k].buffer;
    if (pass.maker(f) >= 0 && pass.uses_from(f, from + 1) == 0)
      maker.seconds += pass.posed.problem.tasks[at(pass.maker(f))].seconds;
  }
  pass.add(std::move(maker));
  return true;
}

void offer(MakerPass& pass, plan::TaskId t, const Node& node, bool plain) {
  const Graph region = region_of(pass.posed.binding.graph, node);
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    for (const Path& path : paths_back(region, o)) {
      if (offer_path(pass, t, node, region, o, path, plain)) break;
    }
  }
}

}  // namespace

void find_inverses(MakerPass& pass) {
  const auto& allow = pass.options.allow;
  const bool plain = std::find(allow.begin(), allow.end(), kPlainInverse) != allow.end();
  if (!plain && !pass.options.lossless) return;
  for_each_node_task(pass, [&](plan::TaskId t, const Node& node) {
    if (node.op == &fused_op || (has_inverse(*node.op) && node.out.size() == 1)) offer(pass, t, node, plain);
  });
}

}  // namespace tidemark
