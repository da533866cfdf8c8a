// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/views.h"

#include <algorithm>
#include <array>

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/fused.h"
#include "tidemark/kernels/cpu/move.h"
#include "tidemark/kernels/strips.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

using Sizes = std::vector<std::int64_t>;
using kernels::Box;

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }
std::size_t axis_of(const Attrs& a) { return static_cast<std::size_t>(a.integer("axis")); }

Layout view_layout(const Shape& shape, Sizes strides, std::int64_t offset) {
  const Sizes dense = row_major_strides(shape);
  bool same = true;
  for (int a = 0; a < shape.rank(); ++a) same = same && (shape[a] == 1 || strides[at(a)] == dense[at(a)]);
  if (same) strides.clear();
  return {.strides = std::move(strides), .offset = offset};
}

// Strides of x seen with another shape, where there are any: axes that lie densely behind each other are
// joined and split again.
std::optional<Sizes> reshaped_strides(const Shape& from, const Sizes& strides, const Shape& to) {
  if (from.numel() == 0) return row_major_strides(to);
  Sizes sizes, steps;  // without ones
  for (int a = 0; a < from.rank(); ++a) {
    if (from[a] == 1) continue;
    if (!sizes.empty() && steps.back() == strides[at(a)] * from[a]) {
      sizes.back() *= from[a];
      steps.back() = strides[at(a)];
    } else {
      sizes.push_back(from[a]);
      steps.push_back(strides[at(a)]);
    }
  }
  Sizes result(to.sizes().size(), 1);
  std::size_t k = sizes.size();
  std::int64_t left = 1, step = 1;
  for (int a = to.rank() - 1; a >= 0; --a) {
    if (to[a] == 1) continue;
    if (left == 1) {
      if (k == 0) return std::nullopt;
      left = sizes[--k];
      step = steps[k];
    }
    if (left % to[a] != 0) return std::nullopt;
    result[at(a)] = step;
    step *= to[a];
    left /= to[a];
  }
  return result;
}

// Every view copies by its own layout where it is not taken as a view.
template <std::optional<Layout> (*View)(const KernelSpec&, int)>
std::unique_ptr<Kernel> copy_view(const KernelSpec& s) {
  std::vector<Box> boxes;
  for (std::size_t o = 0; o < s.out.size(); ++o) {
    const auto layout = View(s, static_cast<int>(o));
    if (!layout) return nullptr;
    const Shape& shape = s.out[o].type.shape;
    boxes.push_back({.shape = shape,
                     .output = static_cast<int>(o),
                     .from = strides_of(shape, *layout),
                     .to = strides_of(shape, s.out[o].layout),
                     .from_offset = layout->offset - s.in[0].layout.offset});
  }
  return kernels::copy_boxes(boxes, s.in[0].type.dtype, s.threads);
}
bool any_strides(const KernelSpec& s, int input) { return kernels::accepts_strides(s, input); }

Cost view_cost(const KernelSpec& s) {
  double bytes = 0;
  for (const Value& v : s.out) bytes += static_cast<double>(v.type.bytes());
  return {.flops = 0, .bytes = 2 * bytes};
}

template <std::optional<Layout> (*View)(const KernelSpec&, int)>
constexpr Op view_op(const char* name, const char* doc, std::vector<Type> (*infer)(const InferArgs&)) {
  return {.name = name,
          .doc = doc,
          .infer = infer,
          .cost = view_cost,
          .reference = copy_view<View>,
          .view = View,
          .accepts = any_strides};
}

