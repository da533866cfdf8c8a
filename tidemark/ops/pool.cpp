// Pooling and its transposes. Max pooling remembers where each maximum was; its derivative moves numbers
// along those indices, forwards (max_pool2d_gather) or backwards (max_unpool2d).
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/pool.h"
#include "tidemark/kernels/cpu/bad_index.h"

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/pool_shape.h"
#include "tidemark/kernels/ref/pool.h"
#include "tidemark/ops/channels.h"
#include "tidemark/ops/conv.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

extern const Op max_pool2d_op;
extern const Op max_unpool2d_op;
extern const Op max_pool2d_gather_op;
extern const Op avg_pool2d_op;
extern const Op avg_pool2d_backward_op;

using Sizes = std::vector<std::int64_t>;

void check_image(const InferArgs& args) {
  const Type& x = args.in[0];
  if (x.shape.rank() != 4 || !is_float(x.dtype))
    fail(Error::Kind::usage, "[{}] {} vs floats of 4 axes (N, C, H, W)", args.op, to_string(x));
}

// The pooled shape of x.
Shape pooled(const InferArgs& args, const Shape& x) {
  if (args.attrs.find("kernel") == nullptr) {
    const auto& out = args.attrs.integers("out");
    if (out[0] < 1 || out[1] < 1 || x[2] < 1 || x[3] < 1)
      fail(Error::Kind::usage, "[{}] ({},{}) out of {}", args.op, out[0], out[1], to_string(x));
    return Shape{x[0], x[1], out[0], out[1]};
  }
  Sizes sizes{x[0], x[1]};
  for (const std::size_t i : {0, 1}) {
    const std::int64_t kernel = args.attrs.integers("kernel")[i], stride = args.attrs.integers("stride")[i],
                       padding = args.attrs.integers("padding")[i];
    const std::int64_t size = x[static_cast<int>(i) + 2];
    if (kernel < 1 || stride < 1 || padding < 0)
      fail(Error::Kind::usage, "[{}] kernel {}, stride {}, padding {}", args.op, kernel, stride, padding);
    if (2 * padding > kernel)
      fail(Error::Kind::usage, "[{}] padding {} is more than half of kernel {}", args.op, padding, kernel);
    if (size + 2 * padding < kernel)
      fail(Error::Kind::usage, "[{}] kernel {} vs a padded input of {}", args.op, kernel, size + 2 * padding);
    sizes.push_back((size + 2 * padding - kernel) / stride + 1);
  }
  return Shape(std::move(sizes));
}

void check_indices(const InferArgs& args, const Shape& shape) {
  if (args.in[1] != Type{shape, DType::i32})
    fail(Error::Kind::usage, "[{}] indices {} vs {}", args.op, to_string(args.in[1]),
         to_string(Type{shape, DType::i32}));
}

std::vector<Type> infer_max_pool(const InferArgs& args) {
  check_image(args);
  const Shape y = pooled(args, args.in[0].shape);
  return {{y, args.in[0].dtype}, {y, DType::i32}};
}
std::vector<Type> infer_avg_pool(const InferArgs& args) {
  check_image(args);
  return {{pooled(args, args.in[0].shape), args.in[0].dtype}};
}
std::vector<Type> infer_avg_pool_backward(const InferArgs& args) {
  check_image(args);
  const Shape& y = args.in[0].shape;
  const auto& size = args.attrs.integers("size");
  const Shape x{y[0], y[1], size[0], size[1]};
  if (args.attrs.find("kernel") != nullptr && pooled(args, x) != y)
    fail(Error::Kind::usage, "[{}] {} vs {} pooled from {}", args.op, to_string(y),
         to_string(pooled(args, x)), to_string(x));
  return {{x, args.in[0].dtype}};
}
std::vector<Type> infer_unpool(const InferArgs& args) {
  check_image(args);
  const Shape& x = args.in[0].shape;
  check_indices(args, x);
  const auto& size = args.attrs.integers("size");
  return {{Shape{x[0], x[1], size[0], size[1]}, args.in[0].dtype}};
}
std::vector<Type> infer_gather(const InferArgs& args) {
  check_image(args);
  const Shape &x = args.in[0].shape, &indices = args.in[1].shape;
  if (indices.rank() != 4 || indices[0] != x[0] || indices[1] != x[1])
    fail(Error::Kind::usage, "[{}] indices {} vs {}", args.op, to_string(indices), to_string(x));
  check_indices(args, indices);
  return {{indices, args.in[0].dtype}};
}

