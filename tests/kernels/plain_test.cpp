// The row kernels, moves by index and random arrays against the plain ones beside them.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/support.h"
#include "tidemark/kernels/cpu/gather.h"
#include "tidemark/kernels/cpu/norm.h"
#include "tidemark/kernels/cpu/random.h"
#include "tidemark/kernels/cpu/softmax.h"
#include "tidemark/kernels/ref/gather.h"
#include "tidemark/kernels/ref/norm.h"
#include "tidemark/kernels/ref/random.h"
#include "tidemark/kernels/ref/softmax.h"

namespace tidemark::kernels {
namespace {

using Make = std::unique_ptr<Kernel> (*)(const KernelSpec&);

DType statistic(DType d) { return d == DType::f64 ? DType::f64 : DType::f32; }

class Plain : public ::testing::TestWithParam<DType> {
 protected:
  Value array(const Shape& shape) const { return dense(shape, GetParam()); }
  Value wide(const Shape& shape) const { return dense(shape, statistic(GetParam())); }
  void compare(Bed& bed, Make fast, Make plain, const std::string& what) const {
    const auto f = fast(bed.spec), p = plain(bed.spec);
    ASSERT_TRUE(f != nullptr && p != nullptr) << what;
    expect_agreement(bed, *f, *p, tolerance(GetParam()), what);
  }
};

const Shape kRows[] = {{3, 67}, {1, 1}, {2, 3, 5}, {7, 5000}, {0, 4}};

TEST_P(Plain, SoftmaxAndItsLike) {
  for (const Shape& shape : kRows) {
    const std::vector<std::int64_t> sizes(shape.begin(), shape.end() - 1);
    const Value x = array(shape);
    Bed unary({.in = {x}, .out = {x}, .threads = 2}),
        one({.in = {x}, .out = {array(Shape(sizes))}, .threads = 2});
    compare(unary, softmax, softmax_reference, "softmax");
    compare(unary, log_softmax, log_softmax_reference, "log_softmax");
    compare(one, logsumexp, logsumexp_reference, "logsumexp");
    Bed back({.in = {x, x}, .out = {x}, .threads = 2});
    compare(back, softmax_backward, softmax_backward_reference, "softmax_backward");
    compare(back, log_softmax_backward, log_softmax_backward_reference, "log_softmax_backward");
  }
}

TEST_P(Plain, CrossEntropy) {
  for (const DType labels : {DType::i32, DType::i64}) {
    const Attrs attrs{{"ignore", std::int64_t{2}}};
    Bed forward({.in = {array({6, 70}), dense({6}, labels)},
                 .out = {wide({6}), wide({6})},
                 .attrs = attrs,
                 .threads = 2});
    forward.set(1, {0, 69, 2, 5, 1, 33});
    compare(forward, cross_entropy, cross_entropy_reference, "cross_entropy");
    Bed back({.in = {array({6, 70}), dense({6}, labels), wide({6}), wide({6})},
              .out = {array({6, 70})},
              .attrs = attrs,
              .threads = 2});
    back.set(1, {0, 69, 2, 5, 1, 33});
    back.set(2, {4, 4, 4, 5, 4, 4.5});
    compare(back, cross_entropy_backward, cross_entropy_backward_reference, "cross_entropy_backward");
  }
}

template <bool centred, bool affine>
std::unique_ptr<Kernel> forward_of(const KernelSpec& s) {
  return norm_forward(s, {centred, affine});
}
template <bool centred, bool affine>
std::unique_ptr<Kernel> plain_forward_of(const KernelSpec& s) {
  return norm_forward_reference(s, {centred, affine});
}
template <bool centred, bool affine>
std::unique_ptr<Kernel> backward_of(const KernelSpec& s) {
  return norm_backward(s, {centred, affine});
}
template <bool centred, bool affine>
std::unique_ptr<Kernel> plain_backward_of(const KernelSpec& s) {
  return norm_backward_reference(s, {centred, affine});
}

TEST_P(Plain, Norms) {
  const auto check = [&]<bool centred, bool affine>() {
    for (const Shape& shape : {Shape{3, 67}, Shape{2, 3, 5}, Shape{40, 130}}) {
      const Value x = array(shape), v = array({shape[-1]});
      const Value s = wide(Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - 1)));
      KernelSpec forward{.in = {x}, .out = {x}, .attrs = {{"epsilon", 1e-5}}, .threads = 2};
      KernelSpec back{.in = {x, x}, .out = {x}, .threads = 2};
      if (affine) {
        forward.in.push_back(v);
        back.in.push_back(v), back.out.push_back(v);
      }
      if (affine && centred) forward.in.push_back(v), back.out.push_back(v);
      if (centred) forward.out.push_back(s), back.in.push_back(s);
      forward.out.push_back(s), back.in.push_back(s);
      Bed there(forward), again(back);
      compare(there, forward_of<centred, affine>, plain_forward_of<centred, affine>, "norm");
      compare(again, backward_of<centred, affine>, plain_backward_of<centred, affine>, "norm_backward");
    }
  };
  check.operator()<true, true>();
  check.operator()<true, false>();
  check.operator()<false, true>();
  check.operator()<false, false>();
}

