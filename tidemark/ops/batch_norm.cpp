// Batch normalisation over (N, C, …). Statistics of the batch are outputs; running ones are the caller's.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/batch_norm.h"

#include "tidemark/kernels/ref/batch_norm.h"
#include "tidemark/ops/channels.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

extern const Op batch_norm_op;
extern const Op batch_norm_backward_op;

void check_array(const InferArgs& args, const Type& x) {
  if (!is_float(x.dtype) || x.shape.rank() < 2)
    fail(Error::Kind::usage, "[{}] {} vs floats (N, C, …)", args.op, to_string(x));
}
void check_channels(const InferArgs& args, const Type& x, const Type& v, const char* what) {
  if (v != Type{Shape{x.shape[1]}, x.dtype})
    fail(Error::Kind::usage, "[{}] {} {} vs {} channels of {}", args.op, what, to_string(v), x.shape[1],
         to_string(x));
}

std::vector<Type> infer_training(const InferArgs& args) {
  const Type& x = args.in[0];
  check_array(args, x);
  check_channels(args, x, args.in[1], "scale");
  check_channels(args, x, args.in[2], "shift");
  return {x, args.in[1], args.in[1]};
}
std::vector<Type> infer_backward(const InferArgs& args) {
  const Type& x = args.in[1];
  check_array(args, x);
  if (args.in[0] != x)
    fail(Error::Kind::usage, "[{}] cotangent {} vs {}", args.op, to_string(args.in[0]), to_string(x));
  check_channels(args, x, args.in[2], "scale");
  check_channels(args, x, args.in[3], "mean");
  check_channels(args, x, args.in[4], "variance");
  return {x, args.in[2], args.in[2]};
}

// A vector of channels against (N, C, …), and the sum over all but the channels.
Tensor along(const Tensor& v, const Tensor& x) {
  std::vector<std::int64_t> sizes(x.shape().sizes().size(), 1);
  sizes[1] = x.size(1);
  return reshape(v, sizes);
}
Tensor channel_sum(const Tensor& x) {
  Axes axes;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  return sum(x, axes);
}
double count_of(const Tensor& x) {
  return x.size(1) == 0 ? 0 : static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
}

struct Gradients {
  Tensor dx, dscale, dshift;
};
Gradients backward(const Tensor& ct, const Tensor& x, const Tensor& scale, const Tensor& mean,
                   const Tensor& variance, const Attrs& attrs) {
  const Tensors all =
      apply(batch_norm_backward_op, Tensors{ct, x, scale, mean, variance}, attrs, Where::current());
  return {all[0], all[1], all[2]};
}

Tensors training_vjp(const Rule& r) {
  const Tensor& x = r.x();
  Gradients g;
  if (r.has_ct(0)) g = backward(r.ct(0), x, r.x(1), r.y(1), r.y(2), r.attrs());
  const double count = count_of(x);
  if (r.has_ct(1)) {
    const Tensor term = along(r.ct(1) / count, x) + zeros_like(x);
    g.dx = g.dx.defined() ? g.dx + term : term;
  }
  if (r.has_ct(2)) {
    const Tensor term = along(r.ct(2) * (2 / count), x) * (x - along(r.y(1), x));
    g.dx = g.dx.defined() ? g.dx + term : term;
  }
  return {g.dx, g.dscale, g.dshift};
}

Tensors training_jvp(const Rule& r) {
  const Tensor &x = r.x(), dx = r.dx(0);
  const double count = count_of(x);
  const Tensor inverse = rsqrt(r.y(2) + r.attrs().number("epsilon"));
  const Tensor centred = x - along(r.y(1), x);
  const Tensor dmean = channel_sum(dx) / count;
  const Tensor dvariance = channel_sum(centred * dx) * (2 / count);
  const Tensor dinverse = -0.5 * dvariance * inverse * inverse * inverse;
  Tensor dy = along(r.x(1), x) * ((dx - along(dmean, x)) * along(inverse, x) + centred * along(dinverse, x));
  if (r.has_dx(1)) dy = dy + along(r.dx(1) * inverse, x) * centred;
  if (r.has_dx(2)) dy = dy + along(r.dx(2), x);
  return {dy, dmean, dvariance};
}

// With n the normalised x, i = (variance + epsilon)^-1/2, S = sum g, T = sum g n, M elements a channel:
//   dx = scale i (g - S / M - n T / M), dscale = T, dshift = S.
// Cotangents a, b, e of the three; A0 = sum a, A1 = sum a n, which the same op gives for a in place of g.
Tensors backward_vjp(const Rule& r) {
  const Tensor &g = r.x(0), &x = r.x(1), &scale = r.x(2), &mean = r.x(3), &variance = r.x(4);
  const double count = count_of(x);
  const Tensor a = r.ct(0), b = r.ct(1), e = r.ct(2);
  const Gradients of_a = backward(a, x, scale, mean, variance, r.attrs());
  const Tensor inverse = rsqrt(variance + r.attrs().number("epsilon"));
  const Tensor normal = (x - along(mean, x)) * along(inverse, x);
  const Tensor dg = of_a.dx + along(b, x) * normal + along(e, x);
  const Tensor inner =
      channel_sum(a * g) - (r.y(2) * of_a.dshift + r.y(1) * of_a.dscale) / count;  // sum a dx / (scale i)
  const Tensor factor = scale * inverse;
  const Tensor dnormal =
      along(b - factor * of_a.dscale / count, x) * g - along(factor * r.y(1) / count, x) * a;
  const Tensor dinverse = scale * inner + channel_sum(dnormal * (x - along(mean, x)));
  return {dg, dnormal * along(inverse, x), inverse * inner, -(inverse * channel_sum(dnormal)),
          -0.5 * inverse * inverse * inverse * dinverse};
}