Tensor unpool(const Tensor& x, const Tensor& indices, std::int64_t h, std::int64_t w,
              Where where = Where::current()) {
  return apply1(max_unpool2d_op, {x, indices}, {{"size", Sizes{h, w}}}, where);
}
Tensor pool_gather(const Tensor& x, const Tensor& indices) {
  return apply1(max_pool2d_gather_op, {x, indices}, {}, Where::current());
}

Attrs with_size(Attrs attrs, const Tensor& x) { return attrs.set("size", Sizes{x.size(2), x.size(3)}); }
// Adaptive pooling knows its windows from both sizes.
Attrs without_size(const Attrs& attrs, const Tensor& y) {
  Attrs result;
  for (const auto& [name, value] : attrs) {
    if (name != "size") result.set(name, value);
  }
  if (result.find("kernel") == nullptr) result.set("out", Sizes{y.size(2), y.size(3)});
  return result;
}

Attrs attrs_of(const PoolOptions& options) {
  Pair stride = options.stride;
  for (const std::size_t i : {0, 1}) {
    if (stride[i] == 0) stride[i] = options.kernel[i];
  }
  return {{"kernel", Sizes{options.kernel[0], options.kernel[1]}},
          {"stride", Sizes{stride[0], stride[1]}},
          {"padding", Sizes{options.padding[0], options.padding[1]}}};
}

IndexRange within_plane(const Shape& x) {
  return {.array = 1, .limit = x[2] * x[3], .refuse = kernels::refuse_index};
}

Type f64(std::initializer_list<std::int64_t> sizes) { return {Shape(sizes), DType::f64}; }
Attrs windows(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return attrs_of({.kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = {padding, padding}});
}

std::vector<Sample> pool_samples() {
  return {{.in = {f64({2, 3, 6, 5})}, .attrs = windows(2, 2, 0)},
          {.in = {f64({1, 17, 7, 7})}, .attrs = windows(3, 2, 1)},
          {.in = {f64({0, 2, 4, 4})}, .attrs = windows(2, 1, 0)}};
}
std::vector<Sample> avg_samples() {
  std::vector<Sample> samples = pool_samples();
  samples.push_back(
      {.in = {f64({1, 3, 5, 5})}, .attrs = windows(3, 2, 1).set("include_pad", std::int64_t{0})});
  samples.push_back({.in = {f64({2, 3, 5, 7})}, .attrs = {{"out", Sizes{2, 3}}}});
  samples.push_back({.in = {f64({2, 3, 4, 4})}, .attrs = {{"out", Sizes{1, 1}}}});
  return samples;
}
std::vector<Sample> avg_backward_samples() {
  return {{.in = {f64({2, 3, 3, 2})}, .attrs = windows(2, 2, 0).set("size", Sizes{6, 5})},
          {.in = {f64({1, 17, 4, 4})}, .attrs = windows(3, 2, 1).set("size", Sizes{7, 7})},
          {.in = {f64({2, 3, 2, 3})}, .attrs = {{"size", Sizes{5, 7}}}}};
}
std::vector<Sample> unpool_samples() {
  return {{.in = {f64({2, 3, 2, 3}), {Shape{2, 3, 2, 3}, DType::i32}},
           .attrs = {{"size", Sizes{4, 6}}},
           .ranges = {{-2, 2}, {0, 23}}}};
}
std::vector<Sample> gather_samples() {
  return {{.in = {f64({2, 3, 4, 6}), {Shape{2, 3, 2, 3}, DType::i32}}, .ranges = {{-2, 2}, {0, 23}}}};
}

