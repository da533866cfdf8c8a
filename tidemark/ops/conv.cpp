// 2-d convolution and its two transposes. Each of the three is linear in each of its arguments, and the
// derivatives of each are the other two, so derivatives of every order stay among them.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/conv.h"

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/conv.h"
#include "tidemark/kernels/ref/conv.h"
#include "tidemark/ops/channels.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

extern const Op conv2d_op;
extern const Op conv2d_backward_data_op;
extern const Op conv2d_backward_weights_op;

std::vector<std::int64_t> list(const Pair& p) { return {p[0], p[1]}; }

Attrs attrs_of(const ConvOptions& options) {
  return {{"stride", list(options.stride)},
          {"padding", list(options.padding)},
          {"dilation", list(options.dilation)},
          {"groups", options.groups}};
}

// The attributes that all three have in common.
Attrs shared(const Attrs& attrs) {
  Attrs result;
  for (const char* name : {"stride", "padding", "dilation", "groups"}) result.set(name, *attrs.find(name));
  return result;
}

Tensor convolve(const Attrs& attrs, const Tensor& x, const Tensor& w, Where where = Where::current()) {
  return apply1(conv2d_op, {x, w}, shared(attrs), where);
}
Tensor backward_data(const Attrs& attrs, const Tensor& y, const Tensor& w, std::int64_t height,
                     std::int64_t width, Where where = Where::current()) {
  return apply1(conv2d_backward_data_op, {y, w}, shared(attrs).set("size", std::vector{height, width}),
                where);
}
Tensor backward_weights(const Attrs& attrs, const Tensor& x, const Tensor& y, std::int64_t height,
                        std::int64_t width, Where where = Where::current()) {
  return apply1(conv2d_backward_weights_op, {x, y}, shared(attrs).set("kernel", std::vector{height, width}),
                where);
}

void check_operands(const InferArgs& args) {
  const Type &a = args.in[0], &b = args.in[1];
  if (a.dtype != b.dtype || !is_float(a.dtype)) {
    fail(Error::Kind::usage, "[{}] dtypes {} vs {}; cast to one float type", args.op, name_of(a.dtype),
         name_of(b.dtype));
  }
  if (a.shape.rank() != 4 || b.shape.rank() != 4) {
    fail(Error::Kind::usage, "[{}] {} vs {}: both must have 4 axes", args.op, to_string(a.shape),
         to_string(b.shape));
  }
  for (const char* name : {"stride", "dilation"}) {
    const auto& v = args.attrs.integers(name);
    if (v[0] < 1 || v[1] < 1)
      fail(Error::Kind::usage, "[{}] {} ({},{}) vs at least 1", args.op, name, v[0], v[1]);
  }
  const auto& padding = args.attrs.integers("padding");
  if (padding[0] < 0 || padding[1] < 0)
    fail(Error::Kind::usage, "[{}] padding ({},{}) is negative", args.op, padding[0], padding[1]);
  if (args.attrs.integer("groups") < 1)
    fail(Error::Kind::usage, "[{}] {} groups vs at least 1", args.op, args.attrs.integer("groups"));
}

// Positions of a kernel of `kernel` taps along an axis of `size`.
std::int64_t positions(const InferArgs& args, int axis, std::int64_t size, std::int64_t kernel) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t padded = size + 2 * args.attrs.integers("padding")[at];
  const std::int64_t reach = args.attrs.integers("dilation")[at] * (kernel - 1) + 1;
  if (kernel < 1 || padded < reach)
    fail(Error::Kind::usage, "[{}] a kernel reaching over {} vs a padded input of {}", args.op, reach,
         padded);
  return (padded - reach) / args.attrs.integers("stride")[at] + 1;
}

void check_channels(const InferArgs& args, std::int64_t channels, const Shape& w) {
  const std::int64_t groups = args.attrs.integer("groups");
  if (w[1] * groups != channels)
    fail(Error::Kind::usage, "[{}] {} channels vs weight {} for {} groups of {}", args.op, channels,
         to_string(w), groups, w[1]);
  if (w[0] % groups != 0)
    fail(Error::Kind::usage, "[{}] {} output channels vs {} groups", args.op, w[0], groups);
}

