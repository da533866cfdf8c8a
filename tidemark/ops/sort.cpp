// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/sort.h"

#include <cmath>

#include "tidemark/ir/cut.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

const Op& sort_op() {
  static const Op op{
      .name = "sort",
      .doc =
          "Sorted along the last axis, with the index (i64) each element came from. Stable; NaN counts as "
          "the largest.",
      .infer =
          [](const InferArgs& a) {
            if (type_of(a, 0).shape.rank() == 0)
              fail(Error::Kind::usage, "[sort] a scalar has no axis to sort");
            return std::vector<Type>{type_of(a, 0), Type{type_of(a, 0).shape, DType::i64}};
          },
      .vjp = [](const Rule& r) { return Tensors{scatter_add(zeros_like(r.x()), r.y(1), r.ct(0), -1)}; },
      .jvp =
          [](const Rule& r) {
            return Tensors{gather(r.dx(), r.y(1), -1), Tensor{}};
          },
      .cut = [](const CutArgs& a) { return cut_in_front(a, 1); },
      .indices_made =
          [](const KernelSpec& s) { return IndexRange{.array = 1, .limit = s.in[0].type.shape[-1]}; },
      .cost =
          [](const KernelSpec& spec) {
            const auto n = static_cast<double>(spec.in[0].type.shape[-1]);
            return Cost{.flops = 10 * static_cast<double>(spec.in[0].type.shape.numel()) * std::log2(n + 1), .bytes = 4.0 * static_cast<double>(spec.in[0].type.bytes())};
          },
      .reference = kernels::sort,
      .samples =
          [] {
            std::vector<Sample> samples;
            for (const std::int64_t descending : {0, 1}) {
              for (const Type& type : {Type{{7}, DType::f64}, Type{{3, 10}, DType::f64}, Type{{2, 0}, DType::f64}, Type{{9}, DType::i32}}) {
                samples.push_back({.in = {type}, .attrs = {{"descending", descending}}, .range = {-50, 50}});
              }
            }
            return samples;
          },
  };
  return op;
}

}  // namespace

Sorted sort(const Tensor& x, int axis, SortOptions options, Where where) {
  const Called called("sort", where);
  const int at = x.shape().normalise(axis);
  const bool last = at == x.rank() - 1;
  const Tensors y = apply(sort_op(), std::vector<Tensor>{last ? x : transpose(x, at, -1, where)}, {{"descending", std::int64_t{options.descending}}}, where);
  if (last) return {y[0], y[1]};
  return {transpose(y[0], at, -1, where), transpose(y[1], at, -1, where)};
}

Sorted top_k(const Tensor& x, std::int64_t k, int axis, Where where) {
  const Called called("top_k", where);
  if (k < 0 || k > x.size(axis)) fail(Error::Kind::usage, "[top_k] k is {} vs {} elements along axis {}", k, x.size(axis), axis);
  const Sorted all = sort(x, axis, {.descending = true}, where);
  return {slice(all.values, axis, 0, k, 1, where), slice(all.indices, axis, 0, k, 1, where)};
}

OpList sort_ops() {
  static const Op* const list[] = {&sort_op()};
  return list;
}

}  // namespace tidemark
