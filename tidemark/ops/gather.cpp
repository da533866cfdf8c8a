// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/gather.h"

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/bad_index.h"
#include "tidemark/kernels/cpu/gather.h"
#include "tidemark/kernels/ref/gather.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

int axis_of(const Attrs& a) { return static_cast<int>(a.integer("axis", 0)); }

std::vector<Type> take_infer(const InferArgs& a) {
  require_integer(a, 1);
  const Shape &x = a.in[0].shape, &indices = a.in[1].shape;
  const int axis = axis_of(a.attrs);
  if (x.rank() == 0) fail(Error::Kind::usage, "[{}] a scalar has no axis", a.op);
  std::vector<std::int64_t> sizes(x.begin(), x.begin() + axis);
  sizes.insert(sizes.end(), indices.begin(), indices.end());
  sizes.insert(sizes.end(), x.begin() + axis + 1, x.end());
  return {{Shape(std::move(sizes)), a.in[0].dtype}};
}
// Indices are input 1, into an axis of input 0.
IndexRange along_axis(const KernelSpec& s) {
  return {.array = 1, .limit = s.in[0].type.shape[axis_of(s.attrs)], .refuse = kernels::refuse_index};
}
// By indices, or by axes of x that are taken whole.
std::optional<Cut> take_cut(const CutArgs& a) {
  const int axis = axis_of(a.attrs);
  if (a.known[1] >= 0) return Cut{{kWhole, a.known[1]}, {axis + a.known[1]}, a.attrs};
  if (a.known[0] < 0 || a.known[0] == axis) return std::nullopt;
  return Cut{{a.known[0], kWhole},
             {a.known[0] < axis ? a.known[0] : a.known[0] - 1 + a.in[1].shape.rank()},
             a.attrs};
}
// By indices with their updates the parts add up; by the other axes of the updates they lie side by side.
std::optional<Cut> add_rows_cut(const CutArgs& a) {
  const int axis = axis_of(a.attrs), indices = a.in[0].shape.rank();
  const int updates = a.known[0] >= 0 ? axis + a.known[0] : a.known[1];
  if (updates < 0) return std::nullopt;
  if (updates >= axis && updates < axis + indices) return Cut{{updates - axis, updates}, {kAdded}, a.attrs};
  const int out = updates < axis ? updates : updates - indices + 1;
  return Cut{{kWhole, updates}, {out}, cut_shape(a, out)};
}
Tensor add_rows(const Tensor& indices, const Tensor& updates, const Shape& result, int axis);

std::vector<Sample> take_samples() {
  const auto sample = [](Shape x, Shape indices, std::int64_t axis) {
    const double rows = static_cast<double>(x[static_cast<int>(axis)]);
    return Sample{.in = {{x, DType::f64}, {indices, DType::i64}},
                  .attrs = {{"axis", axis}},
                  .ranges = {{-2, 2}, {0, rows}}};
  };
  return {sample({5, 3}, {7}, 0), sample({4, 67}, {2, 3}, 0), sample({4}, {}, 0), sample({4, 2}, {0}, 0)};
}

