// 0, 1, … n-1. (full itself is elementwise and lives with its kind.)
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tidemark/kernels/cpu/tile.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

constinit const Op iota_op{
    .name = "iota",
    .doc = "0, 1, 2, … along one axis.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      return {{Shape{a.attrs.integer("n")}, a.attrs.dtype()}};
    },
    .facts = {.zero_derivative = true},
    .indices_made =
        [](const KernelSpec& s) {
          const std::int64_t n = s.attrs.integer("n");
          // Narrow numbers begin anew.
          constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
          return IndexRange{.limit = n <= kMost || s.attrs.dtype() == DType::i64
                                         ? n
                                         : std::numeric_limits<std::int64_t>::max()};
        },
    .reference =
        [](const KernelSpec& s) {
          const std::int64_t n = s.attrs.integer("n");
          const DType dtype = s.out[0].type.dtype;
          return make_kernel(0, [n, dtype](const Operands& o) {
            const auto convert = kernels::convert_function(DType::i64, dtype);
            for (std::int64_t i = 0; i < n; ++i) convert(&i, o.output<std::byte>(0) + i * size_of(dtype), 1);
          });
        },
    .samples =
        [] {
          const auto attrs = [](std::int64_t n, DType d) {
            return Attrs{{"n", n}, {"dtype", static_cast<std::int64_t>(d)}};
          };
          return std::vector<Sample>{{.attrs = attrs(37, DType::f64)},
                                     {.attrs = attrs(5, DType::i64)},
                                     {.attrs = attrs(0, DType::f32)}};
        },
};

}  // namespace

Tensor iota_beside(const Tensor& x, std::int64_t n, DType dtype, Where where) {
  return apply_beside(x, iota_op, {{"n", n}, {"dtype", static_cast<std::int64_t>(dtype)}}, where);
}

OpList full_ops() {
  static const Op* const ops[] = {&iota_op};
  return ops;
}

}  // namespace tidemark
