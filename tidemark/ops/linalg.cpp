// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/linalg.h"

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/ref/linalg.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Type square_matrices(const InferArgs& a) {
  require_wide_float(a, 0);
  const Type& type = type_of(a, 0);
  if (type.shape.rank() < 2 || type.shape[-1] != type.shape[-2]) {
    fail(Error::Kind::usage, "[{}] {} is not square in its last two axes", a.op, to_string(type.shape));
  }
  return type;
}

std::vector<Type> infer_solve(const InferArgs& a) {
  const Type matrices = square_matrices(a);
  require_same_dtype(a, 0, 1);
  const Type& right = type_of(a, 1);
  bool fits = right.shape.rank() == matrices.shape.rank() && right.shape[-2] == matrices.shape[-1];
  for (int i = 0; fits && i + 2 < right.shape.rank(); ++i) fits = right.shape[i] == matrices.shape[i];
  if (!fits)
    fail(Error::Kind::usage, "[{}] matrices {} vs right sides {}; want (…,n,n) and (…,n,m)", a.op,
         to_string(matrices.shape), to_string(right.shape));
  return {right};
}

// 1 where row - column >= from (lower) or column - row >= from (upper), else 0; broadcasts over batches.
Tensor triangle(const Tensor& like, bool lower, std::int64_t from) {
  const std::int64_t n = like.size(-1);
  const Tensor at = iota_beside(like, n, DType::i64);
  const Tensor rows = reshape(at, {n, 1}), columns = reshape(at, {1, n});
  return cast(lower ? rows - columns >= from : columns - rows >= from, like.dtype());
}

// The lower triangle with half the diagonal: the derivative of "take the Cholesky factor".
Tensor lower_half(const Tensor& x) { return x * (0.5 * triangle(x, true, 0) + 0.5 * triangle(x, true, 1)); }

Tensor symmetric(const Tensor& x) { return 0.5 * (x + transpose(x)); }

const Op& cholesky_op();
const Op& triangular_solve_op();
const Op& solve_op();

TriangularOptions options_of(const Attrs& attrs) {
  return {attrs.flag("lower"), attrs.flag("transpose"), attrs.flag("unit_diagonal")};
}

// The part of A that triangular_solve reads.
Tensor read_part_of(const Tensor& a, const TriangularOptions& o) {
  return a * triangle(a, o.lower, o.unit_diagonal ? 1 : 0);
}

Tensors cholesky_vjp(const Rule& r) {
  // Murray 2016, "Differentiation of the Cholesky decomposition", eq. 9: S = L^-T Phi(L^T Lbar) L^-1.
  const Tensor& l = r.y();
  const Tensor phi = lower_half(matmul(transpose(l), r.ct() * triangle(l, true, 0)));
  const Tensor left = triangular_solve(l, phi, {.lower = true, .transpose = true});
  const Tensor s = transpose(triangular_solve(l, transpose(left), {.lower = true, .transpose = true}));
  return {symmetric(s)};
}

Tensors cholesky_jvp(const Rule& r) {
  const Tensor& l = r.y();
  const Tensor left = triangular_solve(l, symmetric(r.dx()));
  return {matmul(l, lower_half(transpose(triangular_solve(l, transpose(left)))))};
}

Tensors triangular_vjp(const Rule& r) {
  const TriangularOptions o = options_of(r.attrs());
  const Tensor b = triangular_solve(r.x(0), r.ct(), {o.lower, !o.transpose, o.unit_diagonal});
  Tensor a;
  if (r.needs(0))
    a = -read_part_of(o.transpose ? matmul(r.y(), transpose(b)) : matmul(b, transpose(r.y())), o);
  return {a, b};
}

Tensors triangular_jvp(const Rule& r) {
  const TriangularOptions o = options_of(r.attrs());
  Tensor right = r.dx(1);
  if (r.has_dx(0)) {
    const Tensor da = read_part_of(r.dx(0), o);
    right = right - matmul(o.transpose ? transpose(da) : da, r.y());
  }
  return {triangular_solve(r.x(0), right, o)};
}

Tensors solve_vjp(const Rule& r) {
  const Tensor b = solve(transpose(r.x(0)), r.ct());
  return {r.needs(0) ? -matmul(b, transpose(r.y())) : Tensor{}, b};
}

Tensors solve_jvp(const Rule& r) {
  Tensor right = r.dx(1);
  if (r.has_dx(0)) right = right - matmul(r.dx(0), r.y());
  return {solve(r.x(0), right)};
}

// A matrix each, with its right sides.
std::optional<Cut> cut_matrices(const CutArgs& a) { return cut_in_front(a, 2); }

Cost cubic(const KernelSpec& spec) {
  const Shape& a = spec.in[0].type.shape;
  const auto n = static_cast<double>(a[-1]);
  return {.flops = static_cast<double>(a.numel()) * n,
          .bytes = 2.0 * static_cast<double>(spec.in[0].type.bytes())};
}

