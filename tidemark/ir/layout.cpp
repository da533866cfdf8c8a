// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/layout.h"

namespace tidemark {
namespace {

using Order = std::vector<int>;

// Axes in `order`, dense; where only axes of size 1 make it differ from row-major, row-major.
Layout ordered(const Shape& shape, const Order& order) {
  Layout layout = permuted_layout(shape, order);
  if (layout.strides.empty()) return layout;
  const auto plain = row_major_strides(shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (shape[axis] > 1 && layout.strides[i] != plain[i]) return layout;
  }
  return {};
}

class Pass {
 public:
  Pass(Graph graph, const Op& copy)
      : g_(std::move(graph)),
        copy_(copy),
        order_(g_.values.size()),
        copies_(g_.values.size()),
        is_input_(g_.values.size(), 0),
        readers_(g_.values.size(), 0) {
    for (const ValueId v : g_.inputs) is_input_[at(v)] = 1;
    for (const Node& node : g_.nodes) {
      for (std::size_t i = 0; i < node.in.size(); ++i) readers_[at(node.in[i])] += node.op->packed != nullptr;
    }
  }

  Graph run() {
    std::vector<Node> before = std::move(g_.nodes);
    g_.nodes.clear();
    g_.nodes.reserve(before.size());
    for (Node& node : before) {
      if (!alias(node)) lay_out(node);
      g_.nodes.push_back(std::move(node));
    }
    for (ValueId& v : g_.outputs) {
      if (!g_.value(v).layout.dense_row_major() || borrows(v)) v = copied(v, {}, {});
    }
    return std::move(g_);
  }

 private:
  // A view that is an output keeps its storage only where it is all of a storage made here.
  bool borrows(ValueId v) const {
    const ValueId root = g_.value(v).alias_of;
    return root >= 0 && (g_.type(root).bytes() != g_.type(v).bytes() || is_input_[at(root)] != 0);
  }

  KernelSpec spec_of(const Node& node) const {
    KernelSpec spec{.attrs = node.attrs, .regions = node.regions};
    for (const ValueId v : node.in) spec.in.push_back(g_.value(v));
    for (const ValueId v : node.out) spec.out.push_back(g_.value(v));
    return spec;
  }

  // Makes the node's outputs views of its first input, where all of them can be.
  bool alias(const Node& node) {
    if (node.op->view == nullptr || node.out.empty()) return false;
    const KernelSpec spec = spec_of(node);
    if (!spec.in[0].layout.blocked.empty()) return false;
    std::vector<Layout> layouts;
    for (std::size_t o = 0; o < node.out.size(); ++o) {
      const std::optional<Layout> layout = node.op->view(spec, static_cast<int>(o));
      if (!layout) return false;
      layouts.push_back(*layout);
    }
    const ValueId from = node.in[0], root = g_.value(from).alias_of >= 0 ? g_.value(from).alias_of : from;
    for (std::size_t o = 0; o < node.out.size(); ++o) {
      g_.value(node.out[o]).layout = std::move(layouts[o]);
      g_.value(node.out[o]).alias_of = root;
    }
    return true;
  }

  void lay_out(Node& node) {
    const Op& op = *node.op;
    KernelSpec spec = spec_of(node);
    const auto accepts = [&](std::size_t array) {
      return op.accepts != nullptr && op.accepts(spec, static_cast<int>(array));
    };
    const auto fits = [](const Value& v, const Order& order) {
      return v.type.shape.sizes().size() == order.size();
    };
    // The order to work in: the op's own, else that of its inputs.
    Order order = op.channels_last ? Order{0, 2, 3, 1} : Order{};
    for (std::size_t i = 0; i < node.in.size() && order.empty(); ++i) order = order_[at(node.in[i])];
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      Value& v = spec.in[i];
      const Layout now = v.layout;
      if (op.channels_last && fits(v, order)) {
        v.layout = ordered(v.type.shape, order);
        if (now == v.layout) continue;
        if (accepts(i)) {
          node.in[i] = copied(node.in[i], v.layout, order);
          continue;
        }
        v.layout = now;
      }
      if (op.packed != nullptr) {
        if (std::optional<Layout> form = op.packed(spec, static_cast<int>(i), readers_[at(node.in[i])])) {
          node.in[i] = copied(node.in[i], std::move(*form), {});
          v.layout = g_.value(node.in[i]).layout;
          continue;
        }
      }
      if (now.dense_row_major() || accepts(i)) continue;
      node.in[i] = copied(node.in[i], {}, {});
      v.layout = {};
    }
    for (std::size_t o = 0; o < node.out.size() && !order.empty(); ++o) {
      Value& v = spec.out[o];
      if (!fits(v, order)) continue;
      v.layout = ordered(v.type.shape, order);
      if (!accepts(node.in.size() + o)) {
        v.layout = {};
        continue;
      }
      g_.value(node.out[o]).layout = v.layout;
      order_[at(node.out[o])] = order;
    }
  }

  // v in another layout: copied once, for all who want it so.
  ValueId copied(ValueId v, Layout layout, Order order) {
    for (const ValueId known : copies_[at(v)]) {
      if (g_.value(known).layout == layout) return known;
    }
    const Value& from = g_.value(v);
    Value to{.type = from.type, .layout = std::move(layout), .name = from.name};
    g_.values.push_back(std::move(to));
    order_.push_back(std::move(order));
    copies_.emplace_back();
    const auto made = static_cast<ValueId>(g_.values.size() - 1);
    copies_[at(v)].push_back(made);
    g_.nodes.push_back(Node{.op = &copy_, .in = {v}, .out = {made}});
    return made;
  }

  static std::size_t at(ValueId v) { return static_cast<std::size_t>(v); }

  Graph g_;
  const Op& copy_;
  std::vector<Order> order_;                  // of each value's axes in memory; empty: row-major, or a view
  std::vector<std::vector<ValueId>> copies_;  // of each value, in other layouts
  std::vector<char> is_input_;
  std::vector<int> readers_;  // of each value: inputs of nodes that may want it packed
};

}  // namespace

Graph assign_layouts(Graph graph, const Op& copy) { return Pass(std::move(graph), copy).run(); }

}  // namespace tidemark
