// Attention without the T x T scores, forward and backward. Derivatives beyond the first, and tangents, are
// written in plain tensor ops and do hold the scores: only they.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/attention.h"

#include <cmath>

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/attention_shape.h"
#include "tidemark/kernels/cpu/attention.h"
#include "tidemark/kernels/ref/attention.h"
#include "tidemark/ops/channels.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

extern const Op attention_op;
extern const Op attention_backward_op;

// Rows of statistics are kept in f32 for halves.
DType statistics(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

void check_operands(const InferArgs& args, const Type& q, const Type& k, const Type& v) {
  if (!is_float(q.dtype) || q.dtype != k.dtype || k.dtype != v.dtype)
    fail(Error::Kind::usage, "[{}] dtypes {}, {}, {}; cast to one float type", args.op, name_of(q.dtype),
         name_of(k.dtype), name_of(v.dtype));
  if (q.shape.rank() != 4 || k.shape.rank() != 4 || k.shape != v.shape || q.shape[0] != k.shape[0] ||
      q.shape[3] != k.shape[3])
    fail(Error::Kind::usage, "[{}] q {} vs k {} and v {}", args.op, to_string(q.shape), to_string(k.shape),
         to_string(v.shape));
  const std::int64_t heads = q.shape[2], groups = k.shape[2];
  if (groups == 0 ? heads != 0 : heads % groups != 0)
    fail(Error::Kind::usage, "[{}] {} query heads vs {} key heads: not a multiple", args.op, heads, groups);
}

Type rows_of(const Type& q) { return {Shape{q.shape[0], q.shape[1], q.shape[2]}, statistics(q.dtype)}; }

std::vector<Type> infer_attention(const InferArgs& args) {
  check_operands(args, args.in[0], args.in[1], args.in[2]);
  return {args.in[0], rows_of(args.in[0])};
}
std::vector<Type> infer_backward(const InferArgs& args) {
  const Type &ct = args.in[0], &q = args.in[1];
  check_operands(args, q, args.in[2], args.in[3]);
  if (ct != q) fail(Error::Kind::usage, "[{}] cotangent {} vs q {}", args.op, to_string(ct), to_string(q));
  for (const std::size_t i : {4, 5}) {
    Type rows = rows_of(q);
    // Halves as well, though forward makes none.
    if (args.in[i].dtype == q.dtype) rows.dtype = q.dtype;
    if (args.in[i] != rows)
      fail(Error::Kind::usage, "[{}] rows {} vs {}", args.op, to_string(args.in[i]), to_string(rows));
  }
  return {q, args.in[2], args.in[3]};
}

// The scores as tensors, for derivatives beyond the first. Heads are split into (groups, heads of a group).
class Scores {
 public:
  Scores(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& lse, const Attrs& attrs)
      : groups_(k.size(2)),
        dtype_(q.dtype()),
        causal_(attrs.flag("causal")),
        scale(attrs.number("scale")),
        q(queries(q)),
        k(keys(k)),
        v(keys(v)) {
    const Tensor s = matmul(this->q, transpose(this->k)) * scale;
    p = visible(exp(s - rows(lse)));
  }
  // (B, T, H, D) as (B, G, H / G, T, D), and back.
  Tensor queries(const Tensor& x) const {
    return permute(reshape(x, {x.size(0), x.size(1), groups_, x.size(2) / groups_, x.size(3)}),
                   {0, 2, 3, 1, 4});
  }
  static Tensor from_queries(const Tensor& x) {
    return reshape(permute(x, {0, 3, 1, 2, 4}), {x.size(0), x.size(3), x.size(1) * x.size(2), x.size(4)});
  }
  // (B, S, G, D) as (B, G, 1, S, D), and back with the sum over the heads of a group.
  static Tensor keys(const Tensor& x) { return unsqueeze(permute(x, {0, 2, 1, 3}), 2); }
  static Tensor from_keys(const Tensor& x) { return permute(sum(x, {2}), {0, 2, 1, 3}); }
  // (B, T, H) as (B, G, H / G, T, 1), and back.
  Tensor rows(const Tensor& x) const {
    const Tensor y = x.dtype() == dtype_ ? x : cast(x, dtype_);
    return unsqueeze(permute(reshape(y, {x.size(0), x.size(1), groups_, x.size(2) / groups_}), {0, 2, 3, 1}),
                     4);
  }
  static Tensor from_rows(const Tensor& x) {
    return reshape(permute(squeeze(x, 4), {0, 3, 1, 2}), {x.size(0), x.size(3), x.size(1) * x.size(2)});
  }
  Tensor visible(const Tensor& s) const {
    if (!causal_) return s;
    const Tensor row = reshape(iota_beside(s, s.size(3), DType::i64), {s.size(3), 1});
    const Tensor column = iota_beside(s, s.size(4), DType::i64);
    return where(broadcast_to(column <= row, s.shape()), s, 0);
  }

 private:
  std::int64_t groups_;
  DType dtype_;
  bool causal_;

 public:
  double scale;
  Tensor q, k, v, p;
};

Tensor row_sum(const Tensor& x) { return sum(x, {-1}, {.axes = true}); }

Tensors attention_vjp(const Rule& r) {
  const DType dtype = r.y(1).dtype();
  // What the softmax takes back from each row: the sum over P of its cotangent, less what came in by lse
  // itself.
  Tensor delta = r.has_ct(0) ? sum(cast(r.ct(0), dtype) * cast(r.y(0), dtype), {-1}) : zeros_like(r.y(1));
  if (r.has_ct(1)) delta = delta - r.ct(1);
  return apply(attention_backward_op, Tensors{r.ct(0), r.x(0), r.x(1), r.x(2), r.y(1), delta}, r.attrs(),
               Where::current());
}

Tensors attention_jvp(const Rule& r) {
  const Scores s(r.x(0), r.x(1), r.x(2), r.y(1), r.attrs());
  const Tensor ds =
      (matmul(s.queries(r.dx(0)), transpose(s.k)) + matmul(s.q, transpose(Scores::keys(r.dx(1))))) * s.scale;
  const Tensor dlse = row_sum(s.p * ds);
  const Tensor dp = s.p * (ds - dlse);
  const Tensor dy = matmul(dp, s.v) + matmul(s.p, Scores::keys(r.dx(2)));
  return {Scores::from_queries(dy), Scores::from_rows(dlse)};
}

// The op: P = exp(scale q k' - lse), dS = P (ct v' - delta), dq = scale dS k, dk = scale dS' q, dv = P' ct.
Tensors backward_vjp(const Rule& r) {
  const Scores s(r.x(1), r.x(2), r.x(3), r.x(4), r.attrs());
  const Tensor c = s.queries(r.x(0));
  const Tensor inner = matmul(c, transpose(s.v)) - s.rows(r.x(5));
  const Tensor ds = s.p * inner;
  const Tensor a = s.queries(r.ct(0)), b = Scores::keys(r.ct(1)), e = Scores::keys(r.ct(2));
  const Tensor of_ds = (matmul(a, transpose(s.k)) + matmul(s.q, transpose(b))) * s.scale;
  const Tensor of_inner = of_ds * s.p;
  const Tensor of_s = (of_ds * inner + matmul(c, transpose(e))) * s.p;
  return {Scores::from_queries(matmul(of_inner, s.v) + matmul(s.p, e)),
          Scores::from_queries((matmul(of_s, s.k) + matmul(ds, b)) * s.scale),
          Scores::from_keys((matmul(transpose(of_s), s.q) + matmul(transpose(ds), a)) * s.scale),
          Scores::from_keys(matmul(transpose(of_inner), c)),
          Scores::from_rows(-row_sum(of_s)),
          Scores::from_rows(-row_sum(of_inner))};
}

Tensors backward_jvp(const Rule& r) {
  const Scores s(r.x(1), r.x(2), r.x(3), r.x(4), r.attrs());
  const Tensor c = s.queries(r.x(0)), dc = s.queries(r.dx(0));
  const Tensor tq = s.queries(r.dx(1)), tk = Scores::keys(r.dx(2)), tv = Scores::keys(r.dx(3));
  const Tensor inner = matmul(c, transpose(s.v)) - s.rows(r.x(5));
  const Tensor tinner = matmul(dc, transpose(s.v)) + matmul(c, transpose(tv)) - s.rows(r.dx(5));
  const Tensor tp =
      s.p * ((matmul(tq, transpose(s.k)) + matmul(s.q, transpose(tk))) * s.scale - s.rows(r.dx(4)));
  const Tensor ds = s.p * inner, tds = tp * inner + s.p * tinner;
  return {Scores::from_queries((matmul(tds, s.k) + matmul(ds, tk)) * s.scale),
          Scores::from_keys((matmul(transpose(tds), s.q) + matmul(transpose(ds), tq)) * s.scale),
          Scores::from_keys(matmul(transpose(tp), c) + matmul(transpose(s.p), dc))};
}

// Adjacent along the head; the other axes as they like, so that parts of one projection are read in place.
bool accepts_heads(const KernelSpec& spec, int i) {
  const Value& v = array_of(spec, i);
  if (v.type.shape.rank() != 4 || i >= static_cast<int>(spec.in.size())) return v.layout.dense_row_major();
  if (!v.layout.blocked.empty()) return false;
  const auto strides = strides_of(v.type.shape, v.layout);
  for (const std::int64_t s : strides) {
    if (s < 0) return false;
  }
  return strides[3] == 1 || v.type.shape[3] <= 1;
}

Cost cost(const KernelSpec& spec, double products) {
  Cost c;
  for (const auto* arrays : {&spec.in, &spec.out}) {
    for (const Value& v : *arrays) c.bytes += static_cast<double>(v.type.bytes());
  }
  const bool back = products > 2;
  const kernels::Attention a =
      kernels::attention_of(spec.in[back ? 1 : 0], spec.in[back ? 2 : 1], spec.attrs);
  c.flops = products * 2 * static_cast<double>(a.batch * a.heads * a.queries) *
            static_cast<double>(a.keys * a.size) * (a.causal ? 0.5 : 1);
  return c;
}

Type f64(std::initializer_list<std::int64_t> sizes) { return {Shape(sizes), DType::f64}; }
Attrs attrs(bool causal, double scale) { return {{"causal", std::int64_t{causal}}, {"scale", scale}}; }

std::vector<Sample> attention_samples() {
  return {{.in = {f64({1, 5, 2, 3}), f64({1, 5, 2, 3}), f64({1, 5, 2, 3})}, .attrs = attrs(true, 0.5)},
          {.in = {f64({2, 3, 4, 8}), f64({2, 6, 2, 8}), f64({2, 6, 2, 8})}, .attrs = attrs(false, 0.3)},
          {.in = {f64({1, 1, 1, 1}), f64({1, 1, 1, 1}), f64({1, 1, 1, 1})}, .attrs = attrs(false, 1)},
          {.in = {f64({0, 3, 2, 4}), f64({0, 3, 1, 4}), f64({0, 3, 1, 4})}, .attrs = attrs(true, 1)}};
}
std::vector<Sample> backward_samples() {
  return {{.in = {f64({1, 5, 2, 3}), f64({1, 5, 2, 3}), f64({1, 5, 2, 3}), f64({1, 5, 2, 3}), f64({1, 5, 2}),
                  f64({1, 5, 2})},
           .attrs = attrs(true, 0.5),
           .range = {-1, 1}},
          {.in = {f64({2, 3, 4, 8}), f64({2, 3, 4, 8}), f64({2, 6, 2, 8}), f64({2, 6, 2, 8}), f64({2, 3, 4}),
                  f64({2, 3, 4})},
           .attrs = attrs(false, 0.3),
           .range = {-1, 1}}};
}

constinit const Op attention_op{
    .name = "attention",
    .doc =
        "y = softmax(scale q k') v for each head, and the log-sum-exp of each row of scores. q (B, T, H, D), "
        "k and "
        "v (B, S, G, D), H a multiple of G. Causal: query t sees keys 0..t. The scores are never whole in "
        "memory.",
    .infer = infer_attention,
    .vjp = attention_vjp,
    .jvp = attention_jvp,
    .cut = cut_samples,
    .cost = [](const KernelSpec& s) { return cost(s, 2); },
    .kernel = kernels::attention,
    .reference = kernels::attention_reference,
    .accepts = accepts_heads,
    .samples = attention_samples,
};
constinit const Op attention_backward_op{
    .name = "attention_backward",
    .doc =
        "Gradients of attention in q, k and v from (ct, q, k, v, lse, delta), delta the sum of ct * y over "
        "each "
        "head. Its own derivatives are plain tensor ops and do hold the scores.",
    .infer = infer_backward,
    .vjp = backward_vjp,
    .jvp = backward_jvp,
    .cut = cut_samples,
    .cost = [](const KernelSpec& s) { return cost(s, 5); },
    .kernel = kernels::attention_backward,
    .reference = kernels::attention_backward_reference,
    .accepts = accepts_heads,
    .samples = backward_samples,
};

}  // namespace

OpList attention_ops() {
  static const Op* const all[] = {&attention_op, &attention_backward_op};
  return all;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 Where where) {
  double scale = options.scale;
  if (scale == 0 && q.rank() > 0 && q.size(-1) > 0) scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  return apply1(attention_op, {q, k, v}, attrs(options.causal, scale), where);
}

}  // namespace tidemark
