// Cross entropy by rows: the loss is logsumexp(row) - row[label]. The gradient is had from the logits and the
// logsumexp, so that no array of probabilities is kept. SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/bad_index.h"
#include "tidemark/kernels/cpu/softmax.h"
#include "tidemark/kernels/ref/softmax.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

DType statistic(DType d) { return d == DType::f64 ? d : DType::f32; }

void check_rows(const InferArgs& a) {
  const Shape &x = a.in[0].shape, &labels = a.in[1].shape;
  require_float(a, 0);
  if (a.in[1].dtype != DType::i64 && a.in[1].dtype != DType::i32)
    fail(Error::Kind::usage, "[{}] labels are {} vs i32 or i64", a.op, to_string(a.in[1]));
  if (x.rank() != 2 || labels.rank() != 1 || x[0] != labels[0])
    fail(Error::Kind::usage, "[{}] logits {} vs labels {}", a.op, to_string(x), to_string(labels));
  if (x[1] == 0 && x[0] > 0) fail(Error::Kind::usage, "[{}] no classes: {}", a.op, to_string(x));
}

Tensor backward(const Rule& r, const Tensor& x, const Tensor& labels, const Tensor& lse, const Tensor& ct);

std::vector<Sample> samples(std::size_t rows) {
  std::vector<Sample> result;
  for (const auto& [n, c, high] : {std::array<std::int64_t, 3>{5, 67, 66}, {3, 4, 3}, {0, 3, 0}}) {
    Sample s{.in = {{{n, c}, DType::f64}, {{n}, DType::i64}}, .attrs = {{"ignore", std::int64_t{2}}}};
    s.ranges = {{-2, 2}, {0, static_cast<double>(high)}};
    for (std::size_t i = 0; i < rows; ++i) {
      s.in.push_back({{n}, DType::f64});
      s.ranges.push_back({0.5, 2});
    }
    result.push_back(std::move(s));
  }
  return result;
}
Cost row_cost(const KernelSpec& s) {
  double bytes = 0;
  for (const Value& v : s.in) bytes += static_cast<double>(v.type.bytes());
  for (const Value& v : s.out) bytes += static_cast<double>(v.type.bytes());
  return {.flops = 20 * static_cast<double>(s.in[0].type.shape.numel()), .bytes = bytes};
}

Tensor column(const Tensor& x) { return unsqueeze(x, 1); }
// The element of each row that its label names, 0 for labels that do not count.
Tensor picked(const Tensor& x, const Tensor& labels, std::int64_t ignore) {
  const Tensor counts = not_equal(labels, ignore);
  const Tensor safe = where(counts, labels, 0);
  return where(counts, reshape(gather(x, column(safe), 1), {x.size(0)}), 0);
}

constinit const Op rows_op{
    .name = "cross_entropy",
    .doc = "By row: logsumexp(logits) - logits[label], 0 for labels to ignore; and the logsumexp.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      check_rows(a);
      const Type row{{a.in[0].shape[0]}, statistic(a.in[0].dtype)};
      return {row, row};
    },
    .vjp =
        [](const Rule& r) {
          Tensor g;
          if (r.has_ct(0)) g = backward(r, r.x(0), r.x(1), r.y(1), r.ct(0));
          if (r.has_ct(1)) {
            const Tensor p = exp(r.x(0) - cast(column(r.y(1)), r.x(0).dtype()));
            const Tensor more = cast(column(r.ct(1)), r.x(0).dtype()) * p;
            g = g.defined() ? g + more : more;
          }
          return Tensors{g, Tensor{}};
        },
    .jvp =
        [](const Rule& r) {
          const DType d = r.y(0).dtype();
          const Tensor p = exp(cast(r.x(0), d) - column(r.y(1)));
          const Tensor dx = cast(r.dx(0), d);
          const Tensor dlse = sum(p * dx, {1});
          const std::int64_t ignore = r.attrs().integer("ignore");
          return Tensors{where(not_equal(r.x(1), ignore), dlse, 0) - picked(dx, r.x(1), ignore), dlse};
        },
    .cut = cut_samples,
    .facts = {.may_refuse = true},
    .indices =
        [](const KernelSpec& s) {
          return IndexRange{.array = 1,
                            .limit = s.in[0].type.shape[1],
                            .ignore = s.attrs.integer("ignore"),
                            .refuse = kernels::refuse_label};
        },
    .cost = row_cost,
    .kernel = kernels::cross_entropy,
    .reference = kernels::cross_entropy_reference,
    .samples = [] { return samples(0); },
};

constinit const Op backward_op{
    .name = "cross_entropy_backward",
    .doc = "By row: g (exp(logits - logsumexp) - onehot(label)), 0 for labels to ignore.",
    .infer = [](const InferArgs& a) -> std::vector<Type> {
      check_rows(a);
      const Type row{{a.in[0].shape[0]}, statistic(a.in[0].dtype)};
      if (a.in[2] != row || a.in[3] != row)
        fail(a.in[2].dtype == row.dtype && a.in[3].dtype == row.dtype ? Error::Kind::usage
                                                                      : Error::Kind::unsupported,
             "[{}] {} and {} vs {}", a.op, to_string(a.in[2]), to_string(a.in[3]), to_string(row));
      return {a.in[0]};
    },
    .vjp =
        [](const Rule& r) {
          const DType d = r.x(3).dtype();
          const std::int64_t ignore = r.attrs().integer("ignore");
          const Tensor counts = cast(not_equal(r.x(1), ignore), d);
          const Tensor u = cast(r.ct(), d);
          const Tensor p = exp(cast(r.x(0), d) - column(r.x(2)));
          const Tensor through = column(counts * r.x(3)) * p * u;
          Tensors g(4);
          if (r.needs(0)) g[0] = cast(through, r.x(0).dtype());
          if (r.needs(2)) g[2] = -sum(through, {1});
          if (r.needs(3)) g[3] = counts * sum(u * p, {1}) - picked(u, r.x(1), ignore);
          return g;
        },
    .jvp =
        [](const Rule& r) {
          const DType d = r.x(3).dtype();
          const Tensor counts = cast(not_equal(r.x(1), r.attrs().integer("ignore")), d);
          const Tensor p = exp(cast(r.x(0), d) - column(r.x(2)));
          const Tensor through = column(counts * r.x(3)) * p * (cast(r.dx(0), d) - column(r.dx(2)));
          Tensor result = cast(through, r.x(0).dtype());
          if (r.has_dx(3)) result = result + backward(r, r.x(0), r.x(1), r.x(2), r.dx(3));
          return Tensors{result};
        },
    .cut = cut_samples,
    .facts = {.in_place = {{0, 0}}},
    .cost = row_cost,
    .kernel = kernels::cross_entropy_backward,
    .reference = kernels::cross_entropy_backward_reference,
    .samples = [] { return samples(2); },
};

Tensor backward(const Rule& r, const Tensor& x, const Tensor& labels, const Tensor& lse, const Tensor& ct) {
  return apply1(backward_op, {x, labels, lse, ct}, r.attrs(), Where{});
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, std::int64_t ignore, Where where) {
  const Tensor in[] = {logits, labels};
  const Tensor losses = apply(rows_op, in, {{"ignore", ignore}}, where)[0];
  const Tensor count = sum(cast(not_equal(labels, ignore), losses.dtype()), {}, {}, where);
  return cast(sum(losses, {}, {}, where) / count, logits.dtype(), where);
}

OpList cross_entropy_ops() {
  static const Op* const ops[] = {&rows_op, &backward_op};
  return ops;
}

}  // namespace tidemark
