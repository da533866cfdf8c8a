// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/softmax.h"
#include "tidemark/kernels/ref/softmax.h"

#include <algorithm>

#include "tidemark/ir/cut.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

constexpr Keep kKeep{.axes = true};

std::vector<Type> row_infer(const InferArgs& a) {
  require_float(a, 0);
  if (a.in[0].shape.rank() == 0) fail(Error::Kind::usage, "[{}] a scalar has no axis", a.op);
  if (a.in[0].shape[-1] == 0 && a.in[0].shape.numel() != 0)
    fail(Error::Kind::usage, "[{}] of no elements", a.op);
  return {a.in[0]};
}
std::vector<Type> backward_infer(const InferArgs& a) {
  if (a.in[0] != a.in[1])
    fail(Error::Kind::usage, "[{}] {} vs {}", a.op, to_string(a.in[0]), to_string(a.in[1]));
  return row_infer(a);
}
std::optional<Cut> row_cut(const CutArgs& a) { return cut_in_front(a, 1); }
template <std::size_t Inputs>
std::vector<Sample> row_samples() {
  std::vector<Sample> samples;
  for (const Shape& s : {Shape{3, 67}, Shape{5}, Shape{2, 3, 4}, Shape{2, 1}, Shape{0, 3}})
    samples.push_back({.in = std::vector<Type>(Inputs, {s, DType::f64})});
  return samples;
}
Cost row_cost(const KernelSpec& s) {
  const double n = static_cast<double>(s.in[0].type.shape.numel());
  double bytes = 0;
  for (const Value& v : s.in) bytes += static_cast<double>(v.type.bytes());
  for (const Value& v : s.out) bytes += static_cast<double>(v.type.bytes());
  return {.flops = 20 * n, .bytes = bytes};
}

Tensor softmax_backward(const Tensor& y, const Tensor& ct);
Tensor log_softmax_backward(const Tensor& y, const Tensor& ct);

constinit const Op softmax_op{
    .name = "softmax",
    .doc = "exp(x) / sum(exp(x)) over the last axis.",
    .infer = row_infer,
    .vjp = [](const Rule& r) { return Tensors{softmax_backward(r.y(), r.ct())}; },
    .jvp =
        [](const Rule& r) { return Tensors{softmax_backward(r.y(), r.dx())}; },  // the Jacobian is symmetric
    .cut = row_cut,
    .facts = {.in_place = {{0, 0}}},
    .cost = row_cost,
    .kernel = kernels::softmax,
    .reference = kernels::softmax_reference,
    .samples = row_samples<1>,
};
constinit const Op softmax_backward_op{
    .name = "softmax_backward",
    .doc = "y (g - sum(g y)) over the last axis: what softmax does to cotangents and tangents.",
    .infer = backward_infer,
    .vjp =
        [](const Rule& r) {
          const Tensor &y = r.x(0), &g = r.x(1), u = r.ct();
          Tensors grads(2);
          if (r.needs(0)) grads[0] = u * (g - sum(g * y, {-1}, kKeep)) - g * sum(u * y, {-1}, kKeep);
          if (r.needs(1)) grads[1] = softmax_backward(y, u);
          return grads;
        },
    .jvp =
        [](const Rule& r) {
          const Tensor &y = r.x(0), &g = r.x(1), dy = r.dx(0);
          Tensor d = dy * (g - sum(g * y, {-1}, kKeep)) - y * sum(g * dy, {-1}, kKeep);
          if (r.has_dx(1)) d = d + softmax_backward(y, r.dx(1));
          return Tensors{d};
        },
    .cut = row_cut,
    .facts = {.in_place = {{0, 0}, {1, 0}}},
    .cost = row_cost,
    .kernel = kernels::softmax_backward,
    .reference = kernels::softmax_backward_reference,
    .samples = row_samples<2>,
};
constinit const Op log_softmax_op{
    .name = "log_softmax",
    .doc = "x - log(sum(exp(x))) over the last axis.",
    .infer = row_infer,
    .vjp = [](const Rule& r) { return Tensors{log_softmax_backward(r.y(), r.ct())}; },
    .jvp = [](const Rule& r) { return Tensors{r.dx() - sum(exp(r.y()) * r.dx(), {-1}, kKeep)}; },
    .cut = row_cut,
    .facts = {.in_place = {{0, 0}}},
    .cost = row_cost,
    .kernel = kernels::log_softmax,
    .reference = kernels::log_softmax_reference,
    .samples = row_samples<1>,
};
constinit const Op log_softmax_backward_op{
    .name = "log_softmax_backward",
    .doc = "g - exp(y) sum(g) over the last axis.",
    .infer = backward_infer,
    .vjp =
        [](const Rule& r) {
          const Tensor &y = r.x(0), &g = r.x(1), u = r.ct();
          Tensors grads(2);
          if (r.needs(0)) grads[0] = -(u * exp(y) * sum(g, {-1}, kKeep));
          if (r.needs(1)) grads[1] = u - sum(u * exp(y), {-1}, kKeep);
          return grads;
        },
    .jvp =
        [](const Rule& r) {
          const Tensor &y = r.x(0), &g = r.x(1);
          Tensor d = -(exp(y) * r.dx(0) * sum(g, {-1}, kKeep));
          if (r.has_dx(1)) d = d + log_softmax_backward(y, r.dx(1));
          return Tensors{d};
        },
    .cut = row_cut,
    .facts = {.in_place = {{0, 0}, {1, 0}}},
    .cost = row_cost,
    .kernel = kernels::log_softmax_backward,
    .reference = kernels::log_softmax_backward_reference,
    .samples = row_samples<2>,
};

