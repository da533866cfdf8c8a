// What looks at an axis element by element: argmax, cumsum.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/scan_axis.h"

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/scan_axis.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Attrs along(std::int64_t axis) { return {{"axis", axis}}; }
int axis_of(const Attrs& a) { return static_cast<int>(a.integer("axis")); }

std::vector<Sample> axis_samples() {
  return {{.in = {{{61}, DType::f64}}, .attrs = along(0)},
          {.in = {{{3, 7}, DType::f64}}, .attrs = along(1)},
          {.in = {{{5, 3}, DType::f64}}, .attrs = along(0)},
          {.in = {{{2, 3, 4}, DType::f64}}, .attrs = along(1)},
          {.in = {{{0, 3}, DType::f64}}, .attrs = along(1)}};
}

constinit const Op argmax_op{
    .name = "argmax",
    .doc = "The index of the greatest along an axis, the first of equals; i64.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      require_number(a, 0);
      std::vector<std::int64_t> sizes = a.in[0].shape.sizes();
      const int axis = axis_of(a.attrs);
      if (sizes[static_cast<std::size_t>(axis)] == 0)
        fail(Error::Kind::usage, "[argmax] of no elements: {}", to_string(a.in[0]));
      sizes.erase(sizes.begin() + axis);
      return {{Shape(std::move(sizes)), DType::i64}};
    },
    .cut =
        [](const CutArgs& a) {
          std::optional<Cut> cut = cut_beside_axis(a);
          if (cut && cut->in[0] > axis_of(a.attrs)) --cut->out[0];
          return cut;
        },
    .facts = {.zero_derivative = true},
    .indices_made =
        [](const KernelSpec& s) {
          return IndexRange{.array = 0, .limit = s.in[0].type.shape[axis_of(s.attrs)]};
        },
    .reference = [](const KernelSpec& s) { return kernels::argmax(s, axis_of(s.attrs)); },
    .samples = axis_samples,
};

constinit const Op cumsum_op{
    .name = "cumsum",
    .doc = "Sums of the elements up to and with each, along an axis.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      require_number(a, 0);
      return {a.in[0]};
    },
    .vjp =
        [](const Rule& r) {
          const int axis = axis_of(r.attrs());
          return Tensors{flip(cumsum(flip(r.ct(), axis), axis), axis)};
        },
    .jvp = [](const Rule& r) { return Tensors{cumsum(r.dx(), axis_of(r.attrs()))}; },
    .cut = cut_beside_axis,
    .facts = {.in_place = {{0, 0}}},
    .reference =
        [](const KernelSpec& s) { return kernels::cumsum(s, axis_of(s.attrs), s.attrs.flag("rounded")); },
    .samples = axis_samples,
};

}  // namespace

Tensor argmax(const Tensor& x, int axis, Keep keep, Where where) {
  const Called called("argmax", where);
  const int a = x.shape().normalise(axis);
  const Tensor y = apply1(argmax_op, {x}, along(a), where);
  return keep.axes ? unsqueeze(y, a, where) : y;
}
Tensor cumsum(const Tensor& x, int axis, Where where) {
  const Called called("cumsum", where);
  return apply1(cumsum_op, {x}, along(x.shape().normalise(axis)), where);
}

Tensor cumsum_rounded(const Tensor& x, int axis, Where where) {
  const Called called("cumsum", where);
  return apply1(
      cumsum_op, {x},
      {{"axis", static_cast<std::int64_t>(x.shape().normalise(axis))}, {"rounded", std::int64_t{1}}}, where);
}

OpList scan_axis_ops() {
  static const Op* const ops[] = {&argmax_op, &cumsum_op};
  return ops;
}

}  // namespace tidemark