Tensors backward_jvp(const Rule& r) {
  const Tensor &g = r.x(0), &x = r.x(1), &scale = r.x(2), &mean = r.x(3), &variance = r.x(4);
  const double count = count_of(x);
  const Tensor inverse = rsqrt(variance + r.attrs().number("epsilon"));
  const Tensor dinverse = -0.5 * r.dx(4) * inverse * inverse * inverse;
  const Tensor centred = x - along(mean, x);
  const Tensor normal = centred * along(inverse, x);
  const Tensor dnormal = (r.dx(1) - along(r.dx(3), x)) * along(inverse, x) + centred * along(dinverse, x);
  const Tensor dshift = channel_sum(r.dx(0));
  const Tensor dscale = channel_sum(r.dx(0) * normal + g * dnormal);
  const Tensor centre = g - along(r.y(2) / count, x) - normal * along(r.y(1) / count, x);
  const Tensor dcentre = r.dx(0) - along(dshift / count, x) - dnormal * along(r.y(1) / count, x) -
                         normal * along(dscale / count, x);
  const Tensor ddx =
      along(r.dx(2) * inverse + scale * dinverse, x) * centre + along(scale * inverse, x) * dcentre;
  return {ddx, dscale, dshift};
}

bool accepts_array(const KernelSpec& spec, int i) {
  const Value& v = array_of(spec, i);
  return v.type.shape.rank() == 4 ? row_major_or_channels_last(v) : v.layout.dense_row_major();
}

Cost cost(const KernelSpec& spec) {
  Cost c;
  for (const auto* arrays : {&spec.in, &spec.out}) {
    for (const Value& v : *arrays) c.bytes += static_cast<double>(v.type.bytes());
  }
  c.bytes += static_cast<double>(spec.out[0].type.bytes());  // x is read twice
  c.flops = 8 * static_cast<double>(spec.out[0].type.shape.numel());
  return c;
}

Type f64(std::initializer_list<std::int64_t> sizes) { return {Shape(sizes), DType::f64}; }

std::vector<Sample> training_samples() {
  const Attrs attrs{{"epsilon", 1e-3}};
  return {{.in = {f64({2, 3, 4, 5}), f64({3}), f64({3})}, .attrs = attrs, .tolerance = 10},
          {.in = {f64({7, 17}), f64({17}), f64({17})}, .attrs = attrs, .tolerance = 10},
          {.in = {f64({2, 1, 3}), f64({1}), f64({1})}, .attrs = attrs, .tolerance = 10}};
}
std::vector<Sample> backward_samples() {
  const Attrs attrs{{"epsilon", 1e-3}};
  const std::vector<std::array<double, 2>> ranges{{-2, 2}, {-2, 2}, {-2, 2}, {-1, 1}, {0.5, 2}};
  return {{.in = {f64({2, 3, 4, 5}), f64({2, 3, 4, 5}), f64({3}), f64({3}), f64({3})},
           .attrs = attrs,
           .ranges = ranges,
           .tolerance = 10},
          {.in = {f64({7, 17}), f64({7, 17}), f64({17}), f64({17}), f64({17})},
           .attrs = attrs,
           .ranges = ranges,
           .tolerance = 10}};
}

constinit const Op batch_norm_op{
    .name = "batch_norm",
    .doc =
        "y = (x - mean) / sqrt(variance + epsilon) * scale + shift with the batch's own mean and (biased) "
        "variance, which are outputs too.",
    .infer = infer_training,
    .vjp = training_vjp,
    .jvp = training_jvp,
    .facts = {.in_place = {{0, 0}}},
    .cost = cost,
    .kernel = kernels::batch_norm,
    .reference = kernels::batch_norm_reference,
    .accepts = accepts_array,
    .channels_last = true,
    .samples = training_samples,
};
constinit const Op batch_norm_backward_op{
    .name = "batch_norm_backward",
    .doc = "Gradients of batch_norm in x, scale and shift from (cotangent, x, scale, mean, variance).",
    .infer = infer_backward,
    .vjp = backward_vjp,
    .jvp = backward_jvp,
    .facts = {.in_place = {{0, 0}, {1, 0}}},
    .cost = cost,
    .kernel = kernels::batch_norm_backward,
    .reference = kernels::batch_norm_backward_reference,
    .accepts = accepts_array,
    .channels_last = true,
    .samples = backward_samples,
};

}  // namespace

OpList batch_norm_ops() {
  static const Op* const all[] = {&batch_norm_op, &batch_norm_backward_op};
  return all;
}

BatchNorm batch_norm_training(const Tensor& x, const Tensor& scale, const Tensor& shift, double epsilon,
                              Where where) {
  const Tensors all = apply(batch_norm_op, Tensors{x, scale, shift}, {{"epsilon", epsilon}}, where);
  return {all[0], all[1], all[2]};
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& scale, const Tensor& shift, const Tensor& mean,
                            const Tensor& variance, double epsilon, Where where) {
  const Called called("batch_norm_inference", where);
  if (x.rank() < 2 || scale.shape() != Shape{x.size(1)} || shift.shape() != scale.shape() ||
      mean.shape() != scale.shape() || variance.shape() != scale.shape())
    fail(Error::Kind::usage, "[batch_norm] {} vs scale {}, shift {}, mean {}, variance {}",
         to_string(x.shape()), to_string(scale.shape()), to_string(shift.shape()), to_string(mean.shape()),
         to_string(variance.shape()));
  const Tensor factor = scale * rsqrt(variance + Operand(epsilon, where));
  return (x - Operand(along(mean, x), where)) * along(factor, x) + along(shift, x);
}

}  // namespace tidemark
