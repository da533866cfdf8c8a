// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/layout.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

std::vector<Type> same(const InferArgs& a) { return {a.in[0]}; }
bool any(const KernelSpec&, int) { return true; }

const Op copy_op{.name = "copy", .doc = "", .infer = same, .accepts = any};
const Op strict_op{.name = "strict", .doc = "", .infer = same};
const Op map_op{.name = "map", .doc = "", .infer = same, .accepts = any};
// An image op: input 1 is weights, row-major always.
const Op image_op{
    .name = "image",
    .doc = "",
    .infer = same,
    .accepts = [](const KernelSpec& s, int i) { return i != 1 || s.in[1].layout.dense_row_major(); },
    .channels_last = true};
const Op swap_op{.name = "swap",
                 .doc = "",
                 .infer =
                     [](const InferArgs& a) {
                       return std::vector<Type>{{Shape{a.in[0].shape[1], a.in[0].shape[0]}, a.in[0].dtype}};
                     },
                 .view = [](const KernelSpec& s, int) -> std::optional<Layout> {
                   auto strides = strides_of(s.in[0].type.shape, s.in[0].layout);
                   std::swap(strides[0], strides[1]);
                   Layout layout{.strides = strides, .offset = s.in[0].layout.offset};
                   if (strides == row_major_strides(s.out[0].type.shape)) layout.strides.clear();
                   return layout;
                 }};
const Op tail_op{
    .name = "tail",  // without its first row
    .doc = "",
    .infer =
        [](const InferArgs& a) {
          return std::vector<Type>{{Shape{a.in[0].shape[0] - 1, a.in[0].shape[1]}, a.in[0].dtype}};
        },
    .view = [](const KernelSpec& s, int) -> std::optional<Layout> {
      const auto strides = strides_of(s.in[0].type.shape, s.in[0].layout);
      return Layout{.strides = s.in[0].layout.strides, .offset = s.in[0].layout.offset + strides[0]};
    }};
const Op opaque_op{.name = "opaque",  // a view that strides cannot express
                   .doc = "",
                   .infer = same,
                   .view = [](const KernelSpec&, int) -> std::optional<Layout> { return std::nullopt; }};

struct Writer {
  Graph g;
  ValueId input(const Shape& shape) {
    g.values.push_back(Value{.type = {shape, DType::f32}});
    g.inputs.push_back(static_cast<ValueId>(g.values.size() - 1));
    return g.inputs.back();
  }
  ValueId add(const Op& op, std::vector<ValueId> in) {
    std::vector<Type> types;
    for (const ValueId v : in) types.push_back(g.type(v));
    g.values.push_back(Value{.type = op.infer({op.name, types, {}, {}})[0]});
    const auto out = static_cast<ValueId>(g.values.size() - 1);
    g.nodes.push_back(Node{.op = &op, .in = std::move(in), .out = {out}});
    return out;
  }
  Graph laid_out() {
    Graph result = assign_layouts(g, copy_op);
    verify(result);
    return result;
  }
};

int count(const Graph& g, const Op& op) {
  int n = 0;
  for (const Node& node : g.nodes) n += node.op == &op;
  return n;
}

