// Depthwise convolutions, channels last: one vector of channels at a time, its sums in registers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/base/parallel.h"
#include "tidemark/kernels/cpu/conv.h"
#include "tidemark/kernels/cpu/lanes.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;
constexpr I kMaxTaps = 64;

// Along one axis: the taps that lie over the source for one position of the result, and where.
struct Taps {
  I index[kMaxTaps], at[kMaxTaps];
  int count = 0;
};

Taps under(bool forward, I position, I kernel, I stride, I pad, I dilation, I extent) {
  Taps taps;
  for (I r = 0; r < kernel; ++r) {
    I at = forward ? position * stride - pad + r * dilation : position + pad - r * dilation;
    if (at < 0 || (!forward && at % stride != 0)) continue;
    if (!forward) at /= stride;
    if (at >= extent) continue;
    taps.index[taps.count] = r;
    taps.at[taps.count++] = at;
  }
  return taps;
}

// One pixel of the result: all channels, from the pixels under its taps. `w` is (tap, channel).
template <typename T>
void pixel(const T* source, I row_step, I column_step, const Taps& rows, const Taps& columns, I kw,
           I channels, const T* w, T* to) {
  using V = Lanes<T>;
  I c = 0;
  for (; c + kLanes<T> <= channels; c += kLanes<T>) {
    V sum = V::zero();
    for (int r = 0; r < rows.count; ++r) {
      for (int s = 0; s < columns.count; ++s) {
        sum = multiply_add(V::load(source + rows.at[r] * row_step + columns.at[s] * column_step + c),
                           V::load(w + (rows.index[r] * kw + columns.index[s]) * channels + c), sum);
      }
    }
    sum.store(to + c);
  }
  for (; c < channels; ++c) {
    T sum = 0;
    for (int r = 0; r < rows.count; ++r) {
      for (int s = 0; s < columns.count; ++s) {
        sum = fused(source[rows.at[r] * row_step + columns.at[s] * column_step + c],
                    w[(rows.index[r] * kw + columns.index[s]) * channels + c], sum);
      }
    }
    to[c] = sum;
  }
}

template <typename T>
void convolve(const Conv& c, bool forward, int threads, const T* source, const T* w, T* to, T* transposed) {
  const I taps = c.kh * c.kw, channels = c.c;
  for (I t = 0; t < taps; ++t) {
    for (I i = 0; i < channels; ++i) transposed[t * channels + i] = w[i * taps + t];
  }
  const I height = forward ? c.oh : c.h, width = forward ? c.ow : c.w;
  const I source_h = forward ? c.h : c.oh, source_w = forward ? c.w : c.ow;
  parallel_for(threads, c.n * height, 1, [&](I line, I) {
    const T* const image = source + line / height * source_h * source_w * channels;
    const Taps rows = under(forward, line % height, c.kh, c.stride_h, c.pad_h, c.dilation_h, source_h);
    for (I column = 0; column < width; ++column) {
      const Taps columns = under(forward, column, c.kw, c.stride_w, c.pad_w, c.dilation_w, source_w);
      pixel(image, source_w * channels, channels, rows, columns, c.kw, channels, transposed,
            to + (line * width + column) * channels);
    }
  });
}

// Sums over all pixels in order, for one vector of channels at a time.
template <typename T>
void weigh(const Conv& c, int threads, const T* x, const T* y, T* w) {
  constexpr I lanes = kLanes<T>;
  const I channels = c.c, taps = c.kh * c.kw;
  parallel_for(threads, (channels + lanes - 1) / lanes, 1, [&](I block, I) {
    const I first = block * lanes, count = std::min(lanes, channels - first);
    alignas(64) T sums[kMaxTaps][lanes] = {};
    for (I line = 0; line < c.n * c.oh; ++line) {
      const Taps rows = under(true, line % c.oh, c.kh, c.stride_h, c.pad_h, c.dilation_h, c.h);
      const T* const image = x + line / c.oh * c.h * c.w * channels;
      for (I column = 0; column < c.ow; ++column) {
        const Taps columns = under(true, column, c.kw, c.stride_w, c.pad_w, c.dilation_w, c.w);
        const T* const seed = y + (line * c.ow + column) * channels + first;
        for (int r = 0; r < rows.count; ++r) {
          for (int s = 0; s < columns.count; ++s) {
            const T* const from = image + (rows.at[r] * c.w + columns.at[s]) * channels + first;
            T* const sum = sums[rows.index[r] * c.kw + columns.index[s]];
            if (count == lanes) {
              multiply_add(Lanes<T>::load(from), Lanes<T>::load(seed), Lanes<T>::load(sum)).store(sum);
            } else {
              for (I i = 0; i < count; ++i) sum[i] = fused(from[i], seed[i], sum[i]);
            }
          }
        }
      }
    }
    for (I i = 0; i < count; ++i) {
      for (I t = 0; t < taps; ++t) w[(first + i) * taps + t] = sums[t][i];
    }
  });
}

template <typename T>
std::unique_ptr<Kernel> prepare_depthwise(const Conv& c, ConvResult result, int threads) {
  if (result == ConvResult::w) {
    return make_kernel(
        0, [=](const Operands& o) { weigh(c, threads, o.input<T>(0), o.input<T>(1), o.output<T>(0)); });
  }
  const Bytes workspace = c.kh * c.kw * c.c * static_cast<Bytes>(sizeof(T));
  return make_kernel(workspace, [=](const Operands& o) {
    convolve(c, result == ConvResult::y, threads, o.input<T>(0), o.input<T>(1), o.output<T>(0),
             static_cast<T*>(o.workspace));
  });
}

}  // namespace

std::unique_ptr<Kernel> depthwise_conv(const Conv& c, ConvResult result, int threads) {
  if (!c.depthwise() || c.empty() || c.kh * c.kw > kMaxTaps) return nullptr;
  if (!channels_last({c.n, c.c, c.h, c.w}, c.x) || !channels_last({c.n, c.o, c.oh, c.ow}, c.y))
    return nullptr;
  if (c.dtype == DType::f32) return prepare_depthwise<float>(c, result, threads);
  if (c.dtype == DType::f64) return prepare_depthwise<double>(c, result, threads);
  return nullptr;
}

}  // namespace tidemark::kernels
