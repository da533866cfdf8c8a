// Convolutions as packed products: patches are gathered straight into panels, so there is no patch matrix.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/conv.h"
#include "tidemark/kernels/cpu/packed_product.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

// Where the pixels of one array that a product's rows (or depth) run over lie, and, for each and a tap of the
// kernel, the pixel of the other array under that tap.
struct Pixels {
  I n, h, w;                       // counted as ((n * h) + h) * w + w
  std::array<I, 4> strides;        // of the array they belong to
  I other_h, other_w;              // extent of the other array
  std::array<I, 4> other_strides;  // and its strides

  I count() const { return n * h * w; }
  I offset(I pixel) const {
    const I column = pixel % w, row = pixel / w % h, image = pixel / w / h;
    return image * strides[0] + row * strides[2] + column * strides[3];
  }
};

// Offset in the other array of the pixel under tap (r, s), or -1 outside it.
I under_forward(const Conv& c, const Pixels& p, I pixel, I r, I s) {
  const I column = pixel % p.w, row = pixel / p.w % p.h, image = pixel / p.w / p.h;
  const I h = row * c.stride_h - c.pad_h + r * c.dilation_h,
          w = column * c.stride_w - c.pad_w + s * c.dilation_w;
  if (h < 0 || h >= p.other_h || w < 0 || w >= p.other_w) return -1;
  return image * p.other_strides[0] + h * p.other_strides[2] + w * p.other_strides[3];
}
I under_backward(const Conv& c, const Pixels& p, I pixel, I r, I s) {
  const I column = pixel % p.w, row = pixel / p.w % p.h, image = pixel / p.w / p.h;
  const I h = row + c.pad_h - r * c.dilation_h, w = column + c.pad_w - s * c.dilation_w;
  if (h < 0 || w < 0 || h % c.stride_h != 0 || w % c.stride_w != 0) return -1;
  if (h / c.stride_h >= p.other_h || w / c.stride_w >= p.other_w) return -1;
  return image * p.other_strides[0] + h / c.stride_h * p.other_strides[2] +
         w / c.stride_w * p.other_strides[3];
}

Pixels pixels_of_y(const Conv& c) { return {c.n, c.oh, c.ow, c.y, c.h, c.w, c.x}; }
Pixels pixels_of_x(const Conv& c) { return {c.n, c.h, c.w, c.x, c.oh, c.ow, c.y}; }

// Calls f(tap, first channel, count, position) for the runs of channels within taps that [begin, begin +
// count) of the axis (tap, channel) consists of.
template <typename F>
void each_run(I begin, I count, I channels, F&& f) {
  for (I at = 0; at < count;) {
    const I tap = (begin + at) / channels, channel = (begin + at) % channels;
    const I run = std::min(channels - channel, count - at);
    f(tap, channel, run, at);
    at += run;
  }
}

// y from (x, w), or x from (y, w): rows are pixels of the result, k is (tap, channel of the source).
template <typename S, typename T>
void convolve(const Conv& c, bool forward, const PackedProduct<T>& product, int threads, const S* source,
              const S* w, S* result, void* workspace) {
  const Pixels pixels = forward ? pixels_of_y(c) : pixels_of_x(c);
  const I source_channels = forward ? c.group_c() : c.group_o();
  const I result_channels = forward ? c.group_o() : c.group_c();
  const I source_step = pixels.other_strides[1], result_step = pixels.strides[1];
  const I taps = c.kh * c.kw;
  const bool even = result_step == 1 && pixels.strides[2] == pixels.w * pixels.strides[3] &&
                    pixels.strides[0] == pixels.h * pixels.strides[2];
  for (I group = 0; group < c.groups; ++group) {
    const S* const from = source + group * source_channels * source_step;
    S* const to_group = result + group * result_channels * result_step;
    const S* const weights = w + group * c.group_o() * c.group_c() * taps;
    const auto pack_patches = [&](I row, I rows, I begin, I depth, T* to) {
      for (I i = 0; i < rows; ++i) {
        each_run(begin, depth, source_channels, [&](I tap, I channel, I run, I at) {
          const I under = forward ? under_forward(c, pixels, row + i, tap / c.kw, tap % c.kw)
                                  : under_backward(c, pixels, row + i, tap / c.kw, tap % c.kw);
          T* put = to + at * kTileRows + i;
          if (under < 0) {
            for (I l = 0; l < run; ++l) put[l * kTileRows] = 0;
          } else {
            const S* x = from + under + channel * source_step;
            for (I l = 0; l < run; ++l) put[l * kTileRows] = static_cast<T>(x[l * source_step]);
          }
        });
      }
    };
    const auto pack_weights = [&](I column, I columns, I begin, I depth, T* to) {
      const I column_step = forward ? c.group_c() * taps : taps, k_step = forward ? taps : c.group_c() * taps;
      each_run(begin, depth, source_channels, [&](I tap, I channel, I run, I at) {
        for (I j = 0; j < columns; ++j) {
          const S* from_w = weights + (column + j) * column_step + channel * k_step + tap;
          for (I l = 0; l < run; ++l) to[(at + l) * kTileColumns<T> + j] = static_cast<T>(from_w[l * k_step]);
        }
      });
    };
    product.run(threads, workspace, pack_patches, pack_weights, [&](const Panels<T>& panels) {
      if (even)
        put_tile(to_group, pixels.strides[3], panels);
      else
        put_anywhere(
            to_group, [&](I i, I j) { return pixels.offset(i) + j * result_step; }, panels);
    });
  }
}

