// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/join.h"

#include <algorithm>

namespace tidemark {
namespace {

constexpr std::int64_t kThin = 64;  // a product over no more is bound by writing its result

class Joining {
 public:
  Joining(Graph graph, const JoinOps& ops)
      : g_(std::move(graph)),
        ops_(ops),
        maker_(makers(g_)),
        readers_(g_.values.size(), 0),
        summed_(g_.values.size(), 0),
        gone_(g_.nodes.size(), 0),
        instead_(g_.nodes.size()) {
    for (const Node& n : g_.nodes) {
      for (const ValueId v : n.in) ++readers_[at(v)], summed_[at(v)] |= static_cast<char>(is_plain_add(n));
    }
    for (const ValueId v : g_.outputs) ++readers_[at(v)];
  }

  Graph run() {
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      if (is_plain_add(g_.nodes[n]) && !is_inner(g_.nodes[n].out[0])) join(n);
    }
    std::vector<Node> nodes;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      std::move(instead_[n].begin(), instead_[n].end(), std::back_inserter(nodes));
      if (!gone_[n]) nodes.push_back(std::move(g_.nodes[n]));
    }
    g_.nodes = std::move(nodes);
    return std::move(g_);
  }

 private:
  static std::size_t at(std::int32_t v) { return static_cast<std::size_t>(v); }
  const Node* made_by(ValueId v, const Op& op) const {
    const std::int32_t n = maker_[at(v)];
    return n >= 0 && g_.nodes[at(n)].op == &op ? &g_.nodes[at(n)] : nullptr;
  }
  bool is_plain_add(const Node& n) const {
    return n.op == &ops_.add && g_.type(n.in[0]) == g_.type(n.out[0]) &&
           g_.type(n.in[1]) == g_.type(n.out[0]);
  }
  // A sum that one other sum alone reads.
  bool is_inner(ValueId v) const {
    const Node* n = made_by(v, ops_.add);
    return n != nullptr && readers_[at(v)] == 1 && summed_[at(v)] != 0 && is_plain_add(*n);
  }
  std::int64_t depth(const Node& product) const { return g_.type(product.in[0]).shape[-1]; }
  const Node* thin_product(ValueId v) const {
    const Node* n = made_by(v, ops_.matmul);
    const bool thin = n != nullptr && readers_[at(v)] == 1 && g_.type(n->in[0]).shape.rank() == 2 &&
                      g_.type(n->in[1]).shape.rank() == 2 && depth(*n) <= kThin;
    return thin ? n : nullptr;
  }

