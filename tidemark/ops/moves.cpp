// Ops that put elements elsewhere and cannot be views: concat, pad, update_slice, flip; roll and stack on
// them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/fused.h"
#include "tidemark/kernels/cpu/move.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

using Sizes = std::vector<std::int64_t>;
using kernels::Box;

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }
int axis_of(const Attrs& a) { return static_cast<int>(a.integer("axis")); }
Attrs along(int axis) { return {{"axis", std::int64_t{axis}}}; }

std::vector<Type> concat_infer(const InferArgs& a) {
  const int axis = axis_of(a.attrs);
  if (a.in.empty()) fail(Error::Kind::usage, "[concat] no parts");
  Sizes sizes = a.in[0].shape.sizes();
  sizes[at(axis)] = 0;
  for (const Type& t : a.in) {
    Sizes own = t.shape.sizes();
    if (own.size() != sizes.size() || t.dtype != a.in[0].dtype)
      fail(Error::Kind::usage, "[concat] {} vs {}", to_string(a.in[0]), to_string(t));
    sizes[at(axis)] += std::exchange(own[at(axis)], sizes[at(axis)]);
    own[at(axis)] = sizes[at(axis)];
    if (own != sizes)
      fail(Error::Kind::usage, "[concat] {} vs {} along axis {}", to_string(a.in[0]), to_string(t), axis);
  }
  return {{Shape(std::move(sizes)), a.in[0].dtype}};
}
constinit const Op concat_op{
    .name = "concat",
    .doc = "The parts one behind the other along an axis.",
    .infer = concat_infer,
    .vjp =
        [](const Rule& r) {
          Sizes sizes;
          for (int i = 0; i < r.inputs(); ++i) sizes.push_back(r.x(i).size(axis_of(r.attrs())));
          return split(r.ct(), sizes, axis_of(r.attrs()));
        },
    .jvp =
        [](const Rule& r) {
          Tensors parts;
          for (int i = 0; i < r.inputs(); ++i) parts.push_back(r.dx(i));
          return Tensors{concat(parts, axis_of(r.attrs()))};
        },
    .cut = [](const CutArgs& a) -> std::optional<Cut> {
      Sizes sizes;
      for (const Type& t : a.in) sizes.push_back(t.shape[axis_of(a.attrs)]);
      const std::int64_t stretch = cut_into_stretches(a, sizes);
      if (stretch == 0) return cut_beside_axis(a);
      Cut cut = cut_alike(a, axis_of(a.attrs));
      cut.out_stretch = stretch;
      return cut;
    },
    .reference =
        [](const KernelSpec& s) {
          std::vector<Box> boxes;
          const Sizes to = strides_of(s.out[0].type.shape, s.out[0].layout);
          const std::size_t axis = at(s.attrs.integer("axis"));
          std::int64_t begin = 0;
          for (std::size_t i = 0; i < s.in.size(); ++i) {
            const Shape& shape = s.in[i].type.shape;
            boxes.push_back({.shape = shape,
                             .input = static_cast<int>(i),
                             .from = strides_of(shape, s.in[i].layout),
                             .to = to,
                             .to_offset = begin * to[axis]});
            begin += shape.sizes()[axis];
          }
          return kernels::copy_boxes(boxes, s.in[0].type.dtype, s.threads);
        },
    .accepts = kernels::accepts_strides,
    .samples =
        [] {
          return std::vector<Sample>{
              {.in = {{{2, 3}, DType::f64}, {{2, 1}, DType::f64}, {{2, 0}, DType::f64}}, .attrs = along(1)},
              {.in = {{{2, 3}, DType::f64}, {{5, 3}, DType::f64}}, .attrs = along(0)}};
        },
};

