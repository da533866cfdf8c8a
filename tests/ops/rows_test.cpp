// Softmax, cross entropy, norms, indices and random numbers, by value.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>

#include "tests/ops/run_node.h"

namespace tidemark {
namespace {

using testing::Array;
using testing::run1;
using testing::run_node;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::data);
    return e.what();
  }
  return "nothing thrown";
}

TEST(Rows, SoftmaxOfLargeAndInfiniteLogits) {
  const double inf = std::numeric_limits<double>::infinity();
  const Array x = Array::of({{2, 3}, DType::f32}, {1000, 1000, -inf, 0, std::log(3.0), -1000});
  const std::vector<double> y = run1("softmax", {x}).doubles();
  EXPECT_NEAR(y[0], 0.5, 1e-7);
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(y[3], 0.25, 1e-7);
  EXPECT_NEAR(y[4], 0.75, 1e-7);
  const std::vector<double> l = run1("logsumexp", {x}).doubles();
  EXPECT_NEAR(l[0], 1000 + std::log(2.0), 1e-4);
}

TEST(Rows, AllDTypesAgreeWithF64) {
  const Type wide{{9, 1000}, DType::f64};
  for (const DType d : {DType::f32, DType::bf16, DType::f16}) {
    const Array x = Array::random({wide.shape, d}, 3);
    const Array exact = Array::of(wide, x.doubles());
    const double tolerance = d == DType::f32 ? 2e-6 : 2e-2;
    for (const char* op : {"softmax", "log_softmax", "logsumexp"}) {
      const std::vector<double> a = run1(op, {x}).doubles(), b = run1(op, {exact}).doubles();
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << op;
    }
    const Attrs epsilon{{"epsilon", 1e-5}};
    for (const char* op : {"layer_norm", "rms_norm"}) {
      const std::vector<double> a = run1(op, {x}, epsilon).doubles(),
                                b = run1(op, {exact}, epsilon).doubles();
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << op;
    }
  }
}

TEST(Rows, ThreadsChangeNoBit) {
  const Type x{{300, 97}, DType::f32}, v{{97}, DType::f32}, s{{300}, DType::f32};
  const std::vector<Array> in{Array::random(x, 1), Array::random(x, 2), Array::random(v, 3),
                              Array::random(s, 4), Array::random(s, 5, 0.5, 1.5)};
  const Op& op = *find_op("layer_norm_backward");
  const std::vector<Array> one = run_node(op, in);
  for (const int threads : {2, 5}) {
    const std::vector<Array> many = run_node(op, in, {}, {.threads = threads});
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].same_bits(many[i]));
  }
}

TEST(CrossEntropy, LossAndGradientByRow) {
  const Array x = Array::of({{2, 3}, DType::f64}, {0, std::log(2.0), 0, 5, 5, 5});
  const Array labels = Array::of({{2}, DType::i64}, {1, -100});
  const Attrs attrs{{"ignore", std::int64_t{-100}}};
  const std::vector<Array> y = run_node(*find_op("cross_entropy"), {x, labels}, attrs);
  EXPECT_NEAR(y[0].doubles()[0], std::log(2.0), 1e-14);
  EXPECT_EQ(y[0].doubles()[1], 0);
  const Array ct = Array::of({{2}, DType::f64}, {1, 1});
  const std::vector<double> d = run1("cross_entropy_backward", {x, labels, y[1], ct}, attrs).doubles();
  const double expected[] = {0.25, -0.5, 0.25, 0, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(d[i], expected[i], 1e-14);
}

TEST(Indices, OutOfRangeIsAnErrorThatNamesTheFirst) {
  const Array table = Array::random({{50257, 2}, DType::f32}, 1);
  const Array indices = Array::of({{4}, DType::i64}, {0, 50256, 50257, -1});
  EXPECT_EQ(message_of([&] {
              run1("embedding", {table, indices}, {}, {.threads = 2});
            }),
            "[embedding] index 50257 vs table of 50257 rows");
  const Array logits = Array::random({{3, 5}, DType::f32}, 2);
  const Array labels = Array::of({{3}, DType::i32}, {4, 7, 9});
  EXPECT_EQ(message_of([&] {
              run1("cross_entropy", {logits, labels}, {{"ignore", std::int64_t{-1}}}, {.threads = 2});
            }),
            "[cross_entropy] label 7 of row 1 vs 5 classes");
  const Attrs axis{{"axis", std::int64_t{1}}};
  EXPECT_EQ(message_of([&] {
              run1("gather", {logits, Array::of({{3, 1}, DType::i64}, {0, -2, 1})}, axis);
            }),
            "[gather] index -2 vs an axis of 5");
}

TEST(Indices, AddRowsSumsEqualIndicesInOrder) {
  const Array indices = Array::of({{3}, DType::i64}, {1, 0, 1});
  const Array updates = Array::of({{3, 2}, DType::f32}, {1, 2, 3, 4, 5, 6});
  const Attrs attrs{{"axis", std::int64_t{0}}, {"shape", std::vector<std::int64_t>{3, 2}}};
  EXPECT_EQ(run1("index_add", {indices, updates}, attrs).doubles(), (std::vector<double>{3, 4, 6, 8, 0, 0}));
}

TEST(Random, MomentsAndIndependenceOfThreads) {
  const Array key = Array::of({{2}, DType::i64}, {42, 7});
  for (const DType d : {DType::f32, DType::f64}) {
    Attrs attrs{{"shape", std::vector<std::int64_t>{200003}},
                {"dtype", static_cast<std::int64_t>(d)},
                {"stream", std::int64_t{0}}};
    attrs.set("mean", 1.0).set("deviation", 2.0).set("low", -1.0).set("high", 3.0);
    for (const char* op : {"random_normal", "random_uniform"}) {
      const Array x = run1(op, {key}, attrs);
      EXPECT_TRUE(x.same_bits(run1(op, {key}, attrs, {.threads = 3})));
      double mean = 0, square = 0;
      for (const double v : x.doubles()) mean += v / 200003, square += v * v / 200003;
      EXPECT_NEAR(mean, 1, 0.03) << op;
      EXPECT_NEAR(square - mean * mean, std::string(op) == "random_normal" ? 4 : 16.0 / 12, 0.06) << op;
      Attrs other = attrs;
      other.set("stream", std::int64_t{1});
      EXPECT_FALSE(x.same_bits(run1(op, {key}, other))) << "streams are different";
    }
  }
}

TEST(Random, DropoutKeepsItsRateAndScale) {
  const Array key = Array::of({{2}, DType::i64}, {1, 1});
  const Array x = Array::of({{100000}, DType::f32}, std::vector<double>(100000, 1.0));
  const Array y = run1("dropout", {x, key}, {{"rate", 0.25}, {"stream", std::int64_t{0}}});
  int zeros = 0;
  for (const double v : y.doubles()) {
    if (v == 0)
      ++zeros;
    else
      ASSERT_NEAR(v, 1 / 0.75, 1e-6);
  }
  EXPECT_NEAR(zeros / 100000.0, 0.25, 0.01);
}

}  // namespace
}  // namespace tidemark