constinit const Op logsumexp_op{
    .name = "logsumexp",
    .doc = "log(sum(exp(x))) over the last axis, which goes away.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      std::vector<std::int64_t> sizes = row_infer(a)[0].shape.sizes();
      sizes.pop_back();
      return {{Shape(std::move(sizes)), a.in[0].dtype}};
    },
    .vjp = [](const Rule& r) { return Tensors{unsqueeze(r.ct(), -1) * exp(r.x() - unsqueeze(r.y(), -1))}; },
    .jvp = [](const Rule& r) { return Tensors{sum(exp(r.x() - unsqueeze(r.y(), -1)) * r.dx(), {-1})}; },
    .cut = row_cut,
    .cost = row_cost,
    .kernel = kernels::logsumexp,
    .reference = kernels::logsumexp_reference,
    .samples = row_samples<1>,
};

Tensor softmax_backward(const Tensor& y, const Tensor& ct) {
  return apply1(softmax_backward_op, {y, ct}, {}, Where{});
}
Tensor log_softmax_backward(const Tensor& y, const Tensor& ct) {
  return apply1(log_softmax_backward_op, {y, ct}, {}, Where{});
}

// Applies a row op along any axis.
Tensor along(const Op& op, const Tensor& x, int axis, Where where) {
  const Called called(op.name, where);
  const int a = x.shape().normalise(axis);
  if (a == x.rank() - 1) return apply1(op, {x}, {}, where);
  return transpose(apply1(op, {transpose(x, a, -1, where)}, {}, where), a, -1, where);
}

}  // namespace

Tensor softmax(const Tensor& x, int axis, Where where) { return along(softmax_op, x, axis, where); }
Tensor log_softmax(const Tensor& x, int axis, Where where) { return along(log_softmax_op, x, axis, where); }

Tensor logsumexp(const Tensor& x, const Axes& axes, Keep keep, Where where) {
  const Called called("logsumexp", where);
  // Kept axes first, then the others as one.
  std::vector<bool> folded(static_cast<std::size_t>(x.rank()), axes.empty());
  for (const int a : axes) folded[static_cast<std::size_t>(x.shape().normalise(a))] = true;
  std::vector<int> order;
  std::vector<std::int64_t> kept, result;
  for (int a = 0; a < x.rank(); ++a) {
    const bool f = folded[static_cast<std::size_t>(a)];
    if (!f) order.push_back(a), kept.push_back(x.size(a));
    if (!f || keep.axes) result.push_back(f ? 1 : x.size(a));
  }
  std::int64_t merged = 1;
  for (int a = 0; a < x.rank(); ++a) {
    if (folded[static_cast<std::size_t>(a)]) order.push_back(a), merged *= x.size(a);
  }
  kept.push_back(merged);
  const Tensor rows = reshape(permute(x, order, where), kept, where);
  return reshape(apply1(logsumexp_op, {rows}, {}, where), result, where);
}

OpList softmax_ops() {
  static const Op* const ops[] = {&softmax_op, &softmax_backward_op, &log_softmax_op,
                                  &log_softmax_backward_op, &logsumexp_op};
  return ops;
}

}  // namespace tidemark
