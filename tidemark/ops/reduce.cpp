// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/reduce.h"

#include <algorithm>

#include "tidemark/kernels/cpu/fused.h"
#include "tidemark/kernels/ref/elementwise.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

using Sizes = std::vector<std::int64_t>;

Shape folded_shape(const Shape& x, const Attrs& attrs, bool keep) {
  std::vector<bool> folded(x.sizes().size(), false);
  for (const std::int64_t a : attrs.integers("axes")) folded[static_cast<std::size_t>(a)] = true;
  Sizes sizes;
  for (std::size_t a = 0; a < folded.size(); ++a) {
    if (!folded[a])
      sizes.push_back(x.sizes()[a]);
    else if (keep)
      sizes.push_back(1);
  }
  return Shape(std::move(sizes));
}
// Seen with the folded axes as ones, so that it broadcasts against x.
Tensor spread(const Rule& r, const Tensor& y) {
  return reshape(y, folded_shape(r.x().shape(), r.attrs(), true).sizes());
}

// Sums of integers are i64; everything else keeps its dtype.
std::vector<Type> sum_infer(const InferArgs& a) {
  const DType d = a.in[0].dtype;
  return {{folded_shape(a.in[0].shape, a.attrs, a.attrs.flag("keep")), is_float(d) ? d : DType::i64}};
}
std::vector<Type> extreme_infer(const InferArgs& a) {
  require_number(a, 0);
  const Shape result = folded_shape(a.in[0].shape, a.attrs, a.attrs.flag("keep"));
  if (a.in[0].shape.numel() == 0 && result.numel() > 0)
    fail(Error::Kind::usage, "[{}] of no elements: {}", a.op, to_string(a.in[0]));
  return {{result, a.in[0].dtype}};
}

template <Fold F>
constexpr Op fold_op(const char* name, const char* doc, std::vector<Type> (*infer)(const InferArgs&)) {
  return {.name = name,
          .doc = doc,
          .infer = infer,
          .kernel = [](const KernelSpec& s) { return kernels::reduce(s, F); },
          .reference = [](const KernelSpec& s) { return kernels::reduce_reference(s, F); },
          .accepts = kernels::accepts_strides,
          .fold = F,
          .samples =
              [] {
                const auto attrs = [](Sizes axes, std::int64_t keep) {
                  return Attrs{{"axes", axes}, {"keep", keep}};
                };
                std::vector<Sample> samples{{.in = {{{3, 67}, DType::f64}}, .attrs = attrs({1}, 0)},
                                            {.in = {{{37, 3}, DType::f64}}, .attrs = attrs({0}, 0)},
                                            {.in = {{{2, 3, 5}, DType::f64}}, .attrs = attrs({0, 2}, 1)},
                                            {.in = {{{2, 3, 5}, DType::f64}}, .attrs = attrs({1}, 0)},
                                            {.in = {{{5}, DType::f64}}, .attrs = attrs({0}, 0)},
                                            {.in = {{{}, DType::f64}}, .attrs = attrs({}, 0)},
                                            {.in = {{{0, 3}, DType::f64}}, .attrs = attrs({1}, 0)}};
                if (F == Fold::sum) samples.push_back({.in = {{{0, 3}, DType::f64}}, .attrs = attrs({0}, 0)});
                if (F == Fold::prod) {
                  for (Sample& s : samples) s.range = {0.8, 1.2};
                }
                return samples;
              }};
}

constinit const Op sum_op = [] {
  Op op = fold_op<Fold::sum>("sum", "The sum over axes; of integers as i64.", sum_infer);
  op.vjp = [](const Rule& r) { return Tensors{broadcast_to(spread(r, r.ct()), r.x().shape())}; };
  op.jvp = [](const Rule& r) {
    const Sizes& axes = r.attrs().integers("axes");
    return Tensors{sum(r.dx(), Axes(axes.begin(), axes.end()), {.axes = r.attrs().flag("keep")})};
  };
  return op;
}();

// The elements that are the extreme share its gradient equally.
Tensor share(const Rule& r) {
  const Tensor at = cast(equal(r.x(), spread(r, r.y())), r.x().dtype());
  const Sizes& axes = r.attrs().integers("axes");
  return at / sum(at, Axes(axes.begin(), axes.end()), {.axes = true});
}
Tensors extreme_vjp(const Rule& r) { return {spread(r, r.ct()) * share(r)}; }
Tensors extreme_jvp(const Rule& r) {
  const Sizes& axes = r.attrs().integers("axes");
  return {sum(share(r) * r.dx(), Axes(axes.begin(), axes.end()), {.axes = r.attrs().flag("keep")})};
}
constinit const Op max_op = [] {
  Op op = fold_op<Fold::max>("max", "The greatest over axes; NaN wins.", extreme_infer);
  op.vjp = extreme_vjp;
  op.jvp = extreme_jvp;
  return op;
}();
constinit const Op min_op = [] {
  Op op = fold_op<Fold::min>("min", "The least over axes; NaN wins.", extreme_infer);
  op.vjp = extreme_vjp;
  op.jvp = extreme_jvp;
  return op;
}();

