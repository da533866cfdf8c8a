// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/fuse.h"

#include <algorithm>
#include <map>
#include <queue>

#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"

namespace tidemark {
namespace {

using Ord = std::int32_t;  // of a node or a group

bool is_constant(const Node& n) { return n.op->elementwise() && n.in.empty() && repeatable(n); }
bool is_fold(const Node& n) { return n.op->fold != Fold::none && n.in.size() == 1 && n.out.size() == 1; }
// A node that takes no time worth looking at, or that may join a chain itself.
bool is_light(const Node& n) { return n.op->elementwise() || is_fold(n) || n.op->view != nullptr; }

// A set of nodes that will be one. `level` is above that of every group whose values it reads, so a group of a level
// that is not higher cannot depend on it: that is all that is needed to keep the graph free of cycles.
struct Group {
  std::vector<Ord> nodes;
  Shape domain;
  Ord level = 0;
  Ord window = -1;               // of heavy nodes before it; -1: may not grow
  Ord readers_outside = 0;       // of its values, among the nodes seen so far
  Ord folds = 0;
  const Attrs* fold_attrs = nullptr;
};

class Fusing {
 public:
  Fusing(const Graph& g, const FuseOptions& options) : g_(g), options_(options), maker_(makers(g)), group_of_(g.nodes.size(), -1) {}

  std::vector<Group> run() {
    Ord window = 0;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      if (!is_light(node)) ++window;
      const Ord target = is_constant(node) ? -1 : is_fold(node) ? fold_target(node, window) : chain_target(node, window);
      if (target >= 0) {
        join(static_cast<Ord>(n), target);
      } else {
        start(static_cast<Ord>(n), node.op->elementwise() && !node.in.empty() && node.out.size() == 1 ? window : -1);
      }
    }
    return std::move(groups_);
  }

 private:
  Group& group(Ord i) { return groups_[static_cast<std::size_t>(i)]; }
  Ord group_of_value(ValueId v) const {
    const Ord n = maker_[static_cast<std::size_t>(v)];
    return n < 0 ? -1 : group_of_[static_cast<std::size_t>(n)];
  }
  // Groups whose values the node reads; constants are copied into the chain and do not count.
  std::vector<Ord> read_groups(const Node& node) const {
    std::vector<Ord> found;
    for (const ValueId v : node.in) {
      const Ord n = maker_[static_cast<std::size_t>(v)];
      if (n < 0 || is_constant(g_.nodes[static_cast<std::size_t>(n)])) continue;
      const Ord i = group_of_[static_cast<std::size_t>(n)];
      if (std::find(found.begin(), found.end(), i) == found.end()) found.push_back(i);
    }
    return found;
  }
  bool grows(const Group& p, Ord window, const Shape& domain) const {
    return p.window == window && p.folds == 0 && p.domain == domain;
  }

  // The group that an elementwise node joins, after merging into it those that must and can be; -1: none.
  Ord chain_target(const Node& node, Ord window) {
    if (!node.op->elementwise() || node.out.size() != 1) return -1;
    const Shape& domain = g_.type(node.out[0]).shape;
    const std::vector<Ord> read = read_groups(node);
    Ord target = -1;
    for (const Ord i : read) {
      if (grows(group(i), window, domain) && (target < 0 || group(i).level > group(target).level)) target = i;
    }
    if (target < 0) return -1;
    std::vector<Ord> merged;
    std::size_t nodes = group(target).nodes.size() + 1;
    Ord level = group(target).level;
    for (const Ord i : read) {
      if (i == target) continue;
      Group& p = group(i);
      // Nobody outside reads it but this node: it can move to where this node runs.
      if (grows(p, window, domain) && p.readers_outside == 0) {
        merged.push_back(i);
        nodes += p.nodes.size();
        level = std::max(level, p.level);
      } else {
        level = std::max(level, p.level + 1);
      }
    }
    // A group that others read keeps its level, since theirs lie above it; one that nobody reads yet may rise.
    if (level > group(target).level && group(target).readers_outside > 0) return -1;
    if (nodes > static_cast<std::size_t>(options_.max_nodes) || !fits(target, merged, node)) return -1;
    group(target).level = level;
    for (const Ord i : merged) merge(i, target);
    return target;
  }

