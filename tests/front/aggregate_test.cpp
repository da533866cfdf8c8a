// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/ir/builder.h"

namespace tidemark {
namespace {

using testing::ElementsAre;

struct Linear {
  Tensor w, b;
};
struct Attention {
  Tensor wq, wk;
  std::optional<Tensor> bias;
};
struct Block {
  Attention attn;
  std::optional<Linear> extra;
  std::int64_t heads = 2;
  Linear mlp;
};
struct Net {
  Tensor embedding;
  std::vector<Block> blocks;
  std::array<Linear, 2> heads;
  double rate = 0.1;
  std::string kind = "net";
};
struct Wide {
  Tensor f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12;
  Tensor f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23, f24;
};

struct AggregateTest : testing::Test {
  std::shared_ptr<Builder> b = Builder::make();
  Tensor t(const Shape& shape) { return b->input({shape, DType::f32}); }
  Linear linear() { return {.w = t({2, 3}), .b = t({3})}; }
  Net net() {
    Net n{.embedding = t({5, 2})};
    n.blocks.resize(2);
    for (Block& block : n.blocks) {
      block.attn.wq = t({2, 2});
      block.attn.wk = t({2, 2});
      block.mlp = linear();
    }
    n.blocks[1].attn.bias = t({2});
    n.blocks[1].extra = linear();
    n.heads = {linear(), Linear{.w = t({1})}};
    return n;
  }
};

TEST_F(AggregateTest, NamesFollowFieldsAndPositions) {
  EXPECT_THAT(tensor_names(net()),
              ElementsAre("embedding", "blocks.0.attn.wq", "blocks.0.attn.wk", "blocks.0.mlp.w",
                          "blocks.0.mlp.b", "blocks.1.attn.wq", "blocks.1.attn.wk", "blocks.1.attn.bias",
                          "blocks.1.extra.w", "blocks.1.extra.b", "blocks.1.mlp.w", "blocks.1.mlp.b",
                          "heads.0.w", "heads.0.b", "heads.1.w"));
  EXPECT_THAT(tensor_names(t({1})), ElementsAre(""));
  EXPECT_THAT(tensor_names(std::make_tuple(linear(), t({1}), 3)), ElementsAre("0.w", "0.b", "1"));
}

TEST_F(AggregateTest, UpTo24FieldsInOneStruct) {
  const Tensor x = t({2});
  Wide w;
  for (Tensor* field = &w.f01; field <= &w.f24; ++field) *field = x;
  const auto names = tensor_names(w);
  ASSERT_EQ(names.size(), 24u);
  EXPECT_EQ(names.front(), "f01");
  EXPECT_EQ(names.back(), "f24");
}

TEST_F(AggregateTest, FlattenAndUnflattenAreInverse) {
  const Net n = net();
  const Tensors flat = flatten(n);
  EXPECT_EQ(flat.size(), 15u);
  const Tensors again = flatten(unflatten(n, flat));
  for (std::size_t i = 0; i < flat.size(); ++i) EXPECT_EQ(again[i].id(), flat[i].id());
  EXPECT_THROW(unflatten(n, std::span(flat).first(3)), Error);
  Tensors more = flat;
  more.push_back(flat[0]);
  EXPECT_THROW(unflatten(n, more), Error);
}

TEST_F(AggregateTest, MapZipAndCount) {
  const Net n = net();
  std::vector<std::string> seen;
  const Net m = map_tensors(n, [&](const std::string& name, const Tensor& x) {
    seen.push_back(name);
    return t(x.shape());
  });
  EXPECT_EQ(seen, tensor_names(n));
  EXPECT_EQ(m.rate, 0.1);
  EXPECT_EQ(m.blocks[1].heads, 2);
  const Net second = zip_tensors(n, m, [](const Tensor&, const Tensor& y) { return y; });
  EXPECT_EQ(second.blocks[1].extra->b.id(), m.blocks[1].extra->b.id());
  Net fewer = n;
  fewer.blocks.pop_back();
  EXPECT_THROW(zip_tensors(n, fewer, [](const Tensor& x, const Tensor&) { return x; }), Error);
  EXPECT_THROW(zip_tensors(fewer, n, [](const Tensor& x, const Tensor&) { return x; }), Error);
  EXPECT_EQ(count_parameters(n), 10 + 8 + 9 + 10 + 18 + 9 + 1);
}

TEST_F(AggregateTest, TensorsAreChangedThroughReferences) {
  Net n = net();
  const Tensor replacement = t({7});
  for_each_tensor(n, [&](const std::string& name, Tensor& x) {
    if (name == "blocks.1.mlp.w") x = replacement;
  });
  EXPECT_EQ(n.blocks[1].mlp.w.id(), replacement.id());
}

}  // namespace
}  // namespace tidemark
