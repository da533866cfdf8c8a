// Layer norm and rms norm over the last axis, group norm on the first. One derivation serves both: with
//   xhat = (x - mean) rstd,  g = ct scale,  dx = rstd (g - mean(g) - xhat mean(g xhat)),
// where rms norm has no mean terms. Statistics are outputs, so second derivatives go through them too.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/norm.h"

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/norm.h"
#include "tidemark/kernels/ref/norm.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

constexpr Keep kKeep{.axes = true};

DType statistic(DType d) { return d == DType::f64 ? d : DType::f32; }
Type statistics_of(const Type& x) {
  std::vector<std::int64_t> sizes = x.shape.sizes();
  sizes.pop_back();
  return {Shape(std::move(sizes)), statistic(x.dtype)};
}

// Inputs of the forward op: x [scale [shift]]; of the backward op: ct x [scale] [mean] rstd.
template <bool Centred>
bool affine_forward(std::size_t inputs) {
  return inputs > 1;
}
template <bool Centred>
bool affine_backward(std::size_t inputs) {
  return inputs == (Centred ? 5 : 4);
}

void check_x(const InferArgs& a, const Type& x) {
  require_float(a, 0);
  if (x.shape.rank() == 0 || x.shape[-1] == 0)
    fail(Error::Kind::usage, "[{}] nothing to normalise in {}", a.op, to_string(x));
}
void check_vector(const InferArgs& a, std::size_t i, const Type& x) {
  if (a.in[i] != Type{{x.shape[-1]}, x.dtype})
    fail(Error::Kind::usage, "[{}] {} vs the last axis of {}", a.op, to_string(a.in[i]), to_string(x));
}

// Everything a derivative rule needs, in the dtype of the statistics, with row statistics as columns.
struct Terms {
  Tensor x, scale, mean, rstd, xhat, centred_x;
  DType dtype;
};
Tensor column(const Tensor& t) { return unsqueeze(t, -1); }
Terms terms(const Tensor& x, const Tensor& scale, const Tensor& mean, const Tensor& rstd) {
  Terms t;
  t.dtype = rstd.dtype();
  t.x = cast(x, t.dtype);
  if (scale.defined()) t.scale = cast(scale, t.dtype);
  t.rstd = column(rstd);
  t.centred_x = mean.defined() ? t.x - column(mean) : t.x;
  t.xhat = t.centred_x * t.rstd;
  return t;
}
Tensor row_mean(const Tensor& t) { return mean(t, {-1}, kKeep); }
Tensor over_rows(const Tensor& t) {
  Axes axes;
  for (int a = 0; a + 1 < t.rank(); ++a) axes.push_back(a);
  return axes.empty() ? t : sum(t, axes);
}
Tensor scaled(const Tensor& t, const Tensor& scale) { return scale.defined() ? t * scale : t; }

template <bool Centred>
Tensors backward(const Tensor& ct, const Tensor& x, const Tensor& scale, const Tensor& mean,
                 const Tensor& rstd);

template <bool Centred>
Tensors forward_vjp(const Rule& r) {
  const bool affine = affine_forward<Centred>(static_cast<std::size_t>(r.inputs()));
  const Tensor scale = affine ? r.x(1) : Tensor{}, mean = Centred ? r.y(1) : Tensor{};
  const int rstd = Centred ? 2 : 1;
  Tensors g(static_cast<std::size_t>(r.inputs()));
  if (r.has_ct(0)) {
    const Tensors b = backward<Centred>(r.ct(0), r.x(0), scale, mean, r.y(rstd));
    std::copy(b.begin(), b.end(), g.begin());
  }
  const Terms t = terms(r.x(0), scale, mean, r.y(rstd));
  const double n = static_cast<double>(r.x(0).size(-1));
  const auto add = [&](const Tensor& more) {
    const Tensor m = cast(broadcast_to(more, r.x(0).shape()), r.x(0).dtype());
    g[0] = g[0].defined() ? g[0] + m : m;
  };
  if (Centred && r.has_ct(1)) add(column(r.ct(1)) * (1 / n));
  if (r.has_ct(rstd)) add(column(r.ct(rstd)) * (-1 / n) * (t.rstd * square(t.rstd)) * t.centred_x);
  return g;
}
template <bool Centred>
Tensors forward_jvp(const Rule& r) {
  const bool affine = affine_forward<Centred>(static_cast<std::size_t>(r.inputs()));
  const int rstd = Centred ? 2 : 1;
  const Terms t = terms(r.x(0), affine ? r.x(1) : Tensor{}, Centred ? r.y(1) : Tensor{}, r.y(rstd));
  const Tensor dx = cast(r.dx(0), t.dtype);
  const Tensor dmean = Centred ? row_mean(dx) : Tensor{};
  const Tensor drstd = -(t.rstd * square(t.rstd)) * row_mean(t.centred_x * dx);
  const Tensor dxhat = (Centred ? dx - dmean : dx) * t.rstd + t.centred_x * drstd;
  Tensor dy = scaled(dxhat, t.scale);
  if (affine && r.has_dx(1)) dy = dy + t.xhat * cast(r.dx(1), t.dtype);
  if (affine && Centred && r.has_dx(2)) dy = dy + cast(r.dx(2), t.dtype);
  Tensors out{cast(dy, r.x(0).dtype())};
  if (Centred) out.push_back(squeeze(dmean, -1));
  out.push_back(squeeze(drstd, -1));
  return out;
}