std::vector<Type> reshape_infer(const InferArgs& a) {
  const Shape to(a.attrs.integers("shape"));
  if (to.numel() != a.in[0].shape.numel())
    fail(Error::Kind::usage, "[reshape] {} has {} elements vs {} with {}", to_string(a.in[0].shape),
         a.in[0].shape.numel(), to_string(to), to.numel());
  return {{to, a.in[0].dtype}};
}
std::optional<Layout> reshape_view(const KernelSpec& s, int) {
  const Value& x = s.in[0];
  const Shape& to = s.out[0].type.shape;
  const auto strides = reshaped_strides(x.type.shape, strides_of(x.type.shape, x.layout), to);
  if (!strides) return std::nullopt;
  return view_layout(to, *strides, x.layout.offset);
}
// Where strides cannot express it: a dense copy first, in the order of x's axes.
std::unique_ptr<Kernel> reshape_copy(const KernelSpec& s) {
  const Value& x = s.in[0];
  std::vector<Box> boxes{{.shape = x.type.shape,
                          .from = strides_of(x.type.shape, x.layout),
                          .to = row_major_strides(x.type.shape)}};
  if (!s.out[0].layout.dense_row_major()) return nullptr;
  return kernels::copy_boxes(boxes, x.type.dtype, s.threads);
}
// A stretch of the axis is as many elements one behind the other; they are a stretch of that axis of the other shape behind which
// less lies, and which is made of them.
std::optional<Cut> reshape_cut(const CutArgs& a) {
  const bool forwards = a.known[0] >= 0;
  const int axis = forwards ? a.known[0] : a.wanted;
  if (axis < 0) return std::nullopt;
  const Shape &from = forwards ? a.in[0].shape : a.out[0].shape,
              &to = forwards ? a.out[0].shape : a.in[0].shape;
  std::int64_t elements = a.stretch() > 0 ? a.stretch() : from[axis];
  for (int i = axis + 1; i < from.rank(); ++i) elements *= from[i];
  if (elements == 0) return std::nullopt;
  std::int64_t behind = 1;
  for (int k = to.rank() - 1; k >= 0; behind *= to[k--]) {
    if (elements % behind != 0) return std::nullopt;
    const std::int64_t stretch = elements / behind;
    if (to[k] % stretch != 0 || stretch % a.parts != 0) continue;
    const int out = forwards ? k : axis;
    Cut cut{{forwards ? axis : k}, {out}, cut_shape(a, out)};
    (forwards ? cut.out_stretch : cut.in_stretch) = stretch == to[k] ? 0 : stretch;
    return cut;
  }
  return std::nullopt;
}
constinit const Op reshape_op = [] {
  Op op = view_op<reshape_view>("reshape", "The same elements in row-major order, with another shape.",
                                reshape_infer);
  op.reference = reshape_copy;
  op.cut = reshape_cut;
  op.vjp = [](const Rule& r) { return Tensors{reshape(r.ct(), r.x().shape().sizes())}; };
  op.jvp = [](const Rule& r) { return Tensors{reshape(r.dx(), r.y().shape().sizes())}; };
  op.samples = [] {
    return std::vector<Sample>{{.in = {{{2, 3, 4}, DType::f64}}, .attrs = {{"shape", Sizes{6, 4}}}},
                               {.in = {{{1}, DType::f64}}, .attrs = {{"shape", Sizes{}}}},
                               {.in = {{{0, 3}, DType::f64}}, .attrs = {{"shape", Sizes{3, 0, 2}}}}};
  };
  return op;
}();

