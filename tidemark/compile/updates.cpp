// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "tidemark/compile/optimise.h"
#include "tidemark/compile/storage_facts.h"
#include "tidemark/ir/op.h"
#include "tidemark/ops/assign.h"
#include "tidemark/ops/table.h"

namespace tidemark {

namespace {

// An old version that is itself a result, or the next version of another state (a swap, a leapfrog step), is copied before
// anything is updated.
void copy_returned_versions(Graph& graph) {
  std::vector<char> updated(graph.values.size(), 0);
  std::vector<std::int32_t> update_of(graph.outputs.size(), -1);
  for (const auto& [in, out] : graph.updates) {
    updated[static_cast<std::size_t>(graph.inputs[static_cast<std::size_t>(in)])] = 1;
    update_of[static_cast<std::size_t>(out)] = in;
  }
  std::unordered_map<ValueId, ValueId> copies;
  std::vector<Node> first;
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    const ValueId v = graph.outputs[o];
    if (v >= static_cast<ValueId>(updated.size()) || !updated[static_cast<std::size_t>(v)]) continue;
    if (update_of[o] >= 0 && graph.inputs[static_cast<std::size_t>(update_of[o])] == v) continue;  // unchanged
    auto [copy, fresh] = copies.try_emplace(v, static_cast<ValueId>(graph.values.size()));
    if (fresh) {
      graph.values.push_back(Value{.type = graph.type(v), .name = graph.value(v).name});
      first.push_back(Node{.op = find_op("contiguous"), .in = {v}, .out = {copy->second}});
    }
    graph.outputs[o] = copy->second;
  }
  graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
}

// Whether the node may write `next` into the storage of `old`, which it reads.
bool may_take(const Node& node, ValueId old, ValueId next) {
  for (const auto& [i, o] : node.op->facts.in_place) {
    if (i < static_cast<int>(node.in.size()) && o < static_cast<int>(node.out.size()) &&
        node.in[static_cast<std::size_t>(i)] == old && node.out[static_cast<std::size_t>(o)] == next)
      return true;
  }
  return false;
}

// Data other than indices, which are looked at before an update (compile/data_checks.h): it may be met with half of the result made.
bool may_refuse_on_the_way(const Node& node) {
  const auto any = [](const Graph& region) {
    return std::any_of(region.nodes.begin(), region.nodes.end(), [](const Node& inner) {
      return inner.op->facts.may_refuse || may_refuse_on_the_way(inner);
    });
  };
  return (node.op->facts.may_refuse && node.op->indices == nullptr) ||
         std::any_of(node.regions.begin(), node.regions.end(), any);
}

}  // namespace

Graph place_updates(Graph graph) {
  copy_returned_versions(graph);
  const std::vector<std::int32_t> maker = makers(graph);
  std::vector<std::int32_t> last_reader(graph.values.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId v : graph.nodes[n].in) {
      auto& last = last_reader[static_cast<std::size_t>(root_of(graph, v))];
      last = std::max(last, static_cast<std::int32_t>(n));
    }
  }
  std::vector<char> taken(graph.values.size(), 0);
  for (const auto& [in, out] : graph.updates) {
    const ValueId old = graph.inputs[static_cast<std::size_t>(in)];
    ValueId& next = graph.outputs[static_cast<std::size_t>(out)];
    const std::int32_t n = maker[static_cast<std::size_t>(next)];
    bool direct = n >= 0 && graph.value(next).alias_of < 0 && !taken[static_cast<std::size_t>(next)] &&
                  last_reader[static_cast<std::size_t>(old)] <= n;
    direct = direct && !may_refuse_on_the_way(graph.nodes[static_cast<std::size_t>(n)]);
    // A place that nobody reads can take what any node makes.
    const bool only_written = direct && last_reader[static_cast<std::size_t>(old)] < 0 && covers_alike(graph.value(old), graph.value(next));
    if (direct && !only_written) {
      const Node& node = graph.nodes[static_cast<std::size_t>(n)];
      direct = std::count(node.in.begin(), node.in.end(), old) == 1 &&
               may_take(node, old, next) && covers_alike(graph.value(old), graph.value(next));
      // Another input that views the old version would be overwritten under the kernel.
      for (const ValueId v : node.in) direct = direct && (v == old || root_of(graph, v) != old);
    }
    if (!direct) {
      graph.values.push_back(Value{.type = graph.type(old), .name = graph.value(old).name});
      const auto assigned = static_cast<ValueId>(graph.values.size() - 1);
      graph.nodes.push_back(Node{.op = &assign_op, .in = {old, next}, .out = {assigned}});
      next = assigned;
      taken.push_back(0);
    }
    taken[static_cast<std::size_t>(next)] = 1;
  }
  return graph;
}

