// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/assign.h"

#include <cstring>

#include "tidemark/ops/table.h"

namespace tidemark {

constinit const Op assign_op{
    .name = "assign",
    .doc = "The second argument, put into the storage of the first.",
    .infer =
        [](const InferArgs& a) {
          if (a.in[0] != a.in[1])
            fail(Error::Kind::usage, "[assign] {} vs {}", to_string(a.in[0]), to_string(a.in[1]));
          return std::vector<Type>{a.in[0]};
        },
    .vjp =
        [](const Rule& r) {
          return Tensors{Tensor{}, r.ct()};
        },
    .jvp = [](const Rule& r) { return Tensors{r.has_dx(1) ? r.dx(1) : Tensor{}}; },
    .facts = {.in_place = {{0, 0}, {1, 0}}},
    .reference =
        [](const KernelSpec& spec) {
          const auto bytes = static_cast<std::size_t>(spec.in[1].type.bytes());
          return make_kernel(0, [bytes](const Operands& o) {
            if (bytes > 0 && o.out[0] != o.in[1]) std::memcpy(o.out[0], o.in[1], bytes);
          });
        },
    .samples =
        [] {
          return std::vector<Sample>{{.in = {{{3}, DType::f64}, {{3}, DType::f64}}}};
        },
};

OpList assign_ops() {
  static constexpr const Op* list[] = {&assign_op};
  return list;
}

}  // namespace tidemark