// w from (x, y): rows are output channels, columns (tap, input channel), k the pixels of y.
template <typename S, typename T>
void weigh(const Conv& c, const PackedProduct<T>& product, int threads, const S* x, const S* y, S* w,
           void* workspace) {
  const Pixels pixels = pixels_of_y(c);
  const I taps = c.kh * c.kw, channels = c.group_c();
  for (I group = 0; group < c.groups; ++group) {
    const S* const x_group = x + group * channels * c.x[1];
    const S* const y_group = y + group * c.group_o() * c.y[1];
    S* const w_group = w + group * c.group_o() * channels * taps;
    product.run(
        threads, workspace,
        [&](I row, I rows, I begin, I depth, T* to) {
          for (I l = 0; l < depth; ++l) {
            const S* from = y_group + pixels.offset(begin + l) + row * c.y[1];
            for (I i = 0; i < rows; ++i) to[l * kTileRows + i] = static_cast<T>(from[i * c.y[1]]);
          }
        },
        [&](I column, I columns, I begin, I depth, T* to) {
          for (I l = 0; l < depth; ++l) {
            each_run(column, columns, channels, [&](I tap, I channel, I run, I at) {
              const I under = under_forward(c, pixels, begin + l, tap / c.kw, tap % c.kw);
              T* put = to + l * kTileColumns<T> + at;
              if (under < 0) {
                for (I j = 0; j < run; ++j) put[j] = 0;
              } else {
                const S* from = x_group + under + channel * c.x[1];
                for (I j = 0; j < run; ++j) put[j] = static_cast<T>(from[j * c.x[1]]);
              }
            });
          }
        },
        [&](const Panels<T>& panels) {
          put_anywhere(
              w_group, [&](I i, I j) { return (i * channels + j % channels) * taps + j / channels; }, panels);
        });
  }
}

template <typename S>
std::unique_ptr<Kernel> prepare_packed(const Conv& c, ConvResult result, int threads) {
  using T = std::conditional_t<std::is_same_v<S, double>, double, float>;
  constexpr bool apart = !std::is_same_v<S, T>;
  if (result == ConvResult::w) {
    const PackedProduct<T> product(c.group_o(), c.group_c() * c.kh * c.kw, c.n * c.oh * c.ow, apart);
    return make_kernel(product.workspace(), [=](const Operands& o) {
      weigh<S, T>(c, product, threads, o.input<S>(0), o.input<S>(1), o.output<S>(0), o.workspace);
    });
  }
  const bool forward = result == ConvResult::y;
  const I taps = c.kh * c.kw;
  const PackedProduct<T> product =
      forward ? PackedProduct<T>(c.n * c.oh * c.ow, c.group_o(), taps * c.group_c(), apart)
              : PackedProduct<T>(c.n * c.h * c.w, c.group_c(), taps * c.group_o(), apart);
  return make_kernel(product.workspace(), [=](const Operands& o) {
    convolve<S, T>(c, forward, product, threads, o.input<S>(0), o.input<S>(1), o.output<S>(0), o.workspace);
  });
}

}  // namespace

std::unique_ptr<Kernel> packed_conv(const Conv& c, ConvResult result, int threads) {
  switch (c.dtype) {
    case DType::f64:
      return prepare_packed<double>(c, result, threads);
    case DType::f32:
      return prepare_packed<float>(c, result, threads);
    case DType::bf16:
      return prepare_packed<Bf16>(c, result, threads);
    case DType::f16:
      return prepare_packed<F16>(c, result, threads);
    default:
      return nullptr;
  }
}

}  // namespace tidemark::kernels