std::vector<Type> permute_infer(const InferArgs& a) {
  const Shape& x = a.in[0].shape;
  const Sizes& axes = a.attrs.integers("axes");
  std::vector<bool> seen(x.sizes().size(), false);
  bool valid = axes.size() == seen.size();
  Sizes sizes;
  for (std::size_t i = 0; valid && i < axes.size(); ++i) {
    valid = axes[i] >= 0 && axes[i] < x.rank() && !seen[at(axes[i])];
    if (!valid) break;
    seen[at(axes[i])] = true;
    sizes.push_back(x[static_cast<int>(axes[i])]);
  }
  if (!valid) {
    std::string text;
    for (const std::int64_t v : axes) text += (text.empty() ? "" : ",") + std::to_string(v);
    fail(Error::Kind::usage, "[permute] ({}) is no order of the {} axes of {}", text, x.rank(), to_string(x));
  }
  return {{Shape(std::move(sizes)), a.in[0].dtype}};
}
std::optional<Layout> permute_view(const KernelSpec& s, int) {
  const Value& x = s.in[0];
  const Sizes own = strides_of(x.type.shape, x.layout);
  Sizes strides;
  for (const std::int64_t a : s.attrs.integers("axes")) strides.push_back(own[at(a)]);
  return view_layout(s.out[0].type.shape, std::move(strides), x.layout.offset);
}
std::vector<int> inverse_order(const Sizes& axes) {
  std::vector<int> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[at(axes[i])] = static_cast<int>(i);
  return inverse;
}
constinit const Op permute_op = [] {
  Op op = view_op<permute_view>("permute", "The axes in another order.", permute_infer);
  op.cut = [](const CutArgs& a) -> std::optional<Cut> {
    const Sizes& axes = a.attrs.integers("axes");
    if (a.known[0] < 0 && a.wanted < 0) return std::nullopt;
    const int in = a.known[0] >= 0 ? a.known[0] : static_cast<int>(axes[at(a.wanted)]);
    return Cut{{in}, {static_cast<int>(std::find(axes.begin(), axes.end(), in) - axes.begin())}, a.attrs};
  };
  op.vjp = [](const Rule& r) { return Tensors{permute(r.ct(), inverse_order(r.attrs().integers("axes")))}; };
  op.jvp = [](const Rule& r) {
    const Sizes& axes = r.attrs().integers("axes");
    return Tensors{permute(r.dx(), std::vector<int>(axes.begin(), axes.end()))};
  };
  op.samples = [] {
    return std::vector<Sample>{{.in = {{{2, 3, 5}, DType::f64}}, .attrs = {{"axes", Sizes{2, 0, 1}}}},
                               {.in = {{{3, 4}, DType::f64}}, .attrs = {{"axes", Sizes{1, 0}}}},
                               {.in = {{{}, DType::f64}}, .attrs = {{"axes", Sizes{}}}}};
  };
  return op;
}();

std::optional<Layout> broadcast_view(const KernelSpec& s, int) {
  const Value& x = s.in[0];
  const Shape& to = s.out[0].type.shape;
  const Sizes own = strides_of(x.type.shape, x.layout);
  Sizes strides(to.sizes().size(), 0);
  const int shift = to.rank() - x.type.shape.rank();
  for (int a = 0; a < x.type.shape.rank(); ++a) {
    if (x.type.shape[a] == to[a + shift]) strides[at(a + shift)] = own[at(a)];
  }
  return view_layout(to, std::move(strides), x.layout.offset);
}
constinit const Op broadcast_op = [] {
  Op op = view_op<broadcast_view>("broadcast_to", "x repeated along new axes and axes of size 1.",
                                  [](const InferArgs& a) -> std::vector<Type> {
                                    const Shape to(a.attrs.integers("shape"));
                                    if (broadcast(a.op, a.in[0].shape, to) != to)
                                      fail(Error::Kind::usage, "[broadcast_to] {} vs {}",
                                           to_string(a.in[0].shape), to_string(to));
                                    return {{to, a.in[0].dtype}};
                                  });
  op.vjp = [](const Rule& r) { return Tensors{sum_to(r.ct(), r.x().shape())}; };
  op.cut = [](const CutArgs& a) {
    std::optional<Cut> cut = cut_aligned(a);
    if (cut) cut->attrs = cut_shape(a, cut->out[0]);
    return cut;
  };
  op.jvp = [](const Rule& r) { return Tensors{broadcast_to(r.dx(), r.y().shape())}; };
  op.samples = [] {
    return std::vector<Sample>{{.in = {{{3, 1}, DType::f64}}, .attrs = {{"shape", Sizes{2, 3, 4}}}},
                               {.in = {{{}, DType::f64}}, .attrs = {{"shape", Sizes{5}}}}};
  };
  return op;
}();