std::vector<Type> infer_conv2d(const InferArgs& args) {
  check_operands(args);
  const Shape &x = args.in[0].shape, &w = args.in[1].shape;
  check_channels(args, x[1], w);
  return {
      {Shape{x[0], w[0], positions(args, 0, x[2], w[2]), positions(args, 1, x[3], w[3])}, args.in[0].dtype}};
}

std::vector<Type> infer_backward_data(const InferArgs& args) {
  check_operands(args);
  const Shape &y = args.in[0].shape, &w = args.in[1].shape;
  const auto& size = args.attrs.integers("size");
  const std::int64_t channels = w[1] * args.attrs.integer("groups");
  check_channels(args, channels, w);
  if (y[1] != w[0]) fail(Error::Kind::usage, "[{}] {} channels vs weight {}", args.op, y[1], to_string(w));
  for (const int axis : {0, 1}) {
    const std::int64_t n = positions(args, axis, size[static_cast<std::size_t>(axis)], w[axis + 2]);
    if (n != y[axis + 2])
      fail(Error::Kind::usage, "[{}] {} positions vs {} for a size of {}", args.op, y[axis + 2], n,
           size[static_cast<std::size_t>(axis)]);
  }
  return {{Shape{y[0], channels, size[0], size[1]}, args.in[0].dtype}};
}

std::vector<Type> infer_backward_weights(const InferArgs& args) {
  check_operands(args);
  const Shape &x = args.in[0].shape, &y = args.in[1].shape;
  const auto& kernel = args.attrs.integers("kernel");
  const std::int64_t groups = args.attrs.integer("groups");
  if (x[0] != y[0] || x[1] % groups != 0 || y[1] % groups != 0) {
    fail(Error::Kind::usage, "[{}] {} vs {} for {} groups", args.op, to_string(x), to_string(y), groups);
  }
  for (const int axis : {0, 1}) {
    const std::int64_t n = positions(args, axis, x[axis + 2], kernel[static_cast<std::size_t>(axis)]);
    if (n != y[axis + 2])
      fail(Error::Kind::usage, "[{}] {} positions vs {} for a size of {}", args.op, y[axis + 2], n,
           x[axis + 2]);
  }
  return {{Shape{y[1], x[1] / groups, kernel[0], kernel[1]}, args.in[0].dtype}};
}

Tensors conv2d_vjp(const Rule& r) {
  const Tensor &x = r.x(0), &w = r.x(1);
  return {r.needs(0) ? backward_data(r.attrs(), r.ct(), w, x.size(2), x.size(3)) : Tensor{},
          r.needs(1) ? backward_weights(r.attrs(), x, r.ct(), w.size(2), w.size(3)) : Tensor{}};
}
Tensors backward_data_vjp(const Rule& r) {
  const Tensor &y = r.x(0), &w = r.x(1);
  return {r.needs(0) ? convolve(r.attrs(), r.ct(), w) : Tensor{},
          r.needs(1) ? backward_weights(r.attrs(), r.ct(), y, w.size(2), w.size(3)) : Tensor{}};
}
Tensors backward_weights_vjp(const Rule& r) {
  const Tensor &x = r.x(0), &y = r.x(1);
  return {r.needs(0) ? backward_data(r.attrs(), y, r.ct(), x.size(2), x.size(3)) : Tensor{},
          r.needs(1) ? convolve(r.attrs(), x, r.ct()) : Tensor{}};
}

// All three are bilinear: f(dx0, x1) + f(x0, dx1).
Tensors bilinear_jvp(const Rule& r) {
  Tensor dy;
  if (r.has_dx(0)) dy = apply1(*r.node().op, {r.dx(0), r.x(1)}, r.attrs(), Where::current());
  if (r.has_dx(1)) {
    const Tensor other = apply1(*r.node().op, {r.x(0), r.dx(1)}, r.attrs(), Where::current());
    dy = dy.defined() ? dy + other : other;
  }
  return {dy};
}

