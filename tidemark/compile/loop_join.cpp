// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/loop_join.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/loops.h"

namespace tidemark {
namespace {

std::size_t at(ValueId v) { return static_cast<std::size_t>(v); }

// But for names and locations.
bool same_graph(const Graph& a, const Graph& b) {
  if (a.inputs != b.inputs || a.outputs != b.outputs || a.nodes.size() != b.nodes.size() ||
      a.values.size() != b.values.size())
    return false;
  for (std::size_t v = 0; v < a.values.size(); ++v) {
    if (a.values[v].type != b.values[v].type) return false;
  }
  for (std::size_t n = 0; n < a.nodes.size(); ++n) {
    const Node &x = a.nodes[n], &y = b.nodes[n];
    if (x.op != y.op || x.in != y.in || x.out != y.out || !(x.attrs == y.attrs) ||
        !std::equal(x.regions.begin(), x.regions.end(), y.regions.begin(), y.regions.end(), same_graph))
      return false;
  }
  return true;
}

// The values of `more` that are those of `less`, whose inputs stand for `inputs` of it; nothing where some node of `less` is not in
// `more`.
std::optional<std::vector<ValueId>> embedded(const Graph& less, const Graph& more,
                                             const std::vector<ValueId>& inputs) {
  std::vector<ValueId> there(less.values.size(), -1);
  for (std::size_t i = 0; i < inputs.size(); ++i) there[at(less.inputs[i])] = inputs[i];
  std::multimap<std::vector<ValueId>, const Node*> by_inputs;
  for (const Node& n : more.nodes) by_inputs.emplace(n.in, &n);
  for (const Node& n : less.nodes) {
    std::vector<ValueId> in;
    for (const ValueId v : n.in) in.push_back(there[at(v)]);
    const auto [first, last] = by_inputs.equal_range(in);
    const auto found = std::find_if(first, last, [&](const auto& entry) {
      const Node& m = *entry.second;
      return m.op == n.op && repeatable(n) && m.attrs == n.attrs &&
             std::equal(n.regions.begin(), n.regions.end(), m.regions.begin(), m.regions.end(), same_graph);
    });
    if (found == last) return {};
    for (std::size_t o = 0; o < n.out.size(); ++o) there[at(n.out[o])] = found->second->out[o];
  }
  return there;
}

// The place among the outputs of `more` of each output of `less`; the ys that are not there yet become outputs of `more`, as
// values of `g`.
std::optional<std::vector<std::size_t>> part_of(Graph& g, const Node& less, Node& more) {
  const LoopShape l = loop_shape(less), m = loop_shape(more);
  if (less.op != more.op || l.trips != m.trips || l.reverse != m.reverse || l.counted != m.counted) return {};
  if (l.counted && less.in.back() != more.in.back()) return {};
  const Graph inner = dce(less.regions[0]);
  const Graph& outer = more.regions[0];
  std::vector<std::size_t> input_of;
  std::vector<ValueId> inputs;
  std::vector<char> taken(more.in.size(), 0);
  for (std::size_t i = 0; i < inner.inputs.size(); ++i) {
    const bool carry = i < at(l.carries), is_x = !carry && i < at(l.first_const());
    const std::size_t first = carry ? 0 : at(is_x ? m.carries : m.first_const()),
                      last = at(carry  ? m.carries
                                : is_x ? m.first_const()
                                       : m.first_const() + m.consts);
    std::size_t j = first;
    while (j < last && (more.in[j] != less.in[i] || (carry && taken[j]))) ++j;
    if (j == last) return {};
    taken[j] = 1;
    input_of.push_back(j);
    inputs.push_back(outer.inputs[j]);
  }
  const std::optional<std::vector<ValueId>> there = embedded(inner, outer, inputs);
  if (!there) return {};
  for (std::size_t i = 0; i < at(l.carries); ++i) {
    if ((*there)[at(inner.outputs[i])] != outer.outputs[input_of[i]]) return {};
  }
  const bool is_while = less.op == &while_op;
  if (is_while) {
    const Graph condition = dce(less.regions[1]);
    std::vector<ValueId> seen;
    for (const std::size_t j : input_of) seen.push_back(more.regions[1].inputs[j]);
    const auto answers = embedded(condition, more.regions[1], seen);
    if (!answers || (*answers)[at(condition.outputs[0])] != more.regions[1].outputs[0]) return {};
  }
  std::vector<std::size_t> places(input_of.begin(), input_of.begin() + l.carries);
  for (std::size_t o = at(l.carries); o < inner.outputs.size(); ++o) {
    std::vector<ValueId>& outputs = more.regions[0].outputs;
    const ValueId y = (*there)[at(inner.outputs[o])];
    const auto found = std::find(outputs.begin() + m.carries, outputs.end(), y);
    places.push_back(static_cast<std::size_t>(found - outputs.begin()));
    if (found != outputs.end()) continue;
    outputs.push_back(y);
    // A while_loop's count comes last, behind the ys.
    more.out.insert(more.out.end() - (is_while ? 1 : 0), static_cast<ValueId>(g.values.size()));
    const Value copy = g.value(less.out[o]);
    g.values.push_back(copy);
  }
  if (is_while) places.push_back(more.out.size() - 1);
  return places;
}

// Whether node `to`, a later one, needs something of node `from`.
bool needs(const Graph& g, std::size_t from, std::size_t to) {
  std::vector<char> reached(g.values.size(), 0);
  for (const ValueId v : g.nodes[from].out) reached[at(v)] = 1;
  for (std::size_t n = from + 1; n <= to; ++n) {
    const Node& node = g.nodes[n];
    const bool here =
        std::any_of(node.in.begin(), node.in.end(), [&](ValueId v) { return reached[at(v)] != 0; });
    if (here && n == to) return true;
    for (const ValueId v : node.out) reached[at(v)] |= here ? 1 : 0;
  }
  return false;
}

// Nodes in their order but for those that now need a later one, which come behind it.
void sort_nodes(Graph& g) {
  const std::vector<std::int32_t> maker = makers(g);
  std::vector<char> done(g.nodes.size(), 0);
  std::vector<Node> sorted;
  std::vector<std::size_t> stack;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (!done[n]) stack.push_back(n);
    while (!stack.empty()) {
      const std::size_t top = stack.back();
      for (const ValueId v : g.nodes[top].in) {
        const std::int32_t m = maker[at(v)];
        if (m >= 0 && !done[static_cast<std::size_t>(m)]) stack.push_back(static_cast<std::size_t>(m));
      }
      if (stack.back() != top) continue;
      stack.pop_back();
      if (!done[top]) sorted.push_back(g.nodes[top]);
      done[top] = 1;
    }
  }
  g.nodes = std::move(sorted);
}

// Replaces one loop that is part of another; false: there is none.
bool join_one(Graph& g) {
  for (std::size_t a = 0; a < g.nodes.size(); ++a) {
    if (g.nodes[a].op != &scan_op && g.nodes[a].op != &while_op) continue;
    for (std::size_t b = 0; b < g.nodes.size(); ++b) {
      if (a == b || g.nodes[b].op != g.nodes[a].op || needs(g, std::min(a, b), std::max(a, b))) continue;
      const auto places = part_of(g, g.nodes[a], g.nodes[b]);
      if (!places) continue;
      std::vector<ValueId> renamed(g.values.size());
      for (std::size_t v = 0; v < renamed.size(); ++v) renamed[v] = static_cast<ValueId>(v);
      for (std::size_t o = 0; o < places->size(); ++o) {
        const ValueId part = g.nodes[a].out[o], whole = g.nodes[b].out[(*places)[o]];
        renamed[at(part)] = whole;
        // The other may be what a derivative made of it: pins and people know it by the name that it was given.
        g.value(whole).name = g.value(part).name;
      }
      g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(a));
      for (Node& n : g.nodes) {
        for (ValueId& v : n.in) v = renamed[at(v)];
      }
      for (ValueId& v : g.outputs) v = renamed[at(v)];
      sort_nodes(g);
      return true;
    }
  }
  return false;
}

// Of equal nodes one: which of them the other loop's stands for could not be told. As it was where that would make one result of two.
Graph without_equals(const Graph& body) {
  const auto distinct = [](const Graph& g) {
    return std::set<ValueId>(g.outputs.begin(), g.outputs.end()).size();
  };
  Graph fewer = cse(body);
  return distinct(fewer) == distinct(body) ? fewer : body;
}

}  // namespace

Graph join_loops(Graph graph) {
  for (Node& n : graph.nodes) {
    if (n.op != &scan_op && n.op != &while_op) continue;
    for (Graph& region : n.regions) region = without_equals(region);
  }
  while (join_one(graph)) {
  }
  return graph;
}

}  // namespace tidemark