namespace {

// Nodes that only updates depend on and that give back at least the memory they take: an input that nobody else reads
// goes as soon as they have run. The rest of the backward pass serves updates alone too, but run early it would only
// hold more.
std::vector<char> may_run_early(const Graph& g) {
  std::vector<char> wanted_elsewhere(g.values.size(), 0), is_update(g.values.size(), 0);
  std::vector<std::int32_t> readers(g.values.size(), 0);
  for (const auto& [in, out] : g.updates) is_update[static_cast<std::size_t>(g.outputs[static_cast<std::size_t>(out)])] = 1;
  for (const ValueId v : g.outputs) {
    if (!is_update[static_cast<std::size_t>(v)]) wanted_elsewhere[static_cast<std::size_t>(v)] = 1;
  }
  for (const Node& node : g.nodes) {
    for (const ValueId v : node.in) ++readers[static_cast<std::size_t>(root_of(g, v))];
  }
  const std::vector<std::int32_t> maker = makers(g);
  constexpr Bytes kSmall = 4096;
  std::vector<char> early(g.nodes.size(), 0);
  for (std::size_t n = g.nodes.size(); n-- > 0;) {
    const Node& node = g.nodes[n];
    const auto elsewhere = [&](ValueId v) { return wanted_elsewhere[static_cast<std::size_t>(v)] != 0; };
    Bytes taken = 0, given = 0;
    for (const ValueId v : node.out) taken += is_update[static_cast<std::size_t>(v)] || g.value(v).alias_of >= 0 ? 0 : g.type(v).bytes();
    for (const ValueId v : node.in) {
      const auto root = static_cast<std::size_t>(root_of(g, v));
      if (readers[root] == 1 && maker[root] >= 0) given += g.values[root].type.bytes();
    }
    early[n] = std::none_of(node.out.begin(), node.out.end(), elsewhere) && (taken <= given || taken <= kSmall);
    if (early[n]) continue;
    for (const ValueId v : node.in) wanted_elsewhere[static_cast<std::size_t>(v)] = 1;
  }
  return early;
}

}  // namespace

Graph early_updates(Graph g) {
  const std::vector<char> early = may_run_early(g);
  const std::vector<std::int32_t> maker = makers(g);
  // waits[n]: makers of its inputs, and for an update the other readers of the version it overwrites, not yet placed.
  std::vector<std::int32_t> waits(g.nodes.size(), 0);
  std::vector<std::vector<std::int32_t>> frees(g.nodes.size());
  const auto wait = [&](std::int32_t n, std::int32_t on) {
    if (on < 0 || on == n) return;
    ++waits[static_cast<std::size_t>(n)];
    frees[static_cast<std::size_t>(on)].push_back(n);
  };
  std::vector<std::int32_t> overwriter(g.values.size(), -1);
  for (const auto& [in, out] : g.updates) {
    overwriter[static_cast<std::size_t>(g.inputs[static_cast<std::size_t>(in)])] = maker[static_cast<std::size_t>(g.outputs[static_cast<std::size_t>(out)])];
  }
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    for (const ValueId v : g.nodes[n].in) {
      wait(static_cast<std::int32_t>(n), maker[static_cast<std::size_t>(v)]);
      const std::int32_t update = overwriter[static_cast<std::size_t>(root_of(g, v))];
      if (update >= 0) wait(update, static_cast<std::int32_t>(n));
    }
  }
  // The given order, with the nodes that serve updates slipped in as soon as they can run.
  std::vector<std::int32_t> order;
  order.reserve(g.nodes.size());
  std::vector<char> placed(g.nodes.size(), 0);
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  const auto place = [&](std::int32_t n) {
    placed[static_cast<std::size_t>(n)] = 1;
    order.push_back(n);
    for (const std::int32_t m : frees[static_cast<std::size_t>(n)]) {
      if (--waits[static_cast<std::size_t>(m)] == 0 && early[static_cast<std::size_t>(m)]) ready.push(m);
    }
  };
  const auto place_ready = [&] {
    while (!ready.empty()) {
      const std::int32_t m = ready.top();
      ready.pop();
      if (!placed[static_cast<std::size_t>(m)]) place(m);
    }
  };
  // The step count and the rates made from it wait for nothing, and every other update for them.
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (early[n] && waits[n] == 0) ready.push(static_cast<std::int32_t>(n));
  }
  place_ready();
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (!placed[n] && !early[n]) {
      TIDEMARK_CHECK(waits[n] == 0, "node {} would run before what it waits for", n);
      place(static_cast<std::int32_t>(n));
    }
    place_ready();
  }
  TIDEMARK_CHECK(order.size() == g.nodes.size(), "{} of {} nodes placed", order.size(), g.nodes.size());
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (const std::int32_t n : order) nodes.push_back(std::move(g.nodes[static_cast<std::size_t>(n)]));
  g.nodes = std::move(nodes);
  return g;
}

}  // namespace tidemark
