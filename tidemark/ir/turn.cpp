// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/turn.h"

namespace tidemark {
namespace {

std::vector<std::int64_t> last_two_swapped(int rank) {
  std::vector<std::int64_t> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes;
}

}  // namespace

Graph turn_products(Graph g, const Op& matmul, const Op& permute) {
  const std::vector<std::int32_t> maker = makers(g);
  std::vector<std::int32_t> readers(g.values.size(), 0);
  for (const Node& n : g.nodes) {
    for (const ValueId v : n.in) ++readers[static_cast<std::size_t>(v)];
  }
  for (const ValueId v : g.outputs) ++readers[static_cast<std::size_t>(v)];

  // turned[n]: the value that product n makes instead, transposed; -1: as it is.
  std::vector<ValueId> turned(g.nodes.size(), -1);
  std::vector<char> gone(g.nodes.size(), 0);
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    if (node.op != &permute) continue;
    const ValueId v = node.in[0];
    const std::int32_t m = maker[static_cast<std::size_t>(v)];
    const int rank = g.type(v).shape.rank();
    if (m < 0 || rank < 2 || readers[static_cast<std::size_t>(v)] != 1) continue;
    if (g.nodes[static_cast<std::size_t>(m)].op != &matmul) continue;
    if (node.attrs.integers("axes") != last_two_swapped(rank)) continue;
    turned[static_cast<std::size_t>(m)] = node.out[0];
    gone[n] = 1;
  }

  Graph result = g;
  result.nodes.clear();
  const auto transposed = [&](ValueId v, const Loc& loc) {
    const Shape& shape = result.type(v).shape;
    const auto axes = last_two_swapped(shape.rank());
    std::vector<std::int64_t> sizes;
    for (const std::int64_t a : axes) sizes.push_back(shape[static_cast<int>(a)]);
    Value value{.type = {Shape(std::move(sizes)), result.type(v).dtype}, .name = result.value(v).name};
    result.values.push_back(std::move(value));
    const auto made = static_cast<ValueId>(result.values.size() - 1);
    result.nodes.push_back(
        Node{.op = &permute, .in = {v}, .out = {made}, .attrs = {{"axes", axes}}, .loc = loc});
    return made;
  };
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (gone[n]) continue;
    Node node = g.nodes[n];
    if (turned[n] >= 0) {
      const ValueId left = transposed(node.in[1], node.loc), right = transposed(node.in[0], node.loc);
      node.in = {left, right};
      node.out = {turned[n]};
    }
    result.nodes.push_back(std::move(node));
  }
  return result;
}

}  // namespace tidemark
