// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/run_node.h"

namespace tidemark {
namespace {

using testing::Array;
using testing::run1;
using testing::run_node;

TEST(Elementwise, EveryOpAgreesWithThePlainKernelOnItsSamples) {
  int compared = 0;
  for (const Op* op : all_ops()) {
    if (!op->elementwise() && op->fold == Fold::none) continue;
    for (const Sample& s : op->samples()) {
      std::vector<Array> in;
      std::uint64_t seed = 1;
      for (const Type& t : s.in) in.push_back(Array::random(t, ++seed, s.range[0], s.range[1]));
      const Array fast = run_node(*op, in, s.attrs)[0];
      const Array plain = run_node(*op, in, s.attrs, {.reference = true})[0];
      const std::vector<double> a = fast.doubles(), b = plain.doubles();
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 1e-14 * (1 + std::abs(b[i])))
            << op->name << " " << to_string(fast.value.type);
      if (op->elementwise()) {
        EXPECT_TRUE(fast.same_bits(plain)) << op->name;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 150);
}

TEST(Elementwise, EveryDTypeCanBeMoved) {
  for (const DType d : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    const Array x = Array::of({{2, 3}, d}, {0, 1, 1, 0, 1, 0});
    const Array y = run1("permute", {x}, {{"axes", std::vector<std::int64_t>{1, 0}}});
    EXPECT_EQ(y.doubles(), (std::vector<double>{0, 0, 1, 1, 1, 0})) << name_of(d);
  }
}

TEST(Elementwise, BroadcastsAsNumPyDoes) {
  const Array a = Array::of({{2, 1, 3}, DType::f32}, {1, 2, 3, 4, 5, 6});
  const Array b = Array::of({{2, 1}, DType::f32}, {10, 20});
  const Array y = run1("add", {a, b});
  EXPECT_EQ(y.value.type.shape, (Shape{2, 2, 3}));
  EXPECT_EQ(y.doubles(), (std::vector<double>{11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26}));
}

TEST(Reduce, SumsOfLargeArraysDoNotDependOnThreads) {
  for (const auto& [shape, axes] :
       std::vector<std::pair<Shape, std::vector<std::int64_t>>>{{{200001}, {0}},
                                                                {{3, 70001}, {1}},
                                                                {{1000, 77}, {0}},
                                                                {{1000, 77}, {1}},
                                                                {{5, 30, 41}, {0, 2}},
                                                                {{700, 3}, {0}},
                                                                {{4000, 3}, {1}},
                                                                {{3, 5, 7, 11}, {0, 2}}}) {
    const Array x = Array::random({shape, DType::f32}, 7);
    const Attrs attrs{{"axes", axes}};
    const Array one = run1("sum", {x}, attrs);
    EXPECT_TRUE(one.same_bits(run1("sum", {x}, attrs, {.threads = 2})));
    EXPECT_TRUE(one.same_bits(run1("sum", {x}, attrs, {.threads = 5})));
    const std::vector<double> a = one.doubles(), b = run1("sum", {x}, attrs, {.reference = true}).doubles();
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], 2e-5 * (1 + std::abs(b[i]))) << to_string(shape);
  }
}

}  // namespace
}  // namespace tidemark
