// What of a step is kept for its adjoint instead of being computed again: a minimum cut between what a step computes and what only
// its adjoint can, priced in bytes; and the regions that make such a tape and use it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/loops.h"
#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/loops.h"
#include "tidemark/plan/mincut.h"
#include "tidemark/runtime/profiler.h"

namespace tidemark {
namespace {

std::size_t at(ValueId v) { return static_cast<std::size_t>(v); }

// Where an input of the adjoint's region comes from in the primal's body, or -1: only the reverse sweep has it.
std::vector<int> primal_inputs(const Node& saving, const Node& adjoint, const AdjointShape& s) {
  const LoopShape p = loop_shape(saving);
  const Graph& body = saving.regions[0];
  const std::vector<std::int64_t> snapshot = saving.attrs.integers("snapshot");
  std::vector<int> from(at(s.adjoints), -1);
  for (const std::int64_t i : s.states_read)
    from.push_back(static_cast<int>(snapshot[static_cast<std::size_t>(i)]));
  for (int x = 0; x < s.adjoint_xs; ++x) {
    const auto first = saving.in.begin() + p.carries, last = saving.in.begin() + p.first_const();
    const auto found = std::find(first, last, adjoint.in[at(s.first_adjoint_x() + x)]);
    from.push_back(found == last ? -1 : static_cast<int>(found - saving.in.begin()));
  }
  for (int c = 0; c < s.adjoint_consts; ++c) {
    int found = -1;
    for (int i = 0; i < static_cast<int>(body.inputs.size()); ++i) {
      const bool invariant =
          i >= p.first_const() || (i < p.carries && body.outputs[at(i)] == body.inputs[at(i)]);
      if (invariant && saving.in[at(i)] == adjoint.in[at(s.first_adjoint_const() + c)]) found = i;
    }
    from.push_back(found);
  }
  return from;
}

// Little more than reading its operands.
bool cheap(const Graph& g, const Node& n) {
  if (n.op->elementwise()) return true;
  if (!n.regions.empty()) return false;
  const Cost cost = cost_of(*n.op, spec_of(g, n, 1));
  double elements = 0;
  for (const ValueId v : n.out) elements += static_cast<double>(g.type(v).shape.numel());
  return cost.flops <= 2 * elements;
}

// The values to keep, of those that the primal could compute (`early`).
std::vector<ValueId> cut(const Graph& step, const std::vector<char>& early, const std::vector<char>& free,
                         TapeCut kind) {
  plan::MinCut network;
  std::vector<int> needed(step.values.size(), -1);
  const auto need = [&](ValueId v) {
    if (needed[at(v)] < 0) needed[at(v)] = network.add_node();
    return needed[at(v)];
  };
  const std::vector<std::int32_t> maker = makers(step);
  std::vector<int> run(step.nodes.size(), -1);
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    const Node& node = step.nodes[n];
    const bool ours =
        std::all_of(node.out.begin(), node.out.end(), [&](ValueId v) { return early[at(v)] != 0; });
    run[n] = ours ? network.add_node() : plan::MinCut::kSource;
    const bool again =
        node.in.empty() || node.op->view != nullptr || (kind == TapeCut::cheap && cheap(step, node));
    if (ours && !again) network.add_edge(run[n], plan::MinCut::kSink, plan::MinCut::kUnlimited);
    for (const ValueId v : node.in) {
      if (early[at(v)] && !free[at(v)]) network.add_edge(run[n], need(v), plan::MinCut::kUnlimited);
    }
  }
  for (const ValueId v : step.outputs) {
    if (early[at(v)] && !free[at(v)])
      network.add_edge(plan::MinCut::kSource, need(v), plan::MinCut::kUnlimited);
  }
  for (std::size_t v = 0; v < needed.size(); ++v) {
    if (needed[v] < 0) continue;
    network.add_edge(needed[v], maker[v] < 0 ? plan::MinCut::kSink : run[static_cast<std::size_t>(maker[v])],
                     round_up(step.values[v].type.bytes(), kStorageAlign));
  }
  network.solve();
  std::vector<ValueId> kept;
  for (std::size_t v = 0; v < needed.size(); ++v) {
    if (needed[v] < 0 || !network.source_side(needed[v])) continue;
    if (maker[v] < 0 || !network.source_side(run[static_cast<std::size_t>(maker[v])]))
      kept.push_back(static_cast<ValueId>(v));
  }
  return kept;
}

// `region` with the values `tape` of `step` as further outputs; `inputs`: of the region, for each input of the step, or -1.
Graph taping(Graph region, const Graph& step, const std::vector<char>& early,
             const std::vector<ValueId>& inputs, const std::vector<ValueId>& tape) {
  std::vector<ValueId> here(step.values.size(), -1);
  for (std::size_t i = 0; i < inputs.size(); ++i) here[at(step.inputs[i])] = inputs[i];
  for (const Node& n : step.nodes) {
    const bool ours = std::all_of(n.in.begin(), n.in.end(), [&](ValueId v) { return here[at(v)] >= 0; });
    if (!ours || !early[at(n.out[0])]) continue;
    Node copy = n;
    for (ValueId& v : copy.in) v = here[at(v)];
    for (ValueId& v : copy.out) {
      here[at(v)] = static_cast<ValueId>(region.values.size());
      region.values.push_back(step.value(v));
      v = here[at(v)];
    }
    region.nodes.push_back(std::move(copy));
  }
  for (const ValueId v : tape) region.outputs.push_back(here[at(v)]);
  return cse(dce(region));
}

// The step from its tape: inputs [first, last) make way for the values kept.
Graph from_tape(Graph step, const std::vector<ValueId>& tape, int first, int last) {
  const std::vector<std::int32_t> maker = makers(step);
  std::vector<ValueId> renamed(step.values.size()), inputs(step.inputs.begin(), step.inputs.begin() + first);
  for (std::size_t v = 0; v < renamed.size(); ++v) renamed[v] = static_cast<ValueId>(v);
  for (const ValueId v : tape) {
    if (maker[at(v)] >= 0) {
      renamed[at(v)] = static_cast<ValueId>(step.values.size());
      const Value copy = step.value(v);
      step.values.push_back(copy);
    }
    inputs.push_back(renamed[at(v)]);
  }
  inputs.insert(inputs.end(), step.inputs.begin() + last, step.inputs.end());
  for (Node& n : step.nodes) {
    for (ValueId& v : n.in) v = renamed[at(v)];
  }
  for (ValueId& v : step.outputs) v = renamed[at(v)];
  step.inputs = std::move(inputs);
  return dce(step);
}

}  // namespace

