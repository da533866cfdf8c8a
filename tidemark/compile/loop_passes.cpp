// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/loop_join.h"
#include "tidemark/compile/loops.h"
#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/loops.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

std::size_t at(ValueId v) { return static_cast<std::size_t>(v); }

bool has_calls(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) {
    return n.op == &call_op || std::any_of(n.regions.begin(), n.regions.end(), has_calls);
  });
}

// The part of `body` that makes the outputs at `positions`, with only the inputs it reads; `kept` gives their positions.
Graph slice(const Graph& body, const std::vector<std::size_t>& positions, std::vector<std::size_t>& kept) {
  Graph g = body;
  g.outputs.clear();
  for (const std::size_t p : positions) g.outputs.push_back(body.outputs[p]);
  g = dce(g);
  std::vector<char> read(g.values.size(), 0);
  for (const Node& n : g.nodes) {
    for (const ValueId v : n.in) read[at(v)] = 1;
  }
  for (const ValueId v : g.outputs) read[at(v)] = 1;
  kept.clear();
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    if (read[at(g.inputs[i])]) kept.push_back(i);
  }
  return g;
}

struct Pair {
  std::size_t primal, adjoint;           // nodes
  std::vector<std::size_t> state_ys;     // outputs of the primal that are its states
};

// The carries that a step must hand on so that those in `wanted` can be had again.
std::vector<std::size_t> closure(const Graph& body, const LoopShape& s, std::vector<std::size_t> wanted) {
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (;;) {
    std::vector<std::size_t> kept;
    slice(body, wanted, kept);
    bool more = false;
    for (const std::size_t i : kept) {
      const bool carry = i < static_cast<std::size_t>(s.carries) && body.outputs[i] != body.inputs[i];
      if (carry && !std::binary_search(wanted.begin(), wanted.end(), i)) {
        wanted.insert(std::lower_bound(wanted.begin(), wanted.end(), i), i);
        more = true;
      }
    }
    if (!more) return wanted;
  }
}

std::vector<Pair> find_pairs(const Graph& g) {
  std::vector<std::vector<std::size_t>> readers(g.values.size());
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    for (const ValueId v : g.nodes[n].in) readers[at(v)].push_back(n);
  }
  std::vector<char> returned(g.values.size(), 0), taken(g.nodes.size(), 0);
  for (const ValueId v : g.outputs) returned[at(v)] = 1;
  std::vector<Pair> pairs;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    const bool is_while = node.op == &while_op;
    if ((node.op != &scan_op && !is_while) || taken[n]) continue;
    const LoopShape s = loop_shape(node);
    if (s.counted || s.trips < 1 || !repeatable(node)) continue;
    const Graph& body = node.regions[0];
    Pair pair{n, n, {}};
    bool fits = true;
    for (std::size_t o = static_cast<std::size_t>(s.carries); o < body.outputs.size(); ++o) {
      const auto carry = std::find(body.inputs.begin(), body.inputs.begin() + s.carries, body.outputs[o]);
      if (carry == body.inputs.begin() + s.carries) continue;
      // Ys that are states but that others read too stay ys.
      if (returned[at(node.out[o])] || readers[at(node.out[o])].size() != 1) continue;
      const std::size_t reader = readers[at(node.out[o])][0];
      if (g.nodes[reader].op != &scan_op || taken[reader] || (pair.adjoint != n && pair.adjoint != reader)) {
        fits = false;
        continue;
      }
      pair.adjoint = reader;
      pair.state_ys.push_back(o);
    }
    if (!fits || pair.adjoint == n) continue;
    const Node& back = g.nodes[pair.adjoint];
    const LoopShape b = loop_shape(back);
    if (b.counted != is_while || b.trips != s.trips || b.reverse == s.reverse) continue;
    if (is_while && back.in.back() != node.out.back()) continue;
    // The stacks must come in as xs.
    const bool as_xs = std::all_of(pair.state_ys.begin(), pair.state_ys.end(), [&](std::size_t o) {
      const auto position = std::find(back.in.begin(), back.in.end(), node.out[o]) - back.in.begin();
      return position >= b.carries && position < b.first_const();
    });
    if (!as_xs) continue;
    taken[n] = taken[pair.adjoint] = 1;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