  Ord fold_target(const Node& node, Ord window) {
    const Ord i = group_of_value(node.in[0]);
    if (i < 0) return -1;
    const Group& p = group(i);
    if (p.window != window || p.domain != g_.type(node.in[0]).shape || p.folds >= options_.max_folds) return -1;
    const Node& made = g_.nodes[static_cast<std::size_t>(maker_[static_cast<std::size_t>(node.in[0])])];
    if (!made.op->elementwise() || is_constant(made)) return -1;
    if (p.folds > 0 && !(*p.fold_attrs == node.attrs)) return -1;
    return i;
  }

  // Few enough arrays in and out.
  bool fits(Ord target, const std::vector<Ord>& merged, const Node& node) {
    std::vector<ValueId> inputs;
    const auto add = [&](const Node& n) {
      for (const ValueId v : n.in) {
        const Ord from = group_of_value(v);
        if (from >= 0 && (from == target || std::find(merged.begin(), merged.end(), from) != merged.end())) continue;
        if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
      }
    };
    for (const Ord n : group(target).nodes) add(g_.nodes[static_cast<std::size_t>(n)]);
    for (const Ord m : merged) {
      for (const Ord n : group(m).nodes) add(g_.nodes[static_cast<std::size_t>(n)]);
    }
    add(node);
    return inputs.size() <= static_cast<std::size_t>(options_.max_inputs);
  }

  void merge(Ord from, Ord into) {
    for (const Ord n : group(from).nodes) group_of_[static_cast<std::size_t>(n)] = into;
    auto& nodes = group(into).nodes;
    nodes.insert(nodes.end(), group(from).nodes.begin(), group(from).nodes.end());
    group(from) = Group{};
  }

  void count_readers(const Node& node, Ord reader) {
    for (const Ord i : read_groups(node)) {
      if (i != reader) ++group(i).readers_outside;
    }
  }
  void start(Ord n, Ord window) {
    const Node& node = g_.nodes[static_cast<std::size_t>(n)];
    Group p{.nodes = {n}, .domain = node.out.empty() ? Shape{} : g_.type(node.out[0]).shape, .window = window};
    for (const Ord i : read_groups(node)) p.level = std::max(p.level, group(i).level + 1);
    group_of_[static_cast<std::size_t>(n)] = static_cast<Ord>(groups_.size());
    groups_.push_back(std::move(p));
    count_readers(node, static_cast<Ord>(groups_.size() - 1));
  }
  void join(Ord n, Ord target) {
    const Node& node = g_.nodes[static_cast<std::size_t>(n)];
    group_of_[static_cast<std::size_t>(n)] = target;
    group(target).nodes.push_back(n);
    if (is_fold(node)) {
      ++group(target).folds;
      group(target).fold_attrs = &node.attrs;
    }
    count_readers(node, target);
  }