std::vector<Sample> right_sides(const std::vector<Attrs>& all) {
  std::vector<Sample> samples;
  for (const Attrs& attrs : all) {
    samples.push_back(
        {.in = {{{3, 3}, DType::f64}, {{3, 2}, DType::f64}}, .attrs = attrs, .tolerance = 20, .diagonal = 4});
    samples.push_back({.in = {{{2, 5, 5}, DType::f64}, {{2, 5, 1}, DType::f64}},
                       .attrs = attrs,
                       .tolerance = 20,
                       .diagonal = 6});
    samples.push_back({.in = {{{0, 0}, DType::f64}, {{0, 2}, DType::f64}}, .attrs = attrs});
  }
  return samples;
}

Attrs triangular_attrs(const TriangularOptions& o) {
  return {{"lower", std::int64_t{o.lower}},
          {"transpose", std::int64_t{o.transpose}},
          {"unit_diagonal", std::int64_t{o.unit_diagonal}}};
}

const Op& cholesky_op() {
  static const Op op{
      .name = "cholesky",
      .doc = "The lower factor L of (A + A^T) / 2 = L L^T, for each matrix of a batch.",
      .infer = [](const InferArgs& a) { return std::vector<Type>{square_matrices(a)}; },
      .vjp = cholesky_vjp,
      .jvp = cholesky_jvp,
      .cut = cut_matrices,
      .facts = {.may_refuse = true},
      .cost = cubic,
      .reference = kernels::cholesky,
      .samples =
          [] {
            return std::vector<Sample>{
                {.in = {{{3, 3}, DType::f64}}, .range = {-1, 1}, .tolerance = 20, .diagonal = 5},
                {.in = {{{2, 4, 4}, DType::f64}}, .range = {-1, 1}, .tolerance = 20, .diagonal = 6},
                {.in = {{{0, 3, 3}, DType::f64}}}};
          },
  };
  return op;
}

const Op& triangular_solve_op() {
  static const Op op{
      .name = "triangular_solve",
      .doc =
          "op(A)^-1 B for triangular A: the other triangle is not read. op is the transpose where "
          "`transpose` says so.",
      .infer = infer_solve,
      .vjp = triangular_vjp,
      .jvp = triangular_jvp,
      .cut = cut_matrices,
      .facts = {.may_refuse = true, .in_place = {{1, 0}}},
      .cost = cubic,
      .reference = kernels::triangular_solve,
      .samples =
          [] {
            return right_sides(
                {triangular_attrs({}), triangular_attrs({.lower = false}),
                 triangular_attrs({.transpose = true}),
                 triangular_attrs({.lower = false, .transpose = true, .unit_diagonal = true})});
          },
  };
  return op;
}

const Op& solve_op() {
  static const Op op{
      .name = "solve",
      .doc = "A^-1 B by Gaussian elimination with partial pivoting, for each matrix of a batch.",
      .infer = infer_solve,
      .vjp = solve_vjp,
      .jvp = solve_jvp,
      .cut = cut_matrices,
      .facts = {.may_refuse = true, .in_place = {{1, 0}}},
      .cost = cubic,
      .reference = kernels::lu_solve,
      .samples = [] { return right_sides({Attrs{}}); },
  };
  return op;
}

}  // namespace

namespace {
// f(A, B) with B a matrix, and the leading axes of both broadcast.
template <typename F>
Tensor with_right_sides(const char* name, const Tensor& a, const Tensor& b, Where where, const F& f) {
  const Called called(name, where);
  if (is_narrow(a.dtype()) && a.dtype() == b.dtype())
    return cast(with_right_sides(name, cast(a, DType::f32, where), cast(b, DType::f32, where), where, f),
                a.dtype(), where);
  if (b.rank() == 1) return squeeze(with_right_sides(name, a, unsqueeze(b, 1, where), where, f), -1, where);
  if (a.rank() < 2 || b.rank() < 2) return f(a, b);  // the op's own rule refuses these
  const auto leading = [](const Tensor& x) {
    const auto sizes = x.shape().sizes();
    return Shape(std::vector<std::int64_t>(sizes.begin(), sizes.end() - 2));
  };
  const Shape batch = broadcast(name, leading(a), leading(b));
  const auto spread = [&](const Tensor& x) {
    std::vector<std::int64_t> sizes = batch.sizes();
    sizes.insert(sizes.end(), {x.size(-2), x.size(-1)});
    return x.shape() == Shape(sizes) ? x : broadcast_to(x, Shape(sizes), where);
  };
  return f(spread(a), spread(b));
}
}  // namespace

Tensor cholesky(const Tensor& a, Where where) {
  const Called called("cholesky", where);
  if (is_narrow(a.dtype())) return cast(cholesky(cast(a, DType::f32, where), where), a.dtype(), where);
  return apply1(cholesky_op(), {a}, {}, where);
}
Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options, Where where) {
  return with_right_sides("triangular_solve", a, b, where, [&](const Tensor& matrices, const Tensor& right) {
    return apply1(triangular_solve_op(), {matrices, right}, triangular_attrs(options), where);
  });
}
Tensor solve(const Tensor& a, const Tensor& b, Where where) {
  return with_right_sides("solve", a, b, where, [&](const Tensor& matrices, const Tensor& right) {
    return apply1(solve_op(), {matrices, right}, {}, where);
  });
}

OpList linalg_ops() {
  static const Op* const list[] = {&cholesky_op(), &triangular_solve_op(), &solve_op()};
  return list;
}

}  // namespace tidemark