void rewrite(Graph& g, const Pair& pair) {
  const Node primal = g.nodes[pair.primal], back = g.nodes[pair.adjoint];
  const LoopShape s = loop_shape(primal), b = loop_shape(back);
  const Graph& body = primal.regions[0];
  std::vector<std::size_t> read;  // the carry of each state among the ys
  for (const std::size_t o : pair.state_ys)
    read.push_back(static_cast<std::size_t>(std::find(body.inputs.begin(), body.inputs.begin() + s.carries, body.outputs[o]) - body.inputs.begin()));
  const std::vector<std::size_t> snapshot = closure(body, s, read);
  std::vector<std::size_t> kept;
  Graph advance = slice(body, snapshot, kept);

  const auto new_value = [&](const Type& type, const std::string& name) {
    g.values.push_back(Value{.type = type, .name = name});
    return static_cast<ValueId>(g.values.size() - 1);
  };
  std::vector<Type> state;
  std::vector<std::int64_t> snapshot_attr;
  for (const std::size_t i : snapshot) {
    state.push_back(g.type(primal.in[i]));
    snapshot_attr.push_back(static_cast<std::int64_t>(i));
  }
  const Bytes area = (s.trips - 1) * snapshot_bytes(state);
  const Type bytes{Shape{area}, DType::u8};
  const std::string name = primal.out.empty() ? "scan" : g.value(primal.out[0]).name;
  const ValueId snapshots = new_value(bytes, name + ".snapshots"), after = new_value({Shape{0}, DType::u8}, name + ".snapshots_used");

  const bool is_while = primal.op == &while_op;
  Node saving{.op = is_while ? &while_saving_op : &scan_saving_op, .in = primal.in, .attrs = primal.attrs, .loc = primal.loc};
  saving.attrs.set("bytes", area).set("snapshot", snapshot_attr);
  Graph kept_body = body;
  kept_body.outputs.clear();
  for (std::size_t o = 0; o < body.outputs.size(); ++o) {
    if (std::find(pair.state_ys.begin(), pair.state_ys.end(), o) != pair.state_ys.end()) continue;
    kept_body.outputs.push_back(body.outputs[o]);
    saving.out.push_back(primal.out[o]);
  }
  if (is_while) saving.out.push_back(primal.out.back());
  saving.out.push_back(snapshots);
  saving.regions.push_back(std::move(kept_body));
  if (is_while) saving.regions.push_back(primal.regions[1]);

  Node adjoint{.op = &scan_adjoint_op, .in = {snapshots}, .out = {after}, .loc = back.loc};
  AdjointShape shape{.trips = s.trips, .bytes = area, .states = static_cast<int>(snapshot.size()), .adjoints = b.carries, .reverse = b.reverse, .counted = is_while};
  for (const std::size_t i : snapshot) adjoint.in.push_back(primal.in[i]);
  adjoint.in.insert(adjoint.in.end(), back.in.begin(), back.in.begin() + b.carries);
  std::vector<ValueId> xs, consts;
  std::vector<ValueId> inputs;
  for (const std::size_t i : snapshot) inputs.push_back(advance.inputs[i]);
  for (const std::size_t i : kept) {
    const bool carry = i < static_cast<std::size_t>(s.carries);
    if (carry && std::binary_search(snapshot.begin(), snapshot.end(), i)) continue;
    const bool is_x = !carry && i < static_cast<std::size_t>(s.first_const());
    (is_x ? xs : consts).push_back(primal.in[i]);
    (is_x ? shape.advance_xs : shape.advance_consts) += 1;
  }
  for (const bool want_x : {true, false}) {
    for (const std::size_t i : kept) {
      const bool carry = i < static_cast<std::size_t>(s.carries);
      if (carry && std::binary_search(snapshot.begin(), snapshot.end(), i)) continue;
      if ((!carry && i < static_cast<std::size_t>(s.first_const())) == want_x) inputs.push_back(advance.inputs[i]);
    }
  }
  advance.inputs = std::move(inputs);
  adjoint.in.insert(adjoint.in.end(), xs.begin(), xs.end());
  adjoint.in.insert(adjoint.in.end(), consts.begin(), consts.end());

  Graph step = back.regions[0];
  std::vector<ValueId> order(step.inputs.begin(), step.inputs.begin() + b.carries), others;
  for (int i = b.carries; i < b.first_const(); ++i) {
    const ValueId outside = back.in[static_cast<std::size_t>(i)], inside = step.inputs[static_cast<std::size_t>(i)];
    std::size_t k = 0;
    while (k < pair.state_ys.size() && primal.out[pair.state_ys[k]] != outside) ++k;
    if (k < pair.state_ys.size()) {
      order.push_back(inside);
      shape.states_read.push_back(std::lower_bound(snapshot.begin(), snapshot.end(), read[k]) - snapshot.begin());
    } else {
      others.push_back(inside);
      adjoint.in.push_back(outside);
      ++shape.adjoint_xs;
    }
  }
  order.insert(order.end(), others.begin(), others.end());
  order.insert(order.end(), step.inputs.begin() + b.first_const(), step.inputs.end());
  step.inputs = std::move(order);
  adjoint.in.insert(adjoint.in.end(), back.in.begin() + b.first_const(), back.in.begin() + b.first_const() + b.consts);
  if (is_while) adjoint.in.push_back(primal.out.back());
  shape.adjoint_consts = b.consts;
  adjoint.out.insert(adjoint.out.end(), back.out.begin(), back.out.end());
  adjoint.attrs = adjoint_attrs(shape);
  adjoint.regions.push_back(std::move(advance));
  adjoint.regions.push_back(std::move(step));
  g.nodes[pair.primal] = std::move(saving);
  g.nodes[pair.adjoint] = std::move(adjoint);
}

}  // namespace