// The arguments of a backward node by name.
template <bool Centred>
struct BackwardArgs {
  explicit BackwardArgs(int inputs)
      : affine(affine_backward<Centred>(static_cast<std::size_t>(inputs))),
        scale(affine ? 2 : -1),
        mean(Centred ? (affine ? 3 : 2) : -1),
        rstd(inputs - 1) {}
  bool affine;
  int scale, mean, rstd;
};
template <bool Centred>
Tensors backward_vjp(const Rule& r) {
  const BackwardArgs<Centred> at(r.inputs());
  const Terms t =
      terms(r.x(1), at.affine ? r.x(at.scale) : Tensor{}, Centred ? r.x(at.mean) : Tensor{}, r.x(at.rstd));
  const Tensor ct = cast(r.x(0), t.dtype);
  const Tensor g = scaled(ct, t.scale);
  const Tensor u = cast(r.ct(0), t.dtype);
  const Tensor b = row_mean(g * t.xhat), ub = row_mean(u * t.xhat);
  // The map from g to dx is symmetric.
  const Tensor dg = t.rstd * ((Centred ? u - row_mean(u) : u) - t.xhat * ub);
  Tensor dxhat = -(t.rstd * (u * b + g * ub));
  Tensor dct = scaled(dg, t.scale);
  if (at.affine && r.has_ct(1)) {
    const Tensor v = cast(r.ct(1), t.dtype);
    dxhat = dxhat + v * ct;
    dct = dct + v * t.xhat;
  }
  if (at.affine && Centred && r.has_ct(2)) dct = dct + cast(r.ct(2), t.dtype);
  const Tensor inner = (Centred ? g - row_mean(g) : g) - t.xhat * b;
  Tensors out(static_cast<std::size_t>(r.inputs()));
  const auto set = [&](int i, const Tensor& v) {
    out[static_cast<std::size_t>(i)] = cast(v, r.x(i).dtype());
  };
  if (r.needs(0)) set(0, dct);
  if (r.needs(1)) set(1, t.rstd * dxhat);
  if (at.affine && r.needs(at.scale)) set(at.scale, over_rows(dg * ct));
  if (Centred && r.needs(at.mean)) set(at.mean, sum(-(t.rstd * dxhat), {-1}));
  if (r.needs(at.rstd)) set(at.rstd, sum(u * inner + dxhat * t.centred_x, {-1}));
  return out;
}
template <bool Centred>
Tensors backward_jvp(const Rule& r) {
  const BackwardArgs<Centred> at(r.inputs());
  const Terms t =
      terms(r.x(1), at.affine ? r.x(at.scale) : Tensor{}, Centred ? r.x(at.mean) : Tensor{}, r.x(at.rstd));
  const Tensor ct = cast(r.x(0), t.dtype), dct = cast(r.dx(0), t.dtype);
  const Tensor g = scaled(ct, t.scale);
  Tensor dg = scaled(dct, t.scale);
  if (at.affine) dg = dg + ct * cast(r.dx(at.scale), t.dtype);
  const Tensor drstd = column(r.dx(at.rstd));
  Tensor dx = cast(r.dx(1), t.dtype);
  if (Centred) dx = dx - column(r.dx(at.mean));
  const Tensor dxhat = dx * t.rstd + t.centred_x * drstd;
  const Tensor b = row_mean(g * t.xhat);
  const Tensor inner = (Centred ? g - row_mean(g) : g) - t.xhat * b;
  const Tensor db = row_mean(dg * t.xhat + g * dxhat);
  const Tensor dinner = (Centred ? dg - row_mean(dg) : dg) - dxhat * b - t.xhat * db;
  const DType d = r.x(1).dtype();
  Tensors out{cast(drstd * inner + t.rstd * dinner, d)};
  if (at.affine) out.push_back(cast(over_rows(dct * t.xhat + ct * dxhat), d));
  if (at.affine && Centred) out.push_back(cast(over_rows(dct), d));
  return out;
}

