// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "tidemark/base/parallel.h"
#include "tidemark/kernels/norm_shape.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;
constexpr I kBlockElements = 1 << 15;  // of a block of rows: it stays in the second cache between two passes
constexpr I kChannelGrain = 64;

struct Blocks {
  explicit Blocks(const Channels& s)
      : rows(s.rows()),
        channels(s.channels),
        block(std::max<I>(8, kBlockElements / std::max<I>(1, s.channels))),
        count((rows + block - 1) / block) {}
  I rows, channels, block, count;
  I begin(I b) const { return b * block; }
  I size(I b) const { return std::min(block, rows - b * block); }
};

// Sums of a few dozen rows in T, and those in turn: the error grows with the logarithm of the rows.
constexpr I kShortRows = 32;

// to[c] = sum over the rows of term(row, c).
template <typename T, typename F>
void column_sums(I rows, I channels, T* to, F&& term) {
  std::fill(to, to + channels, T(0));
  constexpr I width = 64;
  for (I c0 = 0; c0 < channels; c0 += width) {
    const I n = std::min(width, channels - c0);
    for (I r0 = 0; r0 < rows; r0 += kShortRows) {
      T sums[width] = {};
      for (I r = r0; r < std::min(rows, r0 + kShortRows); ++r) {
        if (n == width) {
          for (I i = 0; i < width; ++i) sums[i] += term(r, c0 + i);
        } else {
          for (I i = 0; i < n; ++i) sums[i] += term(r, c0 + i);
        }
      }
      for (I i = 0; i < n; ++i) to[c0 + i] += sums[i];
    }
  }
}

// Mean and sum of squared deviations of each block, read once from memory, then put together in order
// (Chan, Golub & LeVeque 1983). Workspace: (block, {mean, squares}, channel), then {scale, shift} by channel.
template <typename T>
void forward(const Channels& s, double epsilon, int threads, const Operands& o) {
  const Blocks blocks(s);
  const I channels = s.channels;
  const T* const x = o.input<T>(0);
  T *const y = o.output<T>(0), *const mean = o.output<T>(1), *const variance = o.output<T>(2);
  T* const partial = static_cast<T*>(o.workspace);
  T* const factor = partial + 2 * blocks.count * channels;
  T* const offset = factor + channels;
  parallel_for(threads, blocks.count, 1, [&](I b, I) {
    const T* from = x + blocks.begin(b) * channels;
    T *means = partial + 2 * b * channels, *squares = means + channels;
    const I rows = blocks.size(b);
    column_sums(rows, channels, means, [=](I r, I c) { return from[r * channels + c]; });
    for (I c = 0; c < channels; ++c) means[c] /= static_cast<T>(rows);
    column_sums(rows, channels, squares, [=](I r, I c) {
      const T d = from[r * channels + c] - means[c];
      return d * d;
    });
  });
  parallel_for(threads, channels, kChannelGrain, [&](I first, I last) {
    for (I c = first; c < last; ++c) {
      double m = 0, q = 0, n = 0;
      for (I b = 0; b < blocks.count; ++b) {
        const auto rows = static_cast<double>(blocks.size(b));
        const double delta = static_cast<double>(partial[2 * b * channels + c]) - m;
        q += static_cast<double>(partial[(2 * b + 1) * channels + c]) + delta * delta * n * rows / (n + rows);
        m += delta * rows / (n + rows);
        n += rows;
      }
      mean[c] = static_cast<T>(m);
      variance[c] = static_cast<T>(q / n);
      const double scale = static_cast<double>(o.input<T>(1)[c]) / std::sqrt(q / n + epsilon);
      factor[c] = static_cast<T>(scale);
      offset[c] = o.input<T>(2)[c];
    }
  });
  parallel_for(threads, blocks.count, 1, [&](I b, I) {
    for (I r = blocks.begin(b); r < blocks.begin(b) + blocks.size(b); ++r) {
      const T* from = x + r * channels;
      T* to = y + r * channels;
      for (I c = 0; c < channels; ++c) to[c] = (from[c] - mean[c]) * factor[c] + offset[c];
    }
  });
}