constinit const Op max_pool2d_op{
    .name = "max_pool2d",
    .doc =
        "The largest of each window, and where it is: i32, flat within its H x W plane. The first of equals.",
    .infer = infer_max_pool,
    .vjp = [](const Rule& r) { return Tensors{unpool(r.ct(), r.y(1), r.x().size(2), r.x().size(3))}; },
    .jvp =
        [](const Rule& r) {
          return Tensors{pool_gather(r.dx(), r.y(1)), Tensor{}};
        },
    .cut = cut_samples,
    .indices_made =
        [](const KernelSpec& s) {
          const Shape& x = s.in[0].type.shape;
          return IndexRange{.array = 1, .limit = x[2] * x[3]};
        },
    .kernel = kernels::max_pool2d,
    .reference = kernels::max_pool2d_reference,
    .accepts = accepts_channels_last,
    .channels_last = true,
    .samples = pool_samples,
};
constinit const Op max_unpool2d_op{
    .name = "max_unpool2d",
    .doc = "A plane of `size`, zero but for x at the indices; what falls on one place adds up.",
    .infer = infer_unpool,
    .vjp =
        [](const Rule& r) {
          return Tensors{pool_gather(r.ct(), r.x(1)), Tensor{}};
        },
    .jvp =
        [](const Rule& r) {
          return apply(*r.node().op, Tensors{r.dx(), r.x(1)}, r.attrs(), Where::current());
        },
    .cut = cut_samples,
    .facts = {.may_refuse = true},
    .indices = [](const KernelSpec& s) { return within_plane(s.out[0].type.shape); },
    .kernel = kernels::max_unpool2d,
    .reference = kernels::max_unpool2d_reference,
    .accepts = accepts_channels_last,
    .channels_last = true,
    .samples = unpool_samples,
};
constinit const Op max_pool2d_gather_op{
    .name = "max_pool2d_gather",
    .doc = "y[i] = x[indices[i]] within each H x W plane: the transpose of max_unpool2d.",
    .infer = infer_gather,
    .vjp =
        [](const Rule& r) {
          return Tensors{unpool(r.ct(), r.x(1), r.x().size(2), r.x().size(3)), Tensor{}};
        },
    .jvp = [](const Rule& r) { return Tensors{pool_gather(r.dx(), r.x(1))}; },
    .cut = cut_samples,
    .facts = {.may_refuse = true},
    .indices = [](const KernelSpec& s) { return within_plane(s.in[0].type.shape); },
    .kernel = kernels::pool_gather,
    .reference = kernels::pool_gather_reference,
    .accepts = accepts_channels_last,
    .channels_last = true,
    .samples = gather_samples,
};
constinit const Op avg_pool2d_op{
    .name = "avg_pool2d",
    .doc =
        "The mean of each window; windows by kernel, stride and padding, or by the size of the result "
        "(`out`).",
    .infer = infer_avg_pool,
    .vjp =
        [](const Rule& r) {
          return apply(avg_pool2d_backward_op, Tensors{r.ct()}, with_size(r.attrs(), r.x()),
                       Where::current());
        },
    .jvp = [](const Rule& r) { return apply(*r.node().op, Tensors{r.dx()}, r.attrs(), Where::current()); },
    .cut = cut_samples,
    .kernel = kernels::avg_pool2d,
    .reference = kernels::avg_pool2d_reference,
    .accepts = accepts_channels_last,
    .channels_last = true,
    .samples = avg_samples,
};
constinit const Op avg_pool2d_backward_op{
    .name = "avg_pool2d_backward",
    .doc = "The transpose of avg_pool2d: each mean's share back to its window.",
    .infer = infer_avg_pool_backward,
    .vjp =
        [](const Rule& r) {
          return apply(avg_pool2d_op, Tensors{r.ct()}, without_size(r.attrs(), r.x()), Where::current());
        },
    .jvp = [](const Rule& r) { return apply(*r.node().op, Tensors{r.dx()}, r.attrs(), Where::current()); },
    .cut = cut_samples,
    .kernel = kernels::avg_pool2d_backward,
    .reference = kernels::avg_pool2d_backward_reference,
    .accepts = accepts_channels_last,
    .channels_last = true,
    .samples = avg_backward_samples,
};

}  // namespace

OpList pool_ops() {
  static const Op* const all[] = {&max_pool2d_op, &max_unpool2d_op, &max_pool2d_gather_op, &avg_pool2d_op,
                                  &avg_pool2d_backward_op};
  return all;
}

std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, const PoolOptions& options, Where where) {
  const Tensors both = apply(max_pool2d_op, Tensors{x}, attrs_of(options), where);
  return {both[0], both[1]};
}

Tensor max_pool2d(const Tensor& x, const PoolOptions& options, Where where) {
  return max_pool2d_with_indices(x, options, where).first;
}

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, Pair output_size, Where where) {
  return unpool(x, indices, output_size[0], output_size[1], where);
}

Tensor avg_pool2d(const Tensor& x, const PoolOptions& options, Where where) {
  Attrs attrs = attrs_of(options);
  if (!options.count_include_pad) attrs.set("include_pad", std::int64_t{0});
  return apply1(avg_pool2d_op, {x}, attrs, where);
}

Tensor adaptive_avg_pool2d(const Tensor& x, Pair output_size, Where where) {
  return apply1(avg_pool2d_op, {x}, {{"out", Sizes{output_size[0], output_size[1]}}}, where);
}

Tensor adaptive_max_pool2d(const Tensor& x, Pair output_size, Where where) {
  return apply(max_pool2d_op, Tensors{x}, {{"out", Sizes{output_size[0], output_size[1]}}}, where)[0];
}

}  // namespace tidemark