  void join(std::size_t root) {
    std::vector<ValueId> terms, inner, stack{g_.nodes[root].in[1], g_.nodes[root].in[0]};
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      if (!is_inner(v)) {
        terms.push_back(v);
        continue;
      }
      inner.push_back(v);
      const Node& n = g_.nodes[at(maker_[at(v)])];
      stack.insert(stack.end(), {n.in[1], n.in[0]});
    }
    const Shape& shape = g_.type(g_.nodes[root].out[0]).shape;
    std::vector<std::vector<ValueId>> groups;
    std::vector<ValueId> rest;
    std::int64_t held = 0;
    for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
      const Node* product = thin_product(*term);
      if (product == nullptr) {
        rest.push_back(*term);
        continue;
      }
      const std::int64_t own = depth(*product) * (shape[0] + shape[1]);
      if (groups.empty() || held + own > 2 * shape.numel()) groups.emplace_back(), held = 0;
      groups.back().push_back(*term);
      held += own;
    }
    if (std::none_of(groups.begin(), groups.end(), [](const auto& group) { return group.size() > 1; }))
      return;
    const Node last = g_.nodes[root];
    gone_[root] = 1;
    for (const ValueId v : inner) gone_[at(maker_[at(v)])] = 1;
    std::vector<Node>& to = instead_[root];
    std::reverse(rest.begin(), rest.end());
    for (const std::vector<ValueId>& group : groups)
      rest.push_back(group.size() > 1 ? product_of(group, to) : group[0]);
    for (std::size_t i = 1; i < rest.size(); ++i)
      rest[i] = emit(to, ops_.add, {rest[i - 1], rest[i]}, {}, g_.type(last.out[0]));
    to.back().out = last.out;  // the last node made is the sum, or the only product
  }

  ValueId product_of(const std::vector<ValueId>& group, std::vector<Node>& to) {
    std::vector<ValueId> left, right;
    for (const ValueId v : group) {
      const Node& product = g_.nodes[at(maker_[at(v)])];
      gone_[at(maker_[at(v)])] = 1;
      left.push_back(product.in[0]);
      right.push_back(product.in[1]);
    }
    const Type type = g_.type(group[0]);
    const ValueId a = put_together(left, 1, to), b = put_together(right, 0, to);
    return emit(to, ops_.matmul, {a, b}, {}, type);
  }

  // The parts one behind the other; where all are turned, what they are turns of.
  ValueId put_together(std::vector<ValueId> parts, std::int64_t axis, std::vector<Node>& to) {
    const bool turned = std::all_of(parts.begin(), parts.end(), [&](ValueId v) {
      return made_by(v, ops_.permute) != nullptr && made_by(v, ops_.permute)->attrs.integers("axes") == kTurn;
    });
    if (turned) {
      for (ValueId& v : parts) v = made_by(v, ops_.permute)->in[0];
      axis = 1 - axis;
    }
    std::vector<std::int64_t> sizes = g_.type(parts[0]).shape.sizes();
    sizes[static_cast<std::size_t>(axis)] = 0;
    for (const ValueId v : parts)
      sizes[static_cast<std::size_t>(axis)] += g_.type(v).shape[static_cast<int>(axis)];
    const DType dtype = g_.type(parts[0]).dtype;
    const ValueId whole = emit(to, ops_.concat, parts, {{"axis", axis}}, {Shape(sizes), dtype});
    if (!turned) return whole;
    std::swap(sizes[0], sizes[1]);
    return emit(to, ops_.permute, {whole}, {{"axes", kTurn}}, {Shape(sizes), dtype});
  }

  ValueId emit(std::vector<Node>& to, const Op& op, std::vector<ValueId> in, Attrs attrs, const Type& type) {
    g_.values.push_back(Value{.type = type, .name = g_.value(in[0]).name});
    const auto made = static_cast<ValueId>(g_.values.size() - 1);
    to.push_back(Node{.op = &op, .in = std::move(in), .out = {made}, .attrs = std::move(attrs), .loc = {}});
    return made;
  }

  const std::vector<std::int64_t> kTurn{1, 0};
  Graph g_;
  const JoinOps& ops_;
  std::vector<std::int32_t> maker_, readers_;
  std::vector<char> summed_, gone_;
  std::vector<std::vector<Node>> instead_;  // of the root of a sum
};

}  // namespace

Graph join_rows(Graph graph, const Op& add, const Op& index_add, const Op& index_add_to) {
  const std::vector<std::int32_t> maker = makers(graph);
  std::vector<std::int32_t> readers(graph.values.size(), 0);
  for (const Node& n : graph.nodes) {
    for (const ValueId v : n.in) ++readers[static_cast<std::size_t>(v)];
  }
  for (const ValueId v : graph.outputs) ++readers[static_cast<std::size_t>(v)];
  for (Node& n : graph.nodes) {
    if (n.op != &add || graph.type(n.in[0]) != graph.type(n.in[1])) continue;
    for (const std::size_t side : {0, 1}) {
      const auto rows = static_cast<std::size_t>(n.in[side]);
      if (maker[rows] < 0 || readers[rows] != 1) continue;
      const Node& made = graph.nodes[static_cast<std::size_t>(maker[rows])];
      if (made.op != &index_add) continue;
      n.attrs = {{"axis", made.attrs.integer("axis")}};
      n.in = {n.in[1 - side], made.in[0], made.in[1]};
      n.op = &index_add_to;
      break;
    }
  }
  return graph;
}

Graph join_products(Graph graph, const JoinOps& ops) { return Joining(std::move(graph), ops).run(); }

}  // namespace tidemark