Cost norm_cost(const KernelSpec& s) {
  double bytes = 0;
  for (const Value& v : s.in) bytes += static_cast<double>(v.type.bytes());
  for (const Value& v : s.out) bytes += static_cast<double>(v.type.bytes());
  return {.flops = 10 * static_cast<double>(s.out[0].type.shape.numel()), .bytes = bytes};
}

template <bool Centred>
kernels::NormKind kind_of_forward(const KernelSpec& s) {
  return {.centred = Centred, .affine = affine_forward<Centred>(s.in.size())};
}
template <bool Centred>
kernels::NormKind kind_of_backward(const KernelSpec& s) {
  return {.centred = Centred, .affine = affine_backward<Centred>(s.in.size())};
}

// By rows; vectors are whole, and their gradients add up.
template <bool Centred>
std::optional<Cut> forward_cut(const CutArgs& a) {
  std::optional<Cut> cut = cut_beside(a, a.in[0].shape.rank() - 1);
  for (std::size_t i = 1; cut && i < cut->in.size(); ++i) cut->in[i] = kWhole;
  return cut;
}
template <bool Centred>
std::optional<Cut> backward_cut(const CutArgs& a) {
  std::optional<Cut> cut = cut_beside(a, a.in[0].shape.rank() - 1);
  if (!cut) return cut;
  if (affine_backward<Centred>(a.in.size())) cut->in[2] = kWhole;
  for (std::size_t o = 1; o < cut->out.size(); ++o) cut->out[o] = kAdded;
  return cut;
}

template <bool Centred>
constexpr Op forward_op(const char* name, const char* doc) {
  return {
      .name = name,
      .doc = doc,
      .infer = [](const InferArgs& a) -> std::vector<Type> {
        check_x(a, a.in[0]);
        for (std::size_t i = 1; i < a.in.size(); ++i) check_vector(a, i, a.in[0]);
        std::vector<Type> out{a.in[0], statistics_of(a.in[0])};
        if (Centred) out.push_back(out.back());
        return out;
      },
      .vjp = forward_vjp<Centred>,
      .jvp = forward_jvp<Centred>,
      .cut = forward_cut<Centred>,
      .facts = {.in_place = {{0, 0}}},
      .cost = norm_cost,
      .kernel = [](const KernelSpec& s) { return kernels::norm_forward(s, kind_of_forward<Centred>(s)); },
      .reference =
          [](const KernelSpec& s) { return kernels::norm_forward_reference(s, kind_of_forward<Centred>(s)); },
      .samples =
          [] {
            std::vector<Sample> samples;
            for (const Shape& shape : {Shape{3, 67}, Shape{2, 3, 5}, Shape{5}, Shape{0, 3}}) {
              const Type x{shape, DType::f64}, v{{shape[-1]}, DType::f64};
              std::vector<Type> in{x, v};
              if (Centred) in.push_back(v);
              samples.push_back({.in = in, .attrs = {{"epsilon", 1e-5}}, .tolerance = 10});
              samples.push_back({.in = {x}, .attrs = {{"epsilon", 1e-5}}, .tolerance = 10});
            }
            return samples;
          }};
}
template <bool Centred>
constexpr Op backward_op(const char* name, const char* doc) {
  return {
      .name = name,
      .doc = doc,
      .infer = [](const InferArgs& a) -> std::vector<Type> {
        check_x(a, a.in[1]);
        if (a.in[0] != a.in[1])
          fail(Error::Kind::usage, "[{}] {} vs {}", a.op, to_string(a.in[0]), to_string(a.in[1]));
        const bool affine = affine_backward<Centred>(a.in.size());
        if (affine) check_vector(a, 2, a.in[1]);
        for (std::size_t i = affine ? 3 : 2; i < a.in.size(); ++i) {
          if (a.in[i] != statistics_of(a.in[1]))
            fail(a.in[i].dtype == statistic(a.in[1].dtype) ? Error::Kind::usage : Error::Kind::unsupported,
                 "[{}] {} vs {}", a.op, to_string(a.in[i]), to_string(statistics_of(a.in[1])));
        }
        std::vector<Type> out{a.in[1]};
        if (affine) out.push_back(a.in[2]);
        if (affine && Centred) out.push_back(a.in[2]);
        return out;
      },
      .vjp = backward_vjp<Centred>,
      .jvp = backward_jvp<Centred>,
      .cut = backward_cut<Centred>,
      .facts = {.in_place = {{0, 0}, {1, 0}}},
      .cost = norm_cost,
      .kernel = [](const KernelSpec& s) { return kernels::norm_backward(s, kind_of_backward<Centred>(s)); },
      .reference =
          [](const KernelSpec& s) {
            return kernels::norm_backward_reference(s, kind_of_backward<Centred>(s));
          },
      .samples =
          [] {
            std::vector<Sample> samples;
            for (const Shape& shape : {Shape{3, 67}, Shape{2, 3, 5}, Shape{5}}) {
              for (const bool affine : {true, false}) {
                const Type x{shape, DType::f64}, v{{shape[-1]}, DType::f64}, s = statistics_of(x);
                Sample sample{.in = {x, x}, .ranges = {{-2, 2}, {-2, 2}}, .tolerance = 10};
                if (affine) sample.in.push_back(v), sample.ranges.push_back({-2, 2});
                if (Centred) sample.in.push_back(s), sample.ranges.push_back({-1, 1});
                sample.in.push_back(s);
                sample.ranges.push_back({0.5, 1.5});
                samples.push_back(std::move(sample));
              }
            }
            return samples;
          }};
}