// Rows of x by index; vjp adds rows, so that equal indices sum up.
Tensors take_vjp(const Rule& r) {
  return {r.needs(0) ? add_rows(r.x(1), r.ct(), r.x(0).shape(), axis_of(r.attrs())) : Tensor{}, Tensor{}};
}
constinit const Op embedding_op{
    .name = "embedding",
    .doc = "Rows of a table by index.",
    .infer = take_infer,
    .vjp = take_vjp,
    .jvp = [](const Rule& r) { return Tensors{embedding(r.dx(0), r.x(1))}; },
    .cut = take_cut,
    .facts = {.may_refuse = true},
    .indices = along_axis,
    .kernel = [](const KernelSpec& s) { return kernels::take_rows(s, "embedding", 0); },
    .reference = [](const KernelSpec& s) { return kernels::take_rows_reference(s, "embedding", 0); },
    .samples = take_samples,
};
constinit const Op index_select_op{
    .name = "index_select",
    .doc = "Slices along an axis by index.",
    .infer = take_infer,
    .vjp = take_vjp,
    .jvp = [](const Rule& r) { return Tensors{index_select(r.dx(0), r.x(1), axis_of(r.attrs()))}; },
    .cut = take_cut,
    .facts = {.may_refuse = true},
    .indices = along_axis,
    .kernel = [](const KernelSpec& s) { return kernels::take_rows(s, "index_select", axis_of(s.attrs)); },
    .reference =
        [](const KernelSpec& s) { return kernels::take_rows_reference(s, "index_select", axis_of(s.attrs)); },
    .samples =
        [] {
          std::vector<Sample> samples = take_samples();
          samples.push_back({.in = {{{3, 5, 2}, DType::f64}, {{4}, DType::i32}},
                             .attrs = {{"axis", std::int64_t{1}}},
                             .ranges = {{-2, 2}, {0, 5}}});
          return samples;
        },
};
constinit const Op index_add_op{
    .name = "index_add",
    .doc = "Zeros with slices added along an axis by index, in the order of the indices.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      require_integer(a, 0);
      const Type result{Shape(a.attrs.integers("shape")), a.in[1].dtype};
      const std::vector<Type> in{result, a.in[0]};
      const Type want = take_infer({a.op, in, a.attrs, a.regions})[0];
      if (want != a.in[1])
        fail(Error::Kind::usage, "[index_add] updates {} vs {}", to_string(a.in[1]), to_string(want));
      return {result};
    },
    .vjp =
        [](const Rule& r) {
          return Tensors{Tensor{}, index_select(r.ct(), r.x(0), axis_of(r.attrs()))};
        },
    .jvp =
        [](const Rule& r) { return Tensors{add_rows(r.x(0), r.dx(1), r.y().shape(), axis_of(r.attrs()))}; },
    .cut = add_rows_cut,
    .facts = {.may_refuse = true},
    .indices =
        [](const KernelSpec& s) {
          return IndexRange{
              .array = 0, .limit = s.out[0].type.shape[axis_of(s.attrs)], .refuse = kernels::refuse_index};
        },
    .kernel = [](const KernelSpec& s) { return kernels::add_rows(s, "index_add", axis_of(s.attrs)); },
    .reference =
        [](const KernelSpec& s) { return kernels::add_rows_reference(s, "index_add", axis_of(s.attrs)); },
    .samples =
        [] {
          const auto sample = [](const Shape& shape, const Shape& indices, const Shape& updates,
                                 std::int64_t axis) {
            const double rows = static_cast<double>(shape[static_cast<int>(axis)]);
            return Sample{.in = {{indices, DType::i64}, {updates, DType::f64}},
                          .attrs = {{"axis", axis}, {"shape", shape.sizes()}},
                          .ranges = {{0, rows}, {-2, 2}}};
          };
          return std::vector<Sample>{sample({5, 3}, {7}, {7, 3}, 0), sample({3, 5, 2}, {4}, {3, 4, 2}, 1),
                                     sample({4, 2}, {0}, {0, 2}, 0)};
        },
};
// Sums in bf16 and f16 would end where a term is less than half a unit of the sum: they are made in f32 and rounded once.
Tensor add_rows(const Tensor& indices, const Tensor& updates, const Shape& result, int axis) {
  if (is_narrow(updates.dtype()))
    return cast(add_rows(indices, cast(updates, DType::f32), result, axis), updates.dtype());
  return apply1(index_add_op, {indices, updates}, {{"axis", std::int64_t{axis}}, {"shape", result.sizes()}},
                Where{});
}