constinit const Op pad_op{
    .name = "pad",
    .doc = "x with `value` around it.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      Sizes sizes = a.in[0].shape.sizes();
      const Sizes &low = a.attrs.integers("low"), &high = a.attrs.integers("high");
      if (low.size() != sizes.size())
        fail(Error::Kind::usage, "[pad] {} pairs of widths vs {}", low.size(), to_string(a.in[0].shape));
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (low[i] < 0 || high[i] < 0)
          fail(Error::Kind::usage, "[pad] a width of {} is negative", std::min(low[i], high[i]));
        sizes[i] += low[i] + high[i];
      }
      return {{Shape(std::move(sizes)), a.in[0].dtype}};
    },
    .vjp =
        [](const Rule& r) {
          Tensor g = r.ct();
          for (int a = 0; a < g.rank(); ++a) {
            const std::int64_t low = r.attrs().integers("low")[at(a)];
            g = slice(g, a, low, low + r.x().size(a));
          }
          return Tensors{g};
        },
    .jvp =
        [](const Rule& r) {
          std::vector<std::pair<std::int64_t, std::int64_t>> widths;
          for (int a = 0; a < r.x().rank(); ++a)
            widths.emplace_back(r.attrs().integers("low")[at(a)], r.attrs().integers("high")[at(a)]);
          return Tensors{pad(r.dx(), widths)};
        },
    .cut = [](const CutArgs& a) -> std::optional<Cut> {
      const int axis = a.known[0];
      if (axis < 0 || a.attrs.integers("low")[at(axis)] != 0 || a.attrs.integers("high")[at(axis)] != 0)
        return std::nullopt;
      return cut_alike(a, axis);
    },
    .reference = [](const KernelSpec& s) -> std::unique_ptr<Kernel> {
      const Shape& shape = s.in[0].type.shape;
      const Shape& result = s.out[0].type.shape;
      Box box{.shape = shape,
              .from = strides_of(shape, s.in[0].layout),
              .to = strides_of(result, s.out[0].layout)};
      for (std::size_t i = 0; i < box.to.size(); ++i) box.to_offset += s.attrs.integers("low")[i] * box.to[i];
      return kernels::fill_and_copy({box}, s.in[0].type.dtype, s.threads, result.numel(),
                                    s.attrs.number("value"));
    },
    .accepts = kernels::accepts_strides,
    .samples =
        [] {
          const auto attrs = [](Sizes low, Sizes high) {
            return Attrs{{"low", low}, {"high", high}, {"value", 0.5}};
          };
          return std::vector<Sample>{{.in = {{{2, 3}, DType::f64}}, .attrs = attrs({1, 0}, {0, 2})},
                                     {.in = {{{3, 2}, DType::f64}}, .attrs = attrs({0, 1}, {0, 0})},
                                     {.in = {{{0}, DType::f64}}, .attrs = attrs({2}, {1})},
                                     {.in = {{{}, DType::f64}}, .attrs = attrs({}, {})}};
        },
};

constinit const Op update_slice_op{
    .name = "update_slice",
    .doc = "x with a part written along an axis: a new version.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      const Shape &x = a.in[0].shape, &part = a.in[1].shape;
      const int axis = axis_of(a.attrs);
      const std::int64_t begin = a.attrs.integer("begin"), step = a.attrs.integer("step");
      Sizes want = x.sizes();
      if (part.rank() == x.rank()) want[at(axis)] = part[axis];
      const std::int64_t last =
          part.rank() == x.rank() && part[axis] > 0 ? begin + (part[axis] - 1) * step : begin - 1;
      if (part.sizes() != want || a.in[0].dtype != a.in[1].dtype || begin < 0 || step < 1 || last >= x[axis])
        fail(Error::Kind::usage, "[update_slice] {} from {} by {} along axis {} vs {}", to_string(a.in[1]),
             begin, step, axis, to_string(a.in[0]));
      return {a.in[0]};
    },
    .vjp =
        [](const Rule& r) {
          const int axis = axis_of(r.attrs());
          const std::int64_t begin = r.attrs().integer("begin"), step = r.attrs().integer("step");
          Tensors g(2);
          if (r.needs(0)) g[0] = update_slice(r.ct(), zeros_like(r.x(1)), axis, begin, step);
          const std::int64_t n = r.x(1).size(axis);
          if (r.needs(1))
            g[1] = slice(r.ct(), axis, begin, n == 0 ? begin : begin + (n - 1) * step + 1, step);
          return g;
        },
    .jvp =
        [](const Rule& r) {
          return Tensors{update_slice(r.dx(0), r.dx(1), axis_of(r.attrs()), r.attrs().integer("begin"),
                                      r.attrs().integer("step"))};
        },
    .cut = cut_beside_axis,
    .facts = {.in_place = {{0, 0}}},
    .reference =
        [](const KernelSpec& s) {
          const std::size_t axis = at(s.attrs.integer("axis"));
          const Shape& part = s.in[1].type.shape;
          const Sizes to = strides_of(s.out[0].type.shape, s.out[0].layout);
          Sizes steps = to;
          steps[axis] *= s.attrs.integer("step");
          // The whole first: in place, the copy falls on itself.
          std::vector<Box> boxes{{.shape = s.out[0].type.shape,
                                  .from = strides_of(s.in[0].type.shape, s.in[0].layout),
                                  .to = to},
                                 {.shape = part,
                                  .input = 1,
                                  .from = strides_of(part, s.in[1].layout),
                                  .to = steps,
                                  .to_offset = s.attrs.integer("begin") * to[axis]}};
          return kernels::copy_boxes(boxes, s.in[0].type.dtype, s.threads);
        },
    .accepts = kernels::accepts_strides,
    .samples =
        [] {
          const auto attrs = [](std::int64_t axis, std::int64_t begin, std::int64_t step) {
            return Attrs{{"axis", axis}, {"begin", begin}, {"step", step}};
          };
          return std::vector<Sample>{
              {.in = {{{4, 7}, DType::f64}, {{4, 3}, DType::f64}}, .attrs = attrs(1, 1, 2)},
              {.in = {{{4, 3}, DType::f64}, {{2, 3}, DType::f64}}, .attrs = attrs(0, 1, 1)},
              {.in = {{{4}, DType::f64}, {{0}, DType::f64}}, .attrs = attrs(0, 4, 1)}};
        },
};