Cost cost(const KernelSpec& spec, kernels::ConvResult result) {
  Cost c;
  for (const Value& v : spec.in) c.bytes += static_cast<double>(v.type.bytes());
  c.bytes += static_cast<double>(spec.out[0].type.bytes());
  c.flops = kernels::conv_of(spec, result).flops();
  return c;
}

bool accepts_images(const KernelSpec& spec, int i, int weights) {
  return i == weights ? array_of(spec, i).layout.dense_row_major() : accepts_channels_last(spec, i);
}

Type f64(std::initializer_list<std::int64_t> sizes) { return {Shape(sizes), DType::f64}; }

Attrs options(std::int64_t stride, std::int64_t padding, std::int64_t dilation, std::int64_t groups) {
  return attrs_of({{stride, stride}, {padding, padding}, {dilation, dilation}, groups});
}

std::vector<Sample> conv2d_samples() {
  return {{.in = {f64({2, 3, 5, 4}), f64({4, 3, 3, 3})}, .attrs = options(1, 1, 1, 1)},
          {.in = {f64({1, 4, 7, 6}), f64({6, 2, 2, 3})}, .attrs = options(2, 0, 2, 2)},
          {.in = {f64({1, 3, 5, 5}), f64({3, 1, 3, 3})}, .attrs = options(2, 1, 1, 3)},
          {.in = {f64({2, 3, 2, 3}), f64({5, 3, 1, 1})}, .attrs = options(1, 0, 1, 1)},
          {.in = {f64({0, 2, 3, 3}), f64({2, 2, 3, 3})}, .attrs = options(1, 0, 1, 1)}};
}
std::vector<Sample> backward_data_samples() {
  const auto sized = [](Attrs a, std::int64_t h, std::int64_t w) { return a.set("size", std::vector{h, w}); };
  return {{.in = {f64({2, 4, 5, 4}), f64({4, 3, 3, 3})}, .attrs = sized(options(1, 1, 1, 1), 5, 4)},
          {.in = {f64({1, 6, 3, 1}), f64({6, 2, 2, 3})}, .attrs = sized(options(2, 0, 2, 2), 8, 6)},
          {.in = {f64({1, 3, 3, 3}), f64({3, 1, 3, 3})}, .attrs = sized(options(2, 1, 1, 3), 5, 6)}};
}
std::vector<Sample> backward_weights_samples() {
  const auto sized = [](Attrs a, std::int64_t h, std::int64_t w) {
    return a.set("kernel", std::vector{h, w});
  };
  return {{.in = {f64({2, 3, 5, 4}), f64({2, 4, 5, 4})}, .attrs = sized(options(1, 1, 1, 1), 3, 3)},
          {.in = {f64({1, 4, 8, 6}), f64({1, 6, 3, 1})}, .attrs = sized(options(2, 0, 2, 2), 2, 3)},
          {.in = {f64({2, 3, 5, 5}), f64({2, 3, 3, 3})}, .attrs = sized(options(2, 1, 1, 3), 3, 3)}};
}