// dx = g * p + (x - mean) * q + r, each of p, q, r by channel. Workspace: (block, {shift, scale}, channel),
// then p, q, r by channel.
template <typename T>
void backward(const Channels& s, double epsilon, int threads, const Operands& o) {
  const Blocks blocks(s);
  const I channels = s.channels;
  const T *const g = o.input<T>(0), *const x = o.input<T>(1), *const mean = o.input<T>(3);
  T *const dx = o.output<T>(0), *const dscale = o.output<T>(1), *const dshift = o.output<T>(2);
  T* const partial = static_cast<T*>(o.workspace);
  T* const p = partial + 2 * blocks.count * channels;
  T *const q = p + channels, *const r = q + channels;
  parallel_for(threads, blocks.count, 1, [&](I b, I) {
    const T *seed = g + blocks.begin(b) * channels, *from = x + blocks.begin(b) * channels;
    T *shifts = partial + 2 * b * channels, *scales = shifts + channels;
    column_sums(blocks.size(b), channels, shifts, [=](I row, I c) { return seed[row * channels + c]; });
    column_sums(blocks.size(b), channels, scales,
                [=](I row, I c) { return seed[row * channels + c] * (from[row * channels + c] - mean[c]); });
  });
  parallel_for(threads, channels, kChannelGrain, [&](I first, I last) {
    for (I c = first; c < last; ++c) {
      double shift = 0, scale = 0;
      for (I b = 0; b < blocks.count; ++b) {
        shift += static_cast<double>(partial[2 * b * channels + c]);
        scale += static_cast<double>(partial[(2 * b + 1) * channels + c]);
      }
      const double inverse = 1 / std::sqrt(static_cast<double>(o.input<T>(4)[c]) + epsilon);
      scale *= inverse;
      dscale[c] = static_cast<T>(scale);
      dshift[c] = static_cast<T>(shift);
      const double factor = static_cast<double>(o.input<T>(2)[c]) * inverse;
      const double count = std::max(1.0, static_cast<double>(s.rows()));
      p[c] = static_cast<T>(factor);
      q[c] = static_cast<T>(-factor * inverse * scale / count);
      r[c] = static_cast<T>(-factor * shift / count);
    }
  });
  parallel_for(threads, blocks.count, 1, [&](I b, I) {
    for (I row = blocks.begin(b); row < blocks.begin(b) + blocks.size(b); ++row) {
      const T *seed = g + row * channels, *from = x + row * channels;
      T* to = dx + row * channels;
      // In place over g is fine: each element is read before it is written.
      for (I c = 0; c < channels; ++c) to[c] = seed[c] * p[c] + ((from[c] - mean[c]) * q[c] + r[c]);
    }
  });
}

std::unique_ptr<Kernel> prepare_fast(const KernelSpec& spec, bool back) {
  const Channels s = channels_of(spec);
  const double epsilon = spec.attrs.number("epsilon");
  const DType dtype = spec.in[0].type.dtype;
  // An empty batch has no mean: the plain kernel says so with NaN.
  if (!s.last || s.rows() == 0 || (dtype != DType::f32 && dtype != DType::f64)) return nullptr;
  const Bytes workspace = (2 * Blocks(s).count + 3) * s.channels * tidemark::size_of(dtype);
  const auto kernel = [&]<typename T>() {
    return make_kernel(workspace, [s, epsilon, back, threads = spec.threads](const Operands& o) {
      if (back)
        backward<T>(s, epsilon, threads, o);
      else
        forward<T>(s, epsilon, threads, o);
    });
  };
  if (dtype == DType::f32) return kernel.template operator()<float>();
  return kernel.template operator()<double>();
}

}  // namespace

std::unique_ptr<Kernel> batch_norm(const KernelSpec& spec) { return prepare_fast(spec, false); }
std::unique_ptr<Kernel> batch_norm_backward(const KernelSpec& spec) { return prepare_fast(spec, true); }

}  // namespace tidemark::kernels