  const Graph& g_;
  const FuseOptions& options_;
  std::vector<Ord> maker_, group_of_;
  std::vector<Group> groups_;
};

// One node for a group: its region, the values it reads, the values that leave it.
Node fused_node(const Graph& g, const Group& p, const std::vector<Ord>& maker, const std::vector<char>& leaves, const Op& op) {
  Node fused{.op = &op, .loc = g.nodes[static_cast<std::size_t>(p.nodes.back())].loc};
  Graph region;
  std::map<ValueId, ValueId> inside;
  const auto add_value = [&](ValueId v) {
    region.values.push_back(Value{.type = g.type(v), .name = g.value(v).name});
    const auto id = static_cast<ValueId>(region.values.size() - 1);
    inside.emplace(v, id);
    return id;
  };
  std::vector<Ord> nodes = p.nodes;
  std::sort(nodes.begin(), nodes.end());  // the given order is a valid one
  // Constants come with their readers.
  std::vector<Ord> with_constants;
  for (const Ord n : nodes) {
    for (const ValueId v : g.nodes[static_cast<std::size_t>(n)].in) {
      const Ord m = maker[static_cast<std::size_t>(v)];
      if (m >= 0 && is_constant(g.nodes[static_cast<std::size_t>(m)]) &&
          std::find(with_constants.begin(), with_constants.end(), m) == with_constants.end()) {
        with_constants.push_back(m);
      }
    }
    with_constants.push_back(n);
  }
  for (const Ord n : with_constants) {
    for (const ValueId v : g.nodes[static_cast<std::size_t>(n)].out) inside.emplace(v, -1);
  }
  std::vector<ValueId> outer_inputs;
  for (const Ord n : with_constants) {
    for (const ValueId v : g.nodes[static_cast<std::size_t>(n)].in) {
      if (inside.count(v) == 0) outer_inputs.push_back(v), add_value(v);
    }
  }
  for (const ValueId v : outer_inputs) region.inputs.push_back(inside.at(v));
  fused.in = outer_inputs;
  for (const Ord n : with_constants) {
    Node node = g.nodes[static_cast<std::size_t>(n)];
    for (ValueId& v : node.in) v = inside.at(v);
    for (ValueId& v : node.out) {
      inside.erase(v);
      v = add_value(v);
    }
    region.nodes.push_back(std::move(node));
  }
  for (const Ord n : nodes) {
    for (const ValueId v : g.nodes[static_cast<std::size_t>(n)].out) {
      if (!leaves[static_cast<std::size_t>(v)]) continue;
      fused.out.push_back(v);
      region.outputs.push_back(inside.at(v));
    }
  }
  fused.regions.push_back(std::move(region));
  return fused;
}

}  // namespace

Graph fuse(const Graph& graph, const Op& chain, const Op& chain_with_folds, const FuseOptions& options) {
  std::vector<Group> groups = Fusing(graph, options).run();
  groups.erase(std::remove_if(groups.begin(), groups.end(), [](const Group& p) { return p.nodes.empty(); }), groups.end());
  const std::vector<Ord> maker = makers(graph);
  std::vector<Ord> group_of(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const Ord n : groups[i].nodes) group_of[static_cast<std::size_t>(n)] = static_cast<Ord>(i);
  }
  std::vector<char> leaves(graph.values.size(), 0);
  for (const ValueId v : graph.outputs) leaves[static_cast<std::size_t>(v)] = 1;
  std::vector<Ord> waits(groups.size(), 0);
  std::vector<std::vector<Ord>> frees(groups.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Ord to = group_of[n];
    for (const ValueId v : graph.nodes[n].in) {
      const Ord m = maker[static_cast<std::size_t>(v)];
      if (m < 0 || group_of[static_cast<std::size_t>(m)] == to) continue;
      leaves[static_cast<std::size_t>(v)] = 1;
      ++waits[static_cast<std::size_t>(to)];
      frees[static_cast<std::size_t>(group_of[static_cast<std::size_t>(m)])].push_back(to);
    }
  }
  // Groups in the order of their first nodes, as far as what they read allows.
  Graph result = graph;
  result.nodes.clear();
  std::priority_queue<std::pair<Ord, Ord>, std::vector<std::pair<Ord, Ord>>, std::greater<>> ready;
  const auto first_of = [&](Ord i) { return *std::min_element(groups[static_cast<std::size_t>(i)].nodes.begin(), groups[static_cast<std::size_t>(i)].nodes.end()); };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (waits[i] == 0) ready.emplace(first_of(static_cast<Ord>(i)), static_cast<Ord>(i));
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const Ord i = ready.top().second;
    ready.pop();
    ++done;
    const Group& p = groups[static_cast<std::size_t>(i)];
    if (p.nodes.size() == 1) {
      result.nodes.push_back(graph.nodes[static_cast<std::size_t>(p.nodes[0])]);
    } else {
      result.nodes.push_back(fused_node(graph, p, maker, leaves, p.folds > 0 ? chain_with_folds : chain));
    }
    for (const Ord j : frees[static_cast<std::size_t>(i)]) {
      if (--waits[static_cast<std::size_t>(j)] == 0) ready.emplace(first_of(j), j);
    }
  }
  TIDEMARK_CHECK(done == groups.size(), "fusing made a cycle: {} of {} groups placed", done, groups.size());
  return dce(result);
}

}  // namespace tidemark