constinit const Op layer_norm_op =
    forward_op<true>("layer_norm", "(x - mean) rstd scale + shift over the last axis; mean, rstd.");
constinit const Op rms_norm_op =
    forward_op<false>("rms_norm", "x rstd scale over the last axis, rstd of the mean square; rstd.");
constinit const Op layer_norm_backward_op =
    backward_op<true>("layer_norm_backward", "Gradients of layer_norm: of x, and of scale and shift.");
constinit const Op rms_norm_backward_op =
    backward_op<false>("rms_norm_backward", "Gradients of rms_norm: of x, and of scale.");

template <bool Centred>
Tensors backward(const Tensor& ct, const Tensor& x, const Tensor& scale, const Tensor& mean,
                 const Tensor& rstd) {
  Tensors in{ct, x};
  if (scale.defined()) in.push_back(scale);
  if (Centred) in.push_back(mean);
  in.push_back(rstd);
  return apply(Centred ? layer_norm_backward_op : rms_norm_backward_op, in, {}, Where{});
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, double epsilon, Where where) {
  const Called called("layer_norm", where);
  const Attrs attrs{{"epsilon", epsilon}};
  if (!scale.defined() && !shift.defined()) return apply(layer_norm_op, std::span(&x, 1), attrs, where)[0];
  const Type vector{{x.size(-1)}, x.dtype()};
  const Tensor in[] = {x, scale.defined() ? scale : full_beside(x, vector, 1, where),
                       shift.defined() ? shift : full_beside(x, vector, 0, where)};
  return apply(layer_norm_op, in, attrs, where)[0];
}
Tensor rms_norm(const Tensor& x, const Tensor& scale, double epsilon, Where where) {
  const Called called("rms_norm", where);
  const Attrs attrs{{"epsilon", epsilon}};
  if (!scale.defined()) return apply(rms_norm_op, std::span(&x, 1), attrs, where)[0];
  const Tensor in[] = {x, scale};
  return apply(rms_norm_op, in, attrs, where)[0];
}
Tensor group_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, int groups, double epsilon,
                  Where where) {
  const Called called("group_norm", where);
  if (x.rank() < 2 || groups < 1 || x.size(1) % groups != 0)
    fail(Error::Kind::usage, "[group_norm] {} groups vs the channels of {}", groups, to_string(x.shape()));
  const std::int64_t n = x.size(0), c = x.size(1);
  if (x.numel() == 0) return x;
  const Tensor rows = reshape(x, {n, groups, x.numel() / (n * groups)}, where);
  Tensor y = reshape(layer_norm(rows, {}, {}, epsilon, where), x.shape().sizes(), where);
  std::vector<std::int64_t> channel(static_cast<std::size_t>(x.rank() - 1), 1);
  channel[0] = c;
  if (scale.defined()) y = y * Operand(reshape(scale, channel, where), where);
  if (shift.defined()) y = y + Operand(reshape(shift, channel, where), where);
  return y;
}

OpList norm_ops() {
  static const Op* const ops[] = {&layer_norm_op, &layer_norm_backward_op, &rms_norm_op,
                                  &rms_norm_backward_op};
  return ops;
}

}  // namespace tidemark