TEST_P(Plain, MovesByIndex) {
  const Value indices = dense({4}, DType::i64), updates = array({3, 4, 70}), table = array({3, 5, 70});
  const std::vector<double> at{4, 0, 4, 2};
  Bed take({.in = {table, indices}, .out = {updates}, .threads = 2});
  take.set(1, at);
  compare(
      take, [](const KernelSpec& s) { return take_rows(s, "index_select", 1); },
      [](const KernelSpec& s) { return take_rows_reference(s, "index_select", 1); }, "take_rows");
  Bed add({.in = {indices, updates}, .out = {table}, .threads = 2});
  add.set(0, at);
  compare(
      add, [](const KernelSpec& s) { return add_rows(s, "index_add", 1); },
      [](const KernelSpec& s) { return add_rows_reference(s, "index_add", 1); }, "add_rows");
  Bed onto({.in = {table, indices, updates}, .out = {table}, .threads = 2});
  onto.set(1, at);
  compare(
      onto, [](const KernelSpec& s) { return add_rows(s, "index_add_to", 1); },
      [](const KernelSpec& s) { return add_rows_reference(s, "index_add_to", 1); }, "add_rows onto");
  const Value each = dense({2, 4, 3}, DType::i32);
  std::vector<double> places;
  for (int i = 0; i < 24; ++i) places.push_back(i * 7 % 5);
  Bed gathered({.in = {array({2, 5, 3}), each}, .out = {array({2, 4, 3})}, .threads = 2});
  gathered.set(1, places);
  compare(
      gathered, [](const KernelSpec& s) { return gather(s, 1); },
      [](const KernelSpec& s) { return gather_reference(s, 1); }, "gather");
  Bed scattered({.in = {array({2, 5, 3}), each, array({2, 4, 3})}, .out = {array({2, 5, 3})}, .threads = 2});
  scattered.set(1, places);
  compare(
      scattered, [](const KernelSpec& s) { return scatter_add(s, 1); },
      [](const KernelSpec& s) { return scatter_add_reference(s, 1); }, "scatter_add");
  Bed hot({.in = {indices}, .out = {array({4, 5})}, .attrs = {{"classes", std::int64_t{5}}}, .threads = 2});
  hot.set(0, at);
  compare(hot, one_hot, one_hot_reference, "one_hot");
  // Both refuse an index that is not there.
  hot.set(0, {0, 5, 0, 0});
  for (const Make make : {Make(one_hot), Make(one_hot_reference)}) {
    const auto kernel = make(hot.spec);
    EXPECT_THROW(hot.run(*kernel), Error);
  }
}

TEST_P(Plain, RandomArraysAreTheSameWords) {
  const Value key = dense({2}, DType::i64);
  for (const Shape& shape : {Shape{1}, Shape{31}, Shape{130}, Shape{70001}}) {
    const Attrs attrs{{"low", -1.0},      {"high", 3.0}, {"mean", 1.0},
                      {"deviation", 2.0}, {"rate", 0.3}, {"stream", std::int64_t{5}}};
    Bed made({.in = {key}, .out = {array(shape)}, .attrs = attrs, .threads = 2});
    made.set(0, {12345, 7});
    EXPECT_EQ(made.results(*random_uniform(made.spec)), made.results(*random_uniform_reference(made.spec)));
    compare(made, random_normal, random_normal_reference, "normal");
    Bed dropped({.in = {array(shape), key}, .out = {array(shape)}, .attrs = attrs, .threads = 2});
    dropped.set(1, {12345, 7});
    EXPECT_EQ(dropped.results(*dropout(dropped.spec)), dropped.results(*dropout_reference(dropped.spec)));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, Plain, ::testing::Values(DType::f64, DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tidemark::kernels