std::vector<Type> slice_infer(const InferArgs& a) {
  Sizes sizes = a.in[0].shape.sizes();
  const std::int64_t begin = a.attrs.integer("begin"), end = a.attrs.integer("end"),
                     step = a.attrs.integer("step");
  std::int64_t& n = sizes[axis_of(a.attrs)];
  if (begin < 0 || end > n || begin > end || step < 1)
    fail(Error::Kind::usage, "[slice] [{}, {}) by {} vs axis {} of {}", begin, end, step,
         a.attrs.integer("axis"), to_string(a.in[0].shape));
  n = (end - begin + step - 1) / step;
  return {{Shape(std::move(sizes)), a.in[0].dtype}};
}
std::optional<Layout> slice_view(const KernelSpec& s, int) {
  const Value& x = s.in[0];
  Sizes strides = strides_of(x.type.shape, x.layout);
  std::int64_t& own = strides[axis_of(s.attrs)];
  const std::int64_t offset = x.layout.offset + own * s.attrs.integer("begin");
  own *= s.attrs.integer("step");
  return view_layout(s.out[0].type.shape, std::move(strides), offset);
}
constinit const Op slice_op = [] {
  Op op = view_op<slice_view>("slice", "Every step-th element of [begin, end) along an axis.", slice_infer);
  op.cut = [](const CutArgs& a) -> std::optional<Cut> {
    const std::int64_t begin = a.attrs.integer("begin"), end = a.attrs.integer("end");
    if (a.stretch() == 0 || a.attrs.integer("step") != 1) return cut_beside_axis(a);
    const std::int64_t stretch = cut_into_stretches(a, std::array{begin, end});
    if (stretch == 0) return cut_beside_axis(a);
    Cut cut = cut_alike(a, a.known[0]);
    cut.attrs.set("begin", a.per_part(begin)).set("end", a.per_part(end));
    cut.out_stretch = end - begin == stretch ? 0 : stretch;
    return cut;
  };
  op.vjp = [](const Rule& r) {
    const int axis = static_cast<int>(r.attrs().integer("axis"));
    const std::int64_t begin = r.attrs().integer("begin"), step = r.attrs().integer("step");
    if (step != 1) return Tensors{update_slice(zeros_like(r.x()), r.ct(), axis, begin, step)};
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(r.x().rank()), {0, 0});
    widths[at(axis)] = {begin, r.x().size(axis) - begin - r.y().size(axis)};
    return Tensors{pad(r.ct(), widths)};
  };
  op.jvp = [](const Rule& r) {
    const Attrs& a = r.attrs();
    return Tensors{slice(r.dx(), static_cast<int>(a.integer("axis")), a.integer("begin"), a.integer("end"),
                         a.integer("step"))};
  };
  op.samples = [] {
    const auto attrs = [](std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
      return Attrs{{"axis", axis}, {"begin", begin}, {"end", end}, {"step", step}};
    };
    return std::vector<Sample>{{.in = {{{4, 7}, DType::f64}}, .attrs = attrs(1, 1, 6, 2)},
                               {.in = {{{4, 7}, DType::f64}}, .attrs = attrs(0, 1, 3, 1)},
                               {.in = {{{4, 7}, DType::f64}}, .attrs = attrs(0, 2, 2, 1)}};
  };
  return op;
}();