std::optional<TapedPair> taped_pair(const Node& saving, const Node& adjoint, TapeCut kind) {
  const AdjointShape s = adjoint_shape(adjoint.attrs, adjoint.regions);
  if (s.state == 0 || s.tape > 0) return {};
  const Graph step = cse(dce(adjoint.regions[1]));
  const std::vector<int> from = primal_inputs(saving, adjoint, s);
  const int reads = static_cast<int>(s.states_read.size());
  // Early: the primal could compute it. Free: it is there in the reverse sweep anyway.
  std::vector<char> early(step.values.size(), 0), free(step.values.size(), 0);
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    early[at(step.inputs[i])] = from[i] >= 0;
    free[at(step.inputs[i])] = from[i] >= 0 && static_cast<int>(i) >= s.adjoints + reads;
  }
  for (const Node& n : step.nodes) {
    const bool all = repeatable(n) &&
                     std::all_of(n.in.begin(), n.in.end(), [&](ValueId v) { return early[at(v)] != 0; });
    for (const ValueId v : n.out) early[at(v)] = all;
  }
  const std::vector<ValueId> tape = cut(step, early, free, kind);
  TapedPair pair{saving, adjoint};
  for (const ValueId v : tape) pair.tape += round_up(step.type(v).bytes(), kStorageAlign);
  if (pair.tape == 0) return {};

  const Graph& body = saving.regions[0];
  std::vector<ValueId> inputs;
  for (const int i : from) inputs.push_back(i < 0 ? -1 : body.inputs[at(i)]);
  pair.saving.regions.push_back(taping(body, step, early, inputs, tape));

  // The advancing region takes what the tape needs beside its own xs and invariants.
  AdjointShape shape = s;
  Graph advance = adjoint.regions[0];
  std::vector<ValueId> places(step.inputs.size(), -1);
  for (int k = 0; k < reads; ++k)
    places[at(s.adjoints + k)] = advance.inputs[static_cast<std::size_t>(s.states_read[at(k)])];
  const auto take = [&](int i, int first, int& count, bool slices) {
    const ValueId outside = saving.in[at(from[at(i)])];
    const auto begin = pair.adjoint.in.begin() + first, end = begin + count,
               found = std::find(begin, end, outside);
    const auto position = (slices ? shape.states : shape.states + shape.advance_xs) + (found - begin);
    if (found == end) {
      const auto value = static_cast<ValueId>(advance.values.size());
      advance.values.push_back(Value{.type = step.type(step.inputs[at(i)])});
      advance.inputs.insert(advance.inputs.begin() + position, value);
      pair.adjoint.in.insert(end, outside);
      ++count;
    }
    places[at(i)] = advance.inputs[static_cast<std::size_t>(position)];
  };
  std::vector<char> read(step.values.size(), 0);
  for (const ValueId v : tape) read[at(v)] = 1;
  for (auto n = step.nodes.rbegin(); n != step.nodes.rend(); ++n) {
    if (std::none_of(n->out.begin(), n->out.end(), [&](ValueId v) { return read[at(v)] != 0; })) continue;
    for (const ValueId v : n->in) read[at(v)] = 1;
  }
  const int first_x = s.adjoints + reads;
  for (int i = first_x; i < static_cast<int>(step.inputs.size()); ++i) {
    if (from[at(i)] < 0 || !read[at(step.inputs[at(i)])]) continue;
    const bool is_x = i < first_x + s.adjoint_xs;
    if (is_x) take(i, shape.first_advance_x(), shape.advance_xs, true);
    if (!is_x) take(i, shape.first_advance_const(), shape.advance_consts, false);
  }
  shape.tape = pair.tape;
  pair.adjoint.attrs = adjoint_attrs(shape);
  if (const Attr* inner = adjoint.attrs.find("inner")) pair.adjoint.attrs.set("inner", *inner);
  pair.adjoint.regions = {advance, step, taping(advance, step, early, places, tape),
                          from_tape(step, tape, s.adjoints, s.adjoints + reads)};
  pair.saving.attrs.set("tape", pair.tape);
  return pair;
}

}  // namespace tidemark
