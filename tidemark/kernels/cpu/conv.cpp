// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/conv.h"

#include "tidemark/kernels/cpu/gemm.h"
#include "tidemark/kernels/cpu/matmul.h"

namespace tidemark::kernels {
namespace {

std::unique_ptr<Kernel> fastest(const KernelSpec& spec, ConvResult result) {
  const Conv conv = conv_of(spec, result);
  if (auto kernel = pointwise_conv(conv, result, spec.threads)) return kernel;
  if (auto kernel = onednn_conv(conv, result, spec.threads)) return kernel;
  if (auto kernel = depthwise_conv(conv, result, spec.threads)) return kernel;
  return packed_conv(conv, result, spec.threads);
}

}  // namespace

// A kernel of one pixel with nothing to skip, channels last, is a matrix product over the pixels, and needs
// no weights in another form.
std::unique_ptr<Kernel> pointwise_conv(const Conv& c, ConvResult result, int threads) {
  const bool flat =
      c.kh == 1 && c.kw == 1 && c.stride_h == 1 && c.stride_w == 1 && c.pad_h == 0 && c.pad_w == 0;
  if (!flat || c.groups != 1 || c.empty()) return nullptr;
  // A product with so few columns is slower than the convolution.
  if (result == ConvResult::w && c.c < 48 && c.dtype == DType::f32) return nullptr;
  if (!channels_last({c.n, c.c, c.h, c.w}, c.x) || !channels_last({c.n, c.o, c.oh, c.ow}, c.y))
    return nullptr;
  const std::int64_t pixels = c.n * c.h * c.w;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    Value v{.type = {Shape{rows, columns}, c.dtype}};
    if (transposed) v.layout.strides = {1, rows};
    return v;
  };
  KernelSpec spec;
  spec.threads = threads;
  switch (result) {
    case ConvResult::y:  // (pixels, c) x (o, c)'
      spec.in = {matrix(pixels, c.c, false), matrix(c.c, c.o, true)};
      spec.out = {matrix(pixels, c.o, false)};
      return matmul(spec);
    case ConvResult::x:  // (pixels, o) x (o, c)
      spec.in = {matrix(pixels, c.o, false), matrix(c.o, c.c, false)};
      spec.out = {matrix(pixels, c.c, false)};
      return matmul(spec);
    case ConvResult::w: {  // (pixels, o)' x (pixels, c)
      spec.in = {matrix(c.o, pixels, true), matrix(pixels, c.c, false)};
      spec.out = {matrix(c.o, c.c, false)};
      std::shared_ptr<Kernel> product = matmul(spec);
      if (product == nullptr) return nullptr;
      return make_kernel(product->workspace(), [product](const Operands& o) {
        const void* const swapped[] = {o.in[1], o.in[0]};
        product->run({swapped, o.out, o.workspace});
      });
    }
  }
  return nullptr;
}

std::unique_ptr<Kernel> conv2d(const KernelSpec& spec) { return fastest(spec, ConvResult::y); }
std::unique_ptr<Kernel> conv2d_backward_data(const KernelSpec& spec) { return fastest(spec, ConvResult::x); }
std::unique_ptr<Kernel> conv2d_backward_weights(const KernelSpec& spec) {
  return fastest(spec, ConvResult::w);
}

}  // namespace tidemark::kernels