std::vector<Type> split_infer(const InferArgs& a) {
  const Shape& x = a.in[0].shape;
  std::int64_t total = 0;
  std::vector<Type> types;
  for (const std::int64_t n : a.attrs.integers("sizes")) {
    Sizes sizes = x.sizes();
    sizes[axis_of(a.attrs)] = n;
    types.push_back({Shape(std::move(sizes)), a.in[0].dtype});
    total += n;
  }
  if (total != x[static_cast<int>(a.attrs.integer("axis"))])
    fail(Error::Kind::usage, "[split] pieces of {} in all vs axis {} of {}", total, a.attrs.integer("axis"),
         to_string(x));
  return types;
}
std::optional<Layout> split_view(const KernelSpec& s, int output) {
  const Value& x = s.in[0];
  const Sizes strides = strides_of(x.type.shape, x.layout);
  std::int64_t offset = x.layout.offset;
  for (int i = 0; i < output; ++i) offset += s.attrs.integers("sizes")[at(i)] * strides[axis_of(s.attrs)];
  return view_layout(s.out[at(output)].type.shape, strides, offset);
}
constinit const Op split_op = [] {
  Op op = view_op<split_view>("split", "Pieces along an axis, of the given sizes.", split_infer);
  op.cut = [](const CutArgs& a) -> std::optional<Cut> {
    Sizes sizes = a.attrs.integers("sizes");
    const std::int64_t stretch = a.stretch() > 0 ? cut_into_stretches(a, sizes) : 0;
    // Pieces of one stretch are whole axes, those of several are not: all have to be the one or the other.
    if (stretch == 0 ||
        std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t n) { return n != sizes[0]; }))
      return cut_beside_axis(a);
    Cut cut = cut_alike(a, a.known[0]);
    cut.out_stretch = sizes[0] == stretch ? 0 : stretch;
    for (std::int64_t& n : sizes) n = a.per_part(n);
    cut.attrs.set("sizes", std::move(sizes));
    return cut;
  };
  op.vjp = [](const Rule& r) {
    Tensors parts;
    for (int i = 0; i < r.outputs(); ++i) parts.push_back(r.ct(i));
    return Tensors{concat(parts, static_cast<int>(r.attrs().integer("axis")))};
  };
  op.jvp = [](const Rule& r) {
    return split(r.dx(), r.attrs().integers("sizes"), static_cast<int>(r.attrs().integer("axis")));
  };
  op.samples = [] {
    return std::vector<Sample>{
        {.in = {{{3, 6, 2}, DType::f64}}, .attrs = {{"axis", std::int64_t{1}}, {"sizes", Sizes{1, 2, 3}}}},
        {.in = {{{4}, DType::f64}}, .attrs = {{"axis", std::int64_t{0}}, {"sizes", Sizes{4, 0}}}}};
  };
  return op;
}();

// To strips (kernels/strips.h): whole ones, and what is left of the columns.
std::vector<Box> to_strips(const KernelSpec& s) {
  constexpr std::int64_t width = kernels::kStripWidth;
  const Shape& shape = s.in[0].type.shape;
  const auto from = strides_of(shape, s.in[0].layout);
  const std::int64_t rows = shape[0], whole = shape[1] / width, rest = shape[1] % width;
  return {{.shape = {whole, rows, width},
           .from = {width * from[1], from[0], from[1]},
           .to = {rows * width, width, 1}},
          {.shape = {rows, rest},
           .from = from,
           .to = {width, 1},
           .from_offset = whole * width * from[1],
           .to_offset = whole * rows * width}};
}

constinit const Op contiguous_op{
    .name = "contiguous",
    .doc = "A dense copy.",
    .infer = [](const InferArgs& a) -> std::vector<Type> { return {a.in[0]}; },
    .vjp = [](const Rule& r) { return Tensors{r.ct()}; },
    .jvp = [](const Rule& r) { return Tensors{r.dx()}; },
    .cut = cut_aligned,
    .cost = view_cost,
    .reference =
        [](const KernelSpec& s) {
          const Shape& shape = s.in[0].type.shape;
          if (kernels::in_strips(s.out[0].layout))
            return kernels::copy_boxes(to_strips(s), s.in[0].type.dtype, s.threads);
          std::vector<Box> boxes{{.shape = shape,
                                  .from = strides_of(shape, s.in[0].layout),
                                  .to = strides_of(shape, s.out[0].layout)}};
          return kernels::copy_boxes(boxes, s.in[0].type.dtype, s.threads);
        },
    .accepts = any_strides,
    .samples =
        [] {
          return std::vector<Sample>{{.in = {{{3, 5}, DType::f64}}}};
        },
};

}  // namespace