Graph inline_calls(const Graph& graph) {
  if (!has_calls(graph)) return graph;
  Graph result = graph;
  result.nodes.clear();
  std::vector<ValueId> renamed(graph.values.size());
  for (std::size_t v = 0; v < renamed.size(); ++v) renamed[v] = static_cast<ValueId>(v);
  for (const Node& original : graph.nodes) {
    Node node = original;
    for (ValueId& v : node.in) v = renamed[at(v)];
    if (node.op != &call_op) {
      for (Graph& region : node.regions) region = inline_calls(region);
      result.nodes.push_back(std::move(node));
      continue;
    }
    const Graph inner = inline_calls(node.regions[0]);
    std::vector<ValueId> outside(inner.values.size(), -1);
    for (std::size_t i = 0; i < inner.inputs.size(); ++i) outside[at(inner.inputs[i])] = node.in[i];
    for (const Node& n : inner.nodes) {
      Node copy = n;
      for (ValueId& v : copy.in) v = outside[at(v)];
      for (ValueId& v : copy.out) {
        outside[at(v)] = static_cast<ValueId>(result.values.size());
        result.values.push_back(inner.value(v));
        v = outside[at(v)];
      }
      result.nodes.push_back(std::move(copy));
    }
    for (std::size_t o = 0; o < node.out.size(); ++o)
      renamed[at(node.out[o])] = outside[at(inner.outputs[o])];
  }
  for (ValueId& v : result.outputs) v = renamed[at(v)];
  return dce(result);
}

namespace {

// A scan of no steps is the state it begins with and stacks of nothing: as a node it would have the workspace of a step that never runs, and its state a copy.
Graph without_empty_scans(Graph graph) {
  std::vector<ValueId> renamed(graph.values.size());
  for (std::size_t v = 0; v < renamed.size(); ++v) renamed[v] = static_cast<ValueId>(v);
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    for (ValueId& v : node.in) v = renamed[at(v)];
    if (node.op != &scan_op || loop_shape(node).trips > 0 || !repeatable(node)) {
      nodes.push_back(std::move(node));
      continue;
    }
    const auto carries = static_cast<std::size_t>(loop_shape(node).carries);
    for (std::size_t o = 0; o < node.out.size(); ++o) {
      if (o < carries) {
        renamed[at(node.out[o])] = node.in[o];
        continue;
      }
      const Type& type = graph.type(node.out[o]);
      nodes.push_back(Node{.op = find_op("full"),
                           .out = {node.out[o]},
                           .attrs = Attrs{{"shape", type.shape.sizes()},
                                          {"dtype", static_cast<std::int64_t>(type.dtype)},
                                          {"value", 0.0}},
                           .loc = node.loc});
    }
  }
  graph.nodes = std::move(nodes);
  for (ValueId& v : graph.outputs) v = renamed[at(v)];
  return graph;
}

}  // namespace

Graph shape_loops(Graph graph) {
  if (!has_loops(graph)) return graph;
  graph = join_loops(dce(without_empty_scans(inline_calls(graph))));
  for (const Pair& pair : find_pairs(graph)) rewrite(graph, pair);
  return dce(graph);
}

bool has_loops(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return is_loop(*n.op); });
}

}  // namespace tidemark