// Recorded by nobody: ir/join.h puts it in place of a sum, so that a large array is neither zeroed nor added as a whole.
constinit const Op index_add_to_op{
    .name = "index_add_to",
    .doc = "An array with slices added along an axis by index, in the order of the indices.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      require_integer(a, 1);
      const std::vector<Type> in{a.in[0], a.in[1]};
      const Type want = take_infer({a.op, in, a.attrs, a.regions})[0];
      if (want != a.in[2])
        fail(Error::Kind::usage, "[index_add_to] updates {} vs {}", to_string(a.in[2]), to_string(want));
      return {a.in[0]};
    },
    .vjp =
        [](const Rule& r) {
          return Tensors{r.ct(), Tensor{}, index_select(r.ct(), r.x(1), axis_of(r.attrs()))};
        },
    .jvp =
        [](const Rule& r) {
          return Tensors{r.dx(0) + add_rows(r.x(1), r.dx(2), r.y().shape(), axis_of(r.attrs()))};
        },
    .facts = {.may_refuse = true, .in_place = {{0, 0}}},
    .indices = along_axis,
    .kernel = [](const KernelSpec& s) { return kernels::add_rows(s, "index_add_to", axis_of(s.attrs)); },
    .reference =
        [](const KernelSpec& s) { return kernels::add_rows_reference(s, "index_add_to", axis_of(s.attrs)); },
    .samples =
        [] {
          const auto sample = [](Shape shape, Shape indices, Shape updates, std::int64_t axis) {
            const double rows = static_cast<double>(shape[static_cast<int>(axis)]);
            return Sample{.in = {{shape, DType::f64}, {indices, DType::i64}, {updates, DType::f64}},
                          .attrs = {{"axis", axis}},
                          .ranges = {{-2, 2}, {0, rows}, {-2, 2}}};
          };
          return std::vector<Sample>{sample({5, 3}, {7}, {7, 3}, 0), sample({3, 5, 2}, {4}, {3, 4, 2}, 1),
                                     sample({4, 2}, {0}, {0, 2}, 0)};
        },
};