Tensor reshape(const Tensor& x, const Sizes& sizes, Where where) {
  const Called called("reshape", where);
  Sizes to = sizes;
  std::int64_t known = 1, unknown = -1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1 && unknown >= 0) fail(Error::Kind::usage, "[reshape] two sizes of -1 vs one at most");
    if (to[i] == -1)
      unknown = static_cast<std::int64_t>(i);
    else
      known *= to[i];
  }
  if (unknown >= 0) {
    if (known <= 0 || x.numel() % known != 0)
      fail(Error::Kind::usage, "[reshape] {} elements of {} do not divide by {}", x.numel(),
           to_string(x.shape()), known);
    to[at(unknown)] = x.numel() / known;
  }
  if (to == x.shape().sizes()) return x;
  return apply1(reshape_op, {x}, {{"shape", to}}, where);
}
Tensor permute(const Tensor& x, const std::vector<int>& axes, Where where) {
  const Called called("permute", where);
  Sizes normal;
  bool same = axes.size() == x.shape().sizes().size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    normal.push_back(x.shape().normalise(axes[i]));
    same = same && normal.back() == static_cast<std::int64_t>(i);
  }
  if (same) return x;
  return apply1(permute_op, {x}, {{"axes", normal}}, where);
}
Tensor transpose(const Tensor& x, int a, int b, Where where) {
  const Called called("transpose", where);
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
  std::swap(axes[at(x.shape().normalise(a))], axes[at(x.shape().normalise(b))]);
  return permute(x, axes, where);
}
Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where) {
  const Called called("broadcast_to", where);
  if (x.shape() == shape) return x;
  return apply1(broadcast_op, {x}, {{"shape", shape.sizes()}}, where);
}
Tensor squeeze(const Tensor& x, int axis, Where where) {
  const Called called("squeeze", where);
  Sizes sizes = x.shape().sizes();
  const int a = x.shape().normalise(axis);
  if (sizes[at(a)] != 1)
    fail(Error::Kind::usage, "[squeeze] axis {} of {} is not 1", axis, to_string(x.shape()));
  sizes.erase(sizes.begin() + a);
  return reshape(x, sizes, where);
}
Tensor unsqueeze(const Tensor& x, int axis, Where where) {
  const Called called("unsqueeze", where);
  Sizes sizes = x.shape().sizes();
  const int rank = x.rank() + 1;
  if (axis < -rank || axis >= rank)
    fail(Error::Kind::usage, "[unsqueeze] axis {} vs rank {} of the result", axis, rank);
  sizes.insert(sizes.begin() + (axis < 0 ? axis + rank : axis), 1);
  return reshape(x, sizes, where);
}
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step,
             Where where) {
  const Called called("slice", where);
  const int a = x.shape().normalise(axis);
  const std::int64_t n = x.size(a);
  if (begin < 0) begin += n;
  if (end < 0) end += n;
  if (begin == 0 && end == n && step == 1) return x;
  return apply1(slice_op, {x}, {{"axis", std::int64_t{a}}, {"begin", begin}, {"end", end}, {"step", step}},
                where);
}
Tensors split(const Tensor& x, const Sizes& sizes, int axis, Where where) {
  const Called called("split", where);
  if (sizes.size() == 1 && sizes[0] == x.size(axis)) return {x};
  const Tensor in[] = {x};
  return apply(split_op, in, {{"axis", std::int64_t{x.shape().normalise(axis)}}, {"sizes", sizes}}, where);
}
Tensors split(const Tensor& x, int pieces, int axis, Where where) {
  const Called called("split", where);
  const std::int64_t n = x.size(axis);
  if (pieces < 1 || n % pieces != 0)
    fail(Error::Kind::usage, "[split] axis {} of {} vs {} equal pieces", axis, to_string(x.shape()), pieces);
  return split(x, Sizes(static_cast<std::size_t>(pieces), n / pieces), axis, where);
}
Tensor contiguous(const Tensor& x, Where where) { return apply1(contiguous_op, {x}, {}, where); }

OpList view_ops() {
  static const Op* const ops[] = {&reshape_op, &permute_op, &broadcast_op,
                                  &slice_op,   &split_op,   &contiguous_op};
  return ops;
}

}  // namespace tidemark
