// Matrix products and einsum.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/matmul.h"

#include <algorithm>

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/matmul.h"
#include "tidemark/kernels/ref/matmul.h"
#include "tidemark/kernels/strips.h"
#include "tidemark/ops/channels.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Shape leading(const Shape& shape) { return Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - 2)); }

std::vector<Type> infer_matmul(const InferArgs& args) {
  const Type &a = args.in[0], &b = args.in[1];
  if (a.dtype != b.dtype || a.dtype == DType::boolean) {
    fail(Error::Kind::usage, "[matmul] dtypes {} x {}; cast to one number type", name_of(a.dtype),
         name_of(b.dtype));
  }
  if (a.shape.rank() < 2 || b.shape.rank() < 2) {
    fail(Error::Kind::usage, "[matmul] {} x {}: an operand has no axes to multiply over", to_string(a.shape),
         to_string(b.shape));
  }
  if (a.shape[-1] != b.shape[-2]) {
    fail(Error::Kind::usage, "[matmul] inner sizes differ: {} x {}", to_string(a.shape), to_string(b.shape));
  }
  std::vector<std::int64_t> sizes = broadcast("matmul", leading(a.shape), leading(b.shape)).sizes();
  sizes.insert(sizes.end(), {a.shape[-2], b.shape[-1]});
  return {{Shape(std::move(sizes)), a.dtype}};
}

Tensor rows(const Tensor& x) {
  const std::int64_t columns = x.size(-1);
  return reshape(x, {leading(x.shape()).numel() * x.size(-2), columns});
}

Tensors matmul_vjp(const Rule& r) {
  const Tensor &a = r.x(0), &b = r.x(1);
  const Tensor ct = r.ct();
  Tensor da, db;
  if (r.needs(0)) da = matmul(ct, transpose(b));
  if (r.needs(1)) {
    // A b shared by the whole batch: one long product instead of a batch of them and its sum.
    const bool shared = leading(b.shape()).numel() == 1 && a.rank() > 2;
    db = shared ? reshape(matmul(transpose(rows(a)), rows(ct)), b.shape().sizes()) : matmul(transpose(a), ct);
  }
  return {da, db};
}

Tensors matmul_jvp(const Rule& r) {
  Tensor dy;
  if (r.has_dx(0)) dy = matmul(r.dx(0), r.x(1));
  if (r.has_dx(1)) {
    const Tensor other = matmul(r.x(0), r.dx(1));
    dy = dy.defined() ? dy + other : other;
  }
  return {dy};
}

// By rows of a, columns of b or leading axes; over the inner axis the parts add up.
std::optional<Cut> matmul_cut(const CutArgs& args) {
  const int ranks[] = {args.in[0].shape.rank(), args.in[1].shape.rank()}, rank = args.out[0].shape.rank();
  const int from = args.known[0] >= 0 ? 0 : args.known[1] >= 0 ? 1 : -1;
  if (from < 0 && args.wanted < 0) return std::nullopt;
  // Counted from the right, as the leading axes are aligned.
  const int axis = from < 0 ? args.wanted - rank : args.known[static_cast<std::size_t>(from)] - ranks[from];
  Cut cut{{kWhole, kWhole}, {rank + axis}, args.attrs};
  if (axis < -2) {
    for (const std::size_t i : {0, 1}) {
      const int own = ranks[i] + axis;
      if (own >= 0 && args.in[i].shape[own] == args.out[0].shape[rank + axis]) cut.in[i] = own;
    }
  } else if (from >= 0 && axis == (from == 0 ? -1 : -2)) {
    cut = {{ranks[0] - 1, ranks[1] - 2}, {kAdded}, args.attrs};
  } else {
    const std::size_t i = axis == -2 ? 0 : 1;
    cut.in[i] = ranks[i] + axis;
  }
  return cut;
}

Cost matmul_cost(const KernelSpec& spec) {
  Cost cost;
  for (const Value& v : spec.in) cost.bytes += static_cast<double>(v.type.bytes());
  cost.bytes += static_cast<double>(spec.out[0].type.bytes());
  cost.flops = 2.0 * static_cast<double>(spec.out[0].type.shape.numel()) *
               static_cast<double>(spec.in[0].type.shape[-1]);
  return cost;
}

// Row- or column-major in the last two axes; leading axes may step as they like.
bool matmul_accepts(const KernelSpec& spec, int input) {
  const Value& v = array_of(spec, input);
  if (input >= static_cast<int>(spec.in.size())) return v.layout.dense_row_major();
  if (!v.layout.blocked.empty()) return input == 1 && kernels::in_strips(v.layout);
  const auto strides = strides_of(v.type.shape, v.layout);
  const std::size_t n = strides.size();
  const auto unit = [&](std::size_t axis) {
    return strides[axis] == 1 || v.type.shape[static_cast<int>(axis)] <= 1;
  };
  return std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s >= 0; }) &&
         strides[n - 1] + strides[n - 2] > 0 && (unit(n - 1) || unit(n - 2));
}

// A large weight that several products with few rows share, as those of an unrolled recurrent net: in strips it is read
// twice as fast, and four passes over it make them.
std::optional<Layout> matmul_packed(const KernelSpec& spec, int input, int uses) {
  constexpr std::int64_t kFewRows = 28, kLarge = 1 << 16;
  constexpr int kEnoughUses = 8;
  const Type &a = spec.in[0].type, &b = spec.in[1].type;
  if (input != 1 || uses < kEnoughUses || b.shape.rank() != 2 || b.dtype != DType::f32) return std::nullopt;
  if (b.shape.numel() < kLarge || a.shape.numel() == 0 || a.shape.numel() / a.shape[-1] > kFewRows)
    return std::nullopt;
  return kernels::strips_layout(b);
}

std::vector<Sample> matmul_samples() {
  const auto f64 = [](std::initializer_list<std::int64_t> sizes) { return Type{Shape(sizes), DType::f64}; };
  return {{.in = {f64({3, 4}), f64({4, 5})}},      {.in = {f64({1, 1}), f64({1, 1})}},
          {.in = {f64({2, 3, 17}), f64({17, 9})}}, {.in = {f64({2, 1, 3, 4}), f64({5, 4, 2})}},
          {.in = {f64({4, 3}), f64({2, 3, 2})}},   {.in = {f64({0, 3}), f64({3, 2})}},
          {.in = {f64({2, 0}), f64({0, 3})}}};
}

constinit const Op matmul_op{
    .name = "matmul",
    .doc = "y = a b over the last two axes; leading axes broadcast.",
    .infer = infer_matmul,
    .vjp = matmul_vjp,
    .jvp = matmul_jvp,
    .cut = matmul_cut,
    .cost = matmul_cost,
    .kernel = kernels::matmul,
    .reference = kernels::matmul_reference,
    .accepts = matmul_accepts,
    .packed = matmul_packed,
    .samples = matmul_samples,
};

}  // namespace

OpList matmul_ops() {
  static const Op* const list[] = {&matmul_op};
  return list;
}

Tensor matmul(const Tensor& a, const Tensor& b, Where where) {
  const Called called("matmul", where);
  if (a.rank() == 0 || b.rank() == 0)
    fail(Error::Kind::usage, "[matmul] {} x {}: a scalar has no axes to multiply over", to_string(a.shape()),
         to_string(b.shape()));
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0, where), b, where), b.rank() == 1 ? 0 : -2, where);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1, where), where), -1, where);
  return apply1(matmul_op, {a, b}, {}, where);
}

}  // namespace tidemark