// For each element the product of the others, by a tree of products and never by a division: right at zeros, and its
// derivatives of every order with it.
Tensor others(const Rule& r) {
  const Tensor& x = r.x();
  const Sizes& reduced = r.attrs().integers("axes");
  std::vector<int> order, back(static_cast<std::size_t>(x.rank()));
  Sizes rows;
  for (int a = 0; a < x.rank(); ++a) {
    if (std::find(reduced.begin(), reduced.end(), a) != reduced.end()) continue;
    order.push_back(a);
    rows.push_back(x.size(a));
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  const Tensor moved = permute(x, order);
  if (x.numel() == 0) return x;
  const auto with_last = [&](std::initializer_list<std::int64_t> last) {
    Sizes sizes = rows;
    sizes.insert(sizes.end(), last);
    return sizes;
  };
  const int axis = static_cast<int>(rows.size());
  const auto half = [&](const Tensor& t, int which) { return slice(t, axis, which, t.size(axis), 2); };
  Tensors levels{reshape(moved, with_last({-1}))};
  Sizes lengths;  // before an odd one got a 1 behind it
  while (levels.back().size(axis) > 1) {
    Tensor& level = levels.back();
    lengths.push_back(level.size(axis));
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(axis) + 1);
    widths.back().second = lengths.back() % 2;
    level = pad(level, widths, 1);
    levels.push_back(half(level, 0) * half(level, 1));
  }
  Tensor rest = ones_like(levels.back());
  for (std::size_t l = lengths.size(); l-- > 0;) {
    const Tensor pairs = stack({rest * half(levels[l], 1), rest * half(levels[l], 0)}, -1);
    rest = slice(reshape(pairs, with_last({-1})), axis, 0, lengths[l]);
  }
  return permute(reshape(rest, moved.shape().sizes()), back);
}
constinit const Op prod_op = [] {
  Op op = fold_op<Fold::prod>("prod", "The product over axes; of integers as i64.", sum_infer);
  op.vjp = [](const Rule& r) { return Tensors{spread(r, r.ct()) * others(r)}; };
  op.jvp = [](const Rule& r) {
    const Sizes& axes = r.attrs().integers("axes");
    return Tensors{sum(others(r) * r.dx(), Axes(axes.begin(), axes.end()), {.axes = r.attrs().flag("keep")})};
  };
  return op;
}();

Attrs fold_attrs(const Tensor& x, const Axes& axes, Keep keep) {
  Sizes normal;
  if (axes.empty()) {
    for (int a = 0; a < x.rank(); ++a) normal.push_back(a);
  }
  for (const int a : axes) normal.push_back(x.shape().normalise(a));
  std::sort(normal.begin(), normal.end());
  if (std::adjacent_find(normal.begin(), normal.end()) != normal.end())
    fail(Error::Kind::usage, "[shape] an axis is given twice for {}", to_string(x.shape()));
  return {{"axes", normal}, {"keep", std::int64_t{keep.axes}}};
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, Keep keep, Where where) {
  const Called called("sum", where);
  return apply1(sum_op, {x}, fold_attrs(x, axes, keep), where);
}
Tensor max(const Tensor& x, const Axes& axes, Keep keep, Where where) {
  const Called called("max", where);
  return apply1(max_op, {x}, fold_attrs(x, axes, keep), where);
}
Tensor min(const Tensor& x, const Axes& axes, Keep keep, Where where) {
  const Called called("min", where);
  return apply1(min_op, {x}, fold_attrs(x, axes, keep), where);
}
Tensor prod(const Tensor& x, const Axes& axes, Keep keep, Where where) {
  const Called called("prod", where);
  return apply1(prod_op, {x}, fold_attrs(x, axes, keep), where);
}
Tensor mean(const Tensor& x, const Axes& axes, Keep keep, Where where) {
  const Called called("mean", where);
  if (!is_float(x.dtype()))
    fail(Error::Kind::usage, "[mean] {} is not a floating type; cast it", to_string(x.type()));
  // The sum of many narrow numbers may be beyond their range where the mean is not.
  if (is_narrow(x.dtype()))
    return cast(mean(cast(x, DType::f32, where), axes, keep, where), x.dtype(), where);
  const Tensor total = sum(x, axes, keep, where);
  const std::int64_t count = total.numel() == 0 ? 1 : x.numel() / total.numel();
  return total * Operand(1.0 / static_cast<double>(count), where);
}
Tensor sum_to(const Tensor& x, const Shape& shape, Where where) {
  const Called called("sum_to", where);
  if (x.shape() == shape) return x;
  Axes axes;
  const int shift = x.rank() - shape.rank();
  for (int a = 0; a < x.rank(); ++a) {
    if (a < shift || (shape[a - shift] == 1 && x.size(a) != 1)) axes.push_back(a);
  }
  const Tensor total = axes.empty() ? x : sum(x, axes, {}, where);
  return reshape(total, shape.sizes(), where);
}

OpList reduce_ops() {
  static const Op* const ops[] = {&sum_op, &max_op, &min_op, &prod_op};
  return ops;
}

}  // namespace tidemark