constinit const Op flip_op{
    .name = "flip",
    .doc = "The elements along an axis in reverse.",
    .infer = [](const InferArgs& a) -> std::vector<Type> { return {a.in[0]}; },
    .vjp = [](const Rule& r) { return Tensors{flip(r.ct(), axis_of(r.attrs()))}; },
    .jvp = [](const Rule& r) { return Tensors{flip(r.dx(), axis_of(r.attrs()))}; },
    .cut = cut_beside_axis,
    .reference =
        [](const KernelSpec& s) {
          const Shape& shape = s.in[0].type.shape;
          const std::size_t axis = at(s.attrs.integer("axis"));
          Box box{.shape = shape,
                  .from = strides_of(shape, s.in[0].layout),
                  .to = strides_of(shape, s.out[0].layout)};
          box.from_offset = (shape.sizes()[axis] - 1) * box.from[axis];
          box.from[axis] = -box.from[axis];
          return kernels::copy_boxes({box}, s.in[0].type.dtype, s.threads);
        },
    .accepts = kernels::accepts_strides,
    .samples =
        [] {
          return std::vector<Sample>{{.in = {{{3, 5}, DType::f64}}, .attrs = along(0)},
                                     {.in = {{{3, 5}, DType::f64}}, .attrs = along(1)},
                                     {.in = {{{0}, DType::f64}}, .attrs = along(0)}};
        },
};

}  // namespace

Tensor concat(const Tensors& parts, int axis, Where where) {
  const Called called("concat", where);
  if (parts.empty()) fail(Error::Kind::usage, "[concat] no parts");
  if (parts.size() == 1) return parts[0];
  return apply(concat_op, parts, along(parts[0].shape().normalise(axis)), where)[0];
}
Tensor stack(const Tensors& parts, int axis, Where where) {
  const Called called("stack", where);
  if (parts.empty()) fail(Error::Kind::usage, "[stack] no parts");
  const int a = axis < 0 ? axis + parts[0].rank() + 1 : axis;
  Tensors wider;
  for (const Tensor& t : parts) wider.push_back(unsqueeze(t, a, where));
  return concat(wider, a, where);
}
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, double value,
           Where where) {
  const Called called("pad", where);
  Sizes low, high;
  bool any = false;
  for (const auto& [l, h] : widths) {
    low.push_back(l);
    high.push_back(h);
    any = any || l != 0 || h != 0;
  }
  if (!any && low.size() == x.shape().sizes().size()) return x;
  return apply1(pad_op, {x}, {{"low", low}, {"high", high}, {"value", value}}, where);
}
Tensor update_slice(const Tensor& x, const Tensor& part, int axis, std::int64_t begin, std::int64_t step,
                    Where where) {
  const Called called("update_slice", where);
  const int a = x.shape().normalise(axis);
  if (begin < 0) begin += x.size(a);
  return apply1(update_slice_op, {x, part}, {{"axis", std::int64_t{a}}, {"begin", begin}, {"step", step}},
                where);
}
Tensor roll(const Tensor& x, std::int64_t shift, int axis, Where where) {
  const Called called("roll", where);
  const int a = x.shape().normalise(axis);
  const std::int64_t n = x.size(a);
  if (n == 0) return x;
  const std::int64_t k = (shift % n + n) % n;
  if (k == 0) return x;
  const Tensors parts = split(x, Sizes{n - k, k}, a, where);
  return concat({parts[1], parts[0]}, a, where);
}
Tensor flip(const Tensor& x, int axis, Where where) {
  const Called called("flip", where);
  return apply1(flip_op, {x}, along(x.shape().normalise(axis)), where);
}

OpList move_ops() {
  static const Op* const ops[] = {&concat_op, &pad_op, &update_slice_op, &flip_op};
  return ops;
}

}  // namespace tidemark
