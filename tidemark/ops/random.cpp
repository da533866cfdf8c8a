// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/random.h"

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/random.h"
#include "tidemark/kernels/ref/random.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

void check_key(const InferArgs& a, int i) {
  if (type_of(a, i) != Type{{2}, DType::i64})
    fail(Error::Kind::usage, "[{}] key {} vs i64(2): {{seed, step}}", a.op, to_string(type_of(a, i)));
}
std::vector<Type> random_infer(const InferArgs& a) {
  check_key(a, 0);
  if (!is_float(a.attrs.dtype()))
    fail(Error::Kind::usage, "[{}] {} is not a floating type", a.op, name_of(a.attrs.dtype()));
  return {{Shape(a.attrs.integers("shape")), a.attrs.dtype()}};
}
std::vector<Sample> samples_with(const Attrs& more) {
  std::vector<Sample> samples;
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{37}, {3, 5}, {}, {0}}) {
    Attrs attrs = more;
    attrs.set("shape", shape).set("dtype", std::int64_t{0}).set("stream", std::int64_t{3});
    samples.push_back({.in = {{{2}, DType::i64}}, .attrs = attrs, .range = {0, 100}});
  }
  return samples;
}

// A part draws what the whole would draw in its place.
Attrs cut_draws(const CutArgs& a, int axis, Attrs attrs) {
  if (axis < 0 || axis >= a.out[0].shape.rank()) return attrs;
  std::int64_t inner = 1;
  for (int i = axis + 1; i < a.out[0].shape.rank(); ++i) inner *= a.out[0].shape[i];
  const std::int64_t pitch = a.out[0].shape[axis] * inner, run = a.per_part(a.out[0].shape[axis]) * inner;
  return attrs.set("first", a.part * run).set("run", run).set("pitch", pitch);
}
std::optional<Cut> random_cut(const CutArgs& a) {
  return Cut{{kWhole}, {a.wanted}, cut_draws(a, a.wanted, cut_shape(a, a.wanted))};
}

constinit const Op uniform_op{
    .name = "random_uniform",
    .doc = "Uniform in [low, high), from a key {seed, step}.",
    .infer = random_infer,
    .cut = random_cut,
    .facts = {.random = true, .zero_derivative = true},
    .kernel = kernels::random_uniform,
    .reference = kernels::random_uniform_reference,
    .samples =
        [] {
          return samples_with({{"low", -1.0}, {"high", 3.0}});
        },
};
constinit const Op normal_op{
    .name = "random_normal",
    .doc = "Normal, from a key {seed, step}.",
    .infer = random_infer,
    .cut = random_cut,
    .facts = {.random = true, .zero_derivative = true},
    .kernel = kernels::random_normal,
    .reference = kernels::random_normal_reference,
    .samples =
        [] {
          return samples_with({{"mean", 1.0}, {"deviation", 2.0}});
        },
};

// Linear in x with a mask that the key gives again: nothing is kept for the gradient but the key.
Tensor again(const Rule& r, const Tensor& x);
constinit const Op dropout_op{
    .name = "dropout",
    .doc = "x with elements zeroed at a rate, the rest scaled by 1 / (1 - rate).",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      require_float(a, 0);
      check_key(a, 1);
      const double rate = a.attrs.number("rate");
      if (!(rate >= 0 && rate <= 1)) fail(Error::Kind::usage, "[dropout] a rate of {} vs [0, 1]", rate);
      return {a.in[0]};
    },
    .vjp =
        [](const Rule& r) {
          return Tensors{again(r, r.ct()), Tensor{}};
        },
    .jvp = [](const Rule& r) { return Tensors{again(r, r.dx(0))}; },
    .cut =
        [](const CutArgs& a) -> std::optional<Cut> {
      const int axis = a.axis_of({0});
      return Cut{{axis, kWhole}, {axis}, cut_draws(a, axis, a.attrs)};
    },
    .facts = {.random = true, .in_place = {{0, 0}}},
    .kernel = kernels::dropout,
    .reference = kernels::dropout_reference,
    .samples =
        [] {
          std::vector<Sample> samples;
          for (const Shape& shape : {Shape{37}, Shape{13, 5}, Shape{}, Shape{0}})
            samples.push_back({.in = {{shape, DType::f64}, {{2}, DType::i64}},
                               .attrs = {{"rate", 0.3}, {"stream", std::int64_t{1}}},
                               .ranges = {{-2, 2}, {0, 100}}});
          return samples;
        },
};
Tensor again(const Rule& r, const Tensor& x) { return apply1(dropout_op, {x, r.x(1)}, r.attrs(), Where{}); }

Attrs described(const Tensor& key, const Shape& shape, DType dtype) {
  return {{"shape", shape.sizes()}, {"dtype", static_cast<std::int64_t>(dtype)}, {"stream", key.next_draw()}};
}

}  // namespace

Tensor random_uniform(const Tensor& key, const Shape& shape, double low, double high, DType dtype,
                      Where where) {
  const Called called("random_uniform", where);
  Attrs attrs = described(key, shape, dtype);
  attrs.set("low", low).set("high", high);
  return apply1(uniform_op, {key}, std::move(attrs), where);
}
Tensor random_normal(const Tensor& key, const Shape& shape, double mean, double deviation, DType dtype,
                     Where where) {
  const Called called("random_normal", where);
  Attrs attrs = described(key, shape, dtype);
  attrs.set("mean", mean).set("deviation", deviation);
  return apply1(normal_op, {key}, std::move(attrs), where);
}
Tensor dropout(const Tensor& x, double rate, const Tensor& key, Where where) {
  const Called called("dropout", where);
  if (rate == 0) return x;
  return apply1(dropout_op, {x, key}, {{"rate", rate}, {"stream", key.next_draw()}}, where);
}

OpList random_ops() {
  static const Op* const ops[] = {&uniform_op, &normal_op, &dropout_op};
  return ops;
}

}  // namespace tidemark