TEST(Layout, ViewsBecomeAliasesOfTheRoot) {
  Writer w;
  const ValueId x = w.input({3, 4}), y = w.add(map_op, {x}), a = w.add(swap_op, {y}), b = w.add(tail_op, {a}),
                z = w.add(map_op, {b});
  w.g.outputs = {z};
  const Graph g = w.laid_out();
  EXPECT_EQ(g.value(a).alias_of, y);
  EXPECT_EQ(g.value(b).alias_of, y);
  EXPECT_EQ(g.value(a).layout.strides, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(g.value(b).layout.strides, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(g.value(b).layout.offset, 1);
  EXPECT_EQ(g.value(z).alias_of, -1);
  EXPECT_TRUE(g.value(z).layout.dense_row_major());
  EXPECT_EQ(count(g, copy_op), 0);
}

TEST(Layout, StrictReadersShareOneCopy) {
  Writer w;
  const ValueId x = w.input({3, 4}), a = w.add(swap_op, {x}), s = w.add(strict_op, {a}),
                t = w.add(strict_op, {a}), m = w.add(map_op, {a});
  w.g.outputs = {s, t, m};
  const Graph g = w.laid_out();
  EXPECT_EQ(count(g, copy_op), 1);
  for (const Node& node : g.nodes) {
    if (node.op == &strict_op) {
      EXPECT_TRUE(g.value(node.in[0]).layout.dense_row_major());
    }
    if (node.op == &map_op) {
      EXPECT_EQ(node.in[0], a);
    }
  }
}

TEST(Layout, AViewThatStridesCannotExpressRuns) {
  Writer w;
  const ValueId x = w.input({3, 4}), a = w.add(swap_op, {x}), o = w.add(opaque_op, {a});
  w.g.outputs = {o};
  const Graph g = w.laid_out();
  EXPECT_EQ(g.value(o).alias_of, -1);
  EXPECT_EQ(count(g, copy_op), 1);  // it takes no strides
}

TEST(Layout, OutputsAreDenseAndTheirOwn) {
  Writer w;
  const ValueId x = w.input({3, 4}), y = w.add(map_op, {x});
  const ValueId turned = w.add(swap_op, {y}), part = w.add(tail_op, {y}), twice = w.add(swap_op, {turned}),
                of_input = w.add(swap_op, {w.add(swap_op, {x})});
  w.g.outputs = {turned, part, twice, of_input, x};
  const Graph g = w.laid_out();
  for (const ValueId v : g.outputs) EXPECT_TRUE(g.value(v).layout.dense_row_major());
  EXPECT_EQ(g.value(g.outputs[0]).alias_of, -1);
  EXPECT_EQ(g.value(g.outputs[1]).alias_of, -1);
  EXPECT_EQ(g.outputs[2], twice);  // all of y, in order: no copy
  EXPECT_EQ(g.value(g.outputs[3]).alias_of, -1);
  EXPECT_EQ(g.outputs[4], x);
  EXPECT_EQ(count(g, copy_op), 3);
}

TEST(Layout, ImagesStayInOrderBetweenTheOpsThatWantIt) {
  Writer w;
  const Shape image{2, 8, 5, 5};
  const ValueId x = w.input(image), weight = w.input({8, 8, 3, 3});
  const ValueId a = w.add(image_op, {x, weight}), b = w.add(map_op, {a, x}), c = w.add(image_op, {b, weight}),
                d = w.add(image_op, {x, weight}), s = w.add(strict_op, {c});
  w.g.outputs = {s, d};
  const Graph g = w.laid_out();
  const Layout last = permuted_layout(image, {0, 2, 3, 1});
  for (const ValueId v : {a, b, c, d}) EXPECT_EQ(g.value(v).layout, last);
  EXPECT_TRUE(g.value(s).layout.dense_row_major());
  EXPECT_TRUE(g.value(weight).layout.dense_row_major());
  // x in order (once), c back for the strict op, d for the output.
  EXPECT_EQ(count(g, copy_op), 3);
  for (const Node& node : g.nodes) {
    if (node.op == &image_op) {
      EXPECT_EQ(node.in[1], weight);
    }
  }
}

TEST(Layout, AxesOfSizeOneNeedNoCopy) {
  Writer w;
  const ValueId x = w.input({2, 8, 1, 1}), weight = w.input({8, 8, 1, 1});
  const ValueId a = w.add(image_op, {x, weight}), s = w.add(strict_op, {a});
  w.g.outputs = {s};
  EXPECT_EQ(count(w.laid_out(), copy_op), 0);
}

}  // namespace
}  // namespace tidemark