constinit const Op conv2d_op{
    .name = "conv2d",
    .doc = "y = x * w over (N, C, H, W), as torch.nn.functional.conv2d; stride, padding, dilation, groups.",
    .infer = infer_conv2d,
    .vjp = conv2d_vjp,
    .jvp = bilinear_jvp,
    .cut = [](const CutArgs& a) -> std::optional<Cut> { return cut_alike(a, 0, {1}); },
    .cost = [](const KernelSpec& s) { return cost(s, kernels::ConvResult::y); },
    .kernel = kernels::conv2d,
    .reference = kernels::conv2d_reference,
    .accepts = [](const KernelSpec& s, int i) { return accepts_images(s, i, 1); },
    .channels_last = true,
    .samples = conv2d_samples,
};
constinit const Op conv2d_backward_data_op{
    .name = "conv2d_backward_data",
    .doc =
        "The transpose of conv2d in x: the image of `size` that (y, w) spread over. conv_transpose2d is this "
        "op.",
    .infer = infer_backward_data,
    .vjp = backward_data_vjp,
    .jvp = bilinear_jvp,
    .cut = [](const CutArgs& a) -> std::optional<Cut> { return cut_alike(a, 0, {1}); },
    .cost = [](const KernelSpec& s) { return cost(s, kernels::ConvResult::x); },
    .kernel = kernels::conv2d_backward_data,
    .reference = kernels::conv2d_backward_data_reference,
    .accepts = [](const KernelSpec& s, int i) { return accepts_images(s, i, 1); },
    .channels_last = true,
    .samples = backward_data_samples,
};
constinit const Op conv2d_backward_weights_op{
    .name = "conv2d_backward_weights",
    .doc = "The transpose of conv2d in w: weights of `kernel` size from (x, y).",
    .infer = infer_backward_weights,
    .vjp = backward_weights_vjp,
    .jvp = bilinear_jvp,
    .cut = [](const CutArgs& a) -> std::optional<Cut> {
      return Cut{{0, 0}, {kAdded}, a.attrs};
    },
    .cost = [](const KernelSpec& s) { return cost(s, kernels::ConvResult::w); },
    .kernel = kernels::conv2d_backward_weights,
    .reference = kernels::conv2d_backward_weights_reference,
    .accepts = [](const KernelSpec& s, int i) { return accepts_images(s, i, 2); },
    .channels_last = true,
    .samples = backward_weights_samples,
};

}  // namespace

OpList conv_ops() {
  static const Op* const all[] = {&conv2d_op, &conv2d_backward_data_op, &conv2d_backward_weights_op};
  return all;
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const ConvOptions& options, Where where) {
  return apply1(conv2d_op, {x, weight}, attrs_of(options), where);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const ConvTransposeOptions& options,
                        Where where) {
  const Called called("conv_transpose2d", where);
  if (x.rank() != 4 || weight.rank() != 4)
    fail(Error::Kind::usage, "[conv_transpose2d] {} vs {}: both must have 4 axes", to_string(x.shape()),
         to_string(weight.shape()));
  Pair size, full;
  bool reaches =
      true;  // every row of the result lies in the image of some position, or one stride behind the last
  for (const int axis : {0, 1}) {
    const auto i = static_cast<std::size_t>(axis);
    if (options.output_padding[i] < 0 ||
        options.output_padding[i] >= std::max(options.stride[i], options.dilation[i]))
      fail(Error::Kind::usage, "[conv_transpose2d] output padding {} vs less than stride {} or dilation {}",
           options.output_padding[i], options.stride[i], options.dilation[i]);
    full[i] =
        (x.size(axis + 2) - 1) * options.stride[i] + options.dilation[i] * (weight.size(axis + 2) - 1) + 1;
    size[i] = full[i] - 2 * options.padding[i] + options.output_padding[i];
    if (size[i] < 1)
      fail(Error::Kind::usage, "[conv_transpose2d] padding {} leaves nothing of the result",
           options.padding[i]);
    reaches = reaches && options.output_padding[i] < options.stride[i];
  }
  if (reaches)
    return backward_data(attrs_of({options.stride, options.padding, options.dilation, options.groups}), x,
                         weight, size[0], size[1], where);
  // The whole image, from which the padding is cut; behind its end there is nothing.
  Tensor y = backward_data(attrs_of({options.stride, {0, 0}, options.dilation, options.groups}), x, weight,
                           full[0], full[1], where);
  std::vector<std::pair<std::int64_t, std::int64_t>> zeros(4);
  for (const int axis : {0, 1}) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t end = std::min(full[i], options.padding[i] + size[i]);
    y = slice(y, axis + 2, options.padding[i], end, 1, where);
    zeros[i + 2].second = size[i] - (end - options.padding[i]);
  }
  return pad(y, zeros, 0, where);
}

}  // namespace tidemark
