// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/branch.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

struct Node {
  int parent = -1;
  ValueId value = -1;  // decided here
  bool stored = false;
  double seconds = 0, price = 0;
  ValueId split = -1;  // on what to split it next; -1: it is tight
  int left = -1;       // children: left does not store, left + 1 does
};

class Tree {
 public:
  Tree(const Values& values, CutModel& model, const BranchOptions& options)
      : v_(values), m_(model), o_(options) {}

  Certificate grow() {
    nodes_.emplace_back();
    solve(0);
    for (int leaves = 1; leaves < o_.leaves; ++leaves) {
      const int worst = lowest_leaf();
      if (nodes_[at(worst)].split < 0 || nodes_[at(worst)].seconds >= o_.enough || !o_.go_on()) break;
      split(worst);
    }
    return certificate();
  }

 private:
  std::vector<int> path(int node) const {
    std::vector<int> nodes;
    for (; nodes_[at(node)].parent >= 0; node = nodes_[at(node)].parent) nodes.push_back(node);
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  void enter(int node) {
    for (int p : path(node)) m_.decide(nodes_[at(p)].value, nodes_[at(p)].stored ? 1 : 0);
  }
  void leave(int node) {
    for (int p : path(node)) m_.decide(nodes_[at(p)].value, -1);
  }

  void solve(int node) {
    enter(node);
    Cut more, less;
    const Cut best = m_.best(o_.budget, o_.enough, &more, &less);
    Node& n = nodes_[at(node)];
    n.seconds = best.seconds;
    n.price = best.price;
    std::sort(more.stored.begin(), more.stored.end());
    std::sort(less.stored.begin(), less.stored.end());
    std::vector<ValueId> differ;
    std::set_symmetric_difference(more.stored.begin(), more.stored.end(), less.stored.begin(),
                                  less.stored.end(), std::back_inserter(differ));
    for (ValueId v : differ) {
      if (m_.can_decide(v) && (n.split < 0 || v_.size[at(v)] > v_.size[at(n.split)])) n.split = v;
    }
    leave(node);
  }

  int lowest_leaf() const {
    int lowest = -1;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].left < 0 && (lowest < 0 || nodes_[i].seconds < nodes_[at(lowest)].seconds))
        lowest = static_cast<int>(i);
    }
    return lowest;
  }

  void split(int node) {
    const auto first = static_cast<int>(nodes_.size());
    nodes_[at(node)].left = first;
    for (const bool stored : {false, true}) {
      Node child;
      child.parent = node;
      child.value = nodes_[at(node)].split;
      child.stored = stored;
      nodes_.push_back(child);
    }
    solve(first);
    solve(first + 1);
  }

  Certificate certificate() {
    Certificate c;
    c.unit_exponent = unit_exponent_for(v_.floor_seconds);
    c.moments = {m_.facts().task};
    std::vector<int> stack{0};
    while (!stack.empty()) {
      const int node = stack.back();
      stack.pop_back();
      if (nodes_[at(node)].left >= 0) {
        stack.push_back(nodes_[at(node)].left + 1);
        stack.push_back(nodes_[at(node)].left);
        continue;
      }
      enter(node);
      Certificate::Leaf leaf;
      if (nodes_[at(node)].seconds == std::numeric_limits<double>::infinity()) {
        m_.least_stored(&leaf);
        leaf.impossible = true;
      } else {
        m_.cut(nodes_[at(node)].price, o_.budget);
        leaf = m_.leaf(nodes_[at(node)].price);
      }
      leaf.decisions.clear();
      for (int p : path(node)) leaf.decisions.push_back({1, nodes_[at(p)].value, nodes_[at(p)].stored});
      leave(node);
      c.leaves.push_back(std::move(leaf));
    }
    return c;
  }

  const Values& v_;
  CutModel& m_;
  BranchOptions o_;
  std::vector<Node> nodes_;
};

}  // namespace

Certificate branch(const Values& values, CutModel& model, const BranchOptions& options) {
  return Tree(values, model, options).grow();
}

}  // namespace tidemark::plan
