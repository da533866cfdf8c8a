// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/branch.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

struct Node {
  int parent = -1;
  BufferId value = -1;  // decided here
  bool stored = false;
  double seconds = 0, price = 0;
  std::vector<BufferId> choices;  // on what to split it next; none: it is tight
  int left = -1;                  // children: left does not store, left + 1 does
};

constexpr std::size_t kTries = 3;

class Tree {
 public:
  Tree(const Values& values, CutModel& model, const BranchOptions& options)
      : v_(values), m_(model), o_(options) {}

  Certificate grow() {
    Node root;
    root.choices = solve(root, {});
    nodes_.push_back(std::move(root));
    for (int leaves = 1; leaves < o_.leaves; ++leaves) {
      const int worst = lowest_leaf(nodes_);
      if (nodes_[at(worst)].choices.empty() || nodes_[at(worst)].seconds >= o_.enough || !o_.go_on()) break;
      if (!split(worst)) break;
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

  // The bound of a node, and the values that its two cuts treat differently, largest first.
  std::vector<BufferId> solve(Node& node, const std::vector<int>& above) {
    for (int p : above) m_.decide(nodes_[at(p)].value, nodes_[at(p)].stored ? 1 : 0);
    if (node.parent >= 0) m_.decide(node.value, node.stored ? 1 : 0);
    Cut more, less;
    const double hint = node.parent >= 0 ? nodes_[at(node.parent)].price : o_.price;
    const Cut best = m_.best(o_.budget, o_.enough, {.more = &more, .less = &less, .price = hint});
    node.seconds = best.seconds;
    node.price = best.price;
    std::sort(more.stored.begin(), more.stored.end());
    std::sort(less.stored.begin(), less.stored.end());
    std::vector<BufferId> differ;
    std::set_symmetric_difference(more.stored.begin(), more.stored.end(), less.stored.begin(),
                                  less.stored.end(), std::back_inserter(differ));
    std::erase_if(differ, [&](BufferId v) { return !m_.can_decide(v); });
    std::stable_sort(differ.begin(), differ.end(),
                     [&](BufferId a, BufferId b) { return v_.size[at(a)] > v_.size[at(b)]; });
    if (node.parent >= 0) m_.decide(node.value, -1);
    for (int p : above) m_.decide(nodes_[at(p)].value, -1);
    return differ;
  }

  // Tries to split on the largest few and keeps the split that lifts its lower child most: fewer, better
  // leaves. False, and the parent stays a leaf: there was no time for that.
  bool split(int parent) {
    const std::vector<int> above = path(parent);
    const std::vector<BufferId> choices = nodes_[at(parent)].choices;
    std::pair<Node, Node> best;
    double best_low = -1, best_high = -1;
    for (std::size_t c = 0; c < choices.size() && c < kTries; ++c) {
      std::pair<Node, Node> children;
      for (const bool stored : {false, true}) {
        Node& n = stored ? children.second : children.first;
        n.parent = parent;
        n.value = choices[c];
        n.stored = stored;
        n.choices = solve(n, above);
        if (!m_.complete()) return false;
      }
      const double low = std::min(children.first.seconds, children.second.seconds);
      const double high = std::max(children.first.seconds, children.second.seconds);
      if (low > best_low + 1e-12 * low || (low >= best_low - 1e-12 * low && high > best_high)) {
        best_low = low;
        best_high = high;
        best = std::move(children);
      }
      if (low >= o_.enough) break;
    }
    nodes_[at(parent)].left = static_cast<int>(nodes_.size());
    nodes_.push_back(std::move(best.first));
    nodes_.push_back(std::move(best.second));
    return true;
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
      m_.allow_again();
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