void check_elements(const InferArgs& a) {
  require_integer(a, 1);
  const Shape &x = a.in[0].shape, &indices = a.in[1].shape;
  const int axis = axis_of(a.attrs);
  std::vector<std::int64_t> want = x.sizes();
  if (indices.rank() == x.rank()) want[static_cast<std::size_t>(axis)] = indices[axis];
  if (indices.sizes() != want)
    fail(Error::Kind::usage, "[{}] {} vs indices {} along axis {}", a.op, to_string(x), to_string(indices),
         axis);
}
std::vector<Sample> element_samples(bool updates) {
  std::vector<Sample> samples;
  const auto sample = [&](Shape x, Shape indices, std::int64_t axis) {
    const double rows = static_cast<double>(x[static_cast<int>(axis)]);
    Sample s{.in = {{x, DType::f64}, {indices, DType::i64}},
             .attrs = {{"axis", axis}},
             .ranges = {{-2, 2}, {0, rows}}};
    if (updates) {
      s.in.push_back({indices, DType::f64});
      s.ranges.push_back({-2, 2});
    }
    samples.push_back(std::move(s));
  };
  sample({5, 3}, {7, 3}, 0);
  sample({2, 4, 3}, {2, 5, 3}, 1);
  sample({3, 4}, {3, 1}, 1);
  sample({4}, {0}, 0);
  return samples;
}
constinit const Op gather_op{
    .name = "gather",
    .doc = "y[i][j] = x[indices[i][j]][j] for axis 0.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      check_elements(a);
      return {{a.in[1].shape, a.in[0].dtype}};
    },
    .vjp =
        [](const Rule& r) {
          return Tensors{scatter_add(zeros_like(r.x(0)), r.x(1), r.ct(), axis_of(r.attrs())), Tensor{}};
        },
    .jvp = [](const Rule& r) { return Tensors{gather(r.dx(0), r.x(1), axis_of(r.attrs()))}; },
    .cut = cut_beside_axis,
    .facts = {.may_refuse = true},
    .indices = along_axis,
    .kernel = [](const KernelSpec& s) { return kernels::gather(s, axis_of(s.attrs)); },
    .reference = [](const KernelSpec& s) { return kernels::gather_reference(s, axis_of(s.attrs)); },
    .samples = [] { return element_samples(false); },
};
constinit const Op scatter_add_op{
    .name = "scatter_add",
    .doc = "x with updates added by index, in the order of the indices.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      check_elements(a);
      if (a.in[2].shape != a.in[1].shape || a.in[2].dtype != a.in[0].dtype)
        fail(Error::Kind::usage, "[scatter_add] updates {} vs indices {} of {}", to_string(a.in[2]),
             to_string(a.in[1].shape), name_of(a.in[0].dtype));
      return {a.in[0]};
    },
    .vjp =
        [](const Rule& r) {
          return Tensors{r.ct(), Tensor{},
                         r.needs(2) ? gather(r.ct(), r.x(1), axis_of(r.attrs())) : Tensor{}};
        },
    .jvp = [](const Rule& r) { return Tensors{scatter_add(r.dx(0), r.x(1), r.dx(2), axis_of(r.attrs()))}; },
    .cut = cut_beside_axis,
    .facts = {.may_refuse = true, .in_place = {{0, 0}}},
    .indices = along_axis,
    .kernel = [](const KernelSpec& s) { return kernels::scatter_add(s, axis_of(s.attrs)); },
    .reference = [](const KernelSpec& s) { return kernels::scatter_add_reference(s, axis_of(s.attrs)); },
    .samples = [] { return element_samples(true); },
};
constinit const Op one_hot_op{
    .name = "one_hot",
    .doc = "1 at the index, 0 elsewhere, along a new last axis.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      require_integer(a, 0);
      std::vector<std::int64_t> sizes = a.in[0].shape.sizes();
      sizes.push_back(a.attrs.integer("classes"));
      return {{Shape(std::move(sizes)), a.attrs.dtype()}};
    },
    .cut = [](const CutArgs& a) -> std::optional<Cut> { return cut_alike(a, a.known[0]); },
    .facts = {.zero_derivative = true, .may_refuse = true},
    .indices =
        [](const KernelSpec& s) {
          return IndexRange{.array = 0, .limit = s.attrs.integer("classes"), .refuse = kernels::refuse_index};
        },
    .kernel = kernels::one_hot,
    .reference = kernels::one_hot_reference,
    .samples =
        [] {
          return std::vector<Sample>{
              {.in = {{{2, 3}, DType::i64}},
               .attrs = {{"classes", std::int64_t{5}}, {"dtype", static_cast<std::int64_t>(DType::f64)}},
               .ranges = {{0, 5}}}};
        },
};

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& indices, Where where) {
  return apply1(embedding_op, {table, indices}, {}, where);
}
Tensor index_select(const Tensor& x, const Tensor& indices, int axis, Where where) {
  const Called called("index_select", where);
  return apply1(index_select_op, {x, indices}, {{"axis", std::int64_t{x.shape().normalise(axis)}}}, where);
}
Tensor gather(const Tensor& x, const Tensor& indices, int axis, Where where) {
  const Called called("gather", where);
  const int along = x.shape().normalise(axis);
  Tensor read = x;  // as torch.gather: indices may be shorter than x along the other axes
  for (int a = 0; a < x.rank() && indices.rank() == x.rank(); ++a)
    if (a != along && indices.size(a) < x.size(a)) read = slice(read, a, 0, indices.size(a), 1, where);
  return apply1(gather_op, {read, indices}, {{"axis", std::int64_t{along}}}, where);
}
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis, Where where) {
  const Called called("scatter_add", where);
  if (is_narrow(x.dtype()) && updates.dtype() == x.dtype())
    return cast(
        scatter_add(cast(x, DType::f32, where), indices, cast(updates, DType::f32, where), axis, where),
        x.dtype(), where);
  return apply1(scatter_add_op, {x, indices, updates}, {{"axis", std::int64_t{x.shape().normalise(axis)}}},
                where);
}
Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype, Where where) {
  return apply1(one_hot_op, {indices}, {{"classes", classes}, {"dtype", static_cast<std::int64_t>(dtype)}},
                where);
}

OpList gather_ops() {
  static const Op* const ops[] = {&embedding_op, &index_select_op, &index_add_op, &index_add_to_op,
                                  &gather_op,    &scatter_add_op,  &one_hot_op};
  return ops;
}

}  // namespace tidemark
