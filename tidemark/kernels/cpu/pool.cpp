// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/pool.h"

#include <cmath>

#include "tidemark/base/parallel.h"
#include "tidemark/kernels/conv_shape.h"
#include "tidemark/kernels/cpu/bad_index.h"
#include "tidemark/kernels/pool_shape.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;
constexpr I kBlock = 64;  // channels that a task handles together

bool last(const Value& v) {
  const auto strides = strides_of(v.type.shape, v.layout);
  std::array<I, 4> s;
  std::copy(strides.begin(), strides.end(), s.begin());
  return channels_last(v.type.shape, s);
}

// f.template operator()<T>() where the fast kernels are for this spec, else null.
template <typename F>
std::unique_ptr<Kernel> if_fast(const KernelSpec& spec, F&& f) {
  for (const auto* arrays : {&spec.in, &spec.out}) {
    for (const Value& v : *arrays) {
      if (!last(v)) return nullptr;
    }
  }
  if (spec.in[0].type.dtype == DType::f32) return f.template operator()<float>();
  if (spec.in[0].type.dtype == DType::f64) return f.template operator()<double>();
  return nullptr;
}

// The first index out of range; such kernels need no workspace otherwise.
struct OnStack {
  alignas(BadIndex::kBytes) std::byte room[BadIndex::kBytes];
  BadIndex noted{room};
};

// f(image, first channel, channels) for every image and block of channels.
template <typename F>
void each_block(const Pool& p, int threads, F&& f) {
  const I blocks = (p.c + kBlock - 1) / kBlock;
  parallel_for(threads, p.n * blocks, 1, [&](I task, I) {
    const I first = task % blocks * kBlock;
    f(task / blocks, first, std::min(kBlock, p.c - first));
  });
}

template <typename T>
void max_block(const Pool& p, const T* x, T* y, std::int32_t* indices, I channels) {
  const I width = p.columns.in;
  for (I oh = 0; oh < p.rows.out; ++oh) {
    const Window rows = p.rows.window(oh);
    for (I ow = 0; ow < p.columns.out; ++ow) {
      const Window columns = p.columns.window(ow);
      T largest[kBlock];
      std::int32_t best[kBlock];
      const I start = rows.begin * width + columns.begin;
      for (I i = 0; i < channels; ++i) {
        largest[i] = x[start * p.c + i];
        best[i] = static_cast<std::int32_t>(start);
      }
      for (I h = rows.begin; h < rows.end; ++h) {
        for (I w = columns.begin; w < columns.end; ++w) {
          const T* from = x + (h * width + w) * p.c;
          const auto here = static_cast<std::int32_t>(h * width + w);
          for (I i = 0; i < channels; ++i) {
            // Not (v <= largest): also true where v is the first NaN.
            const bool larger = !(from[i] <= largest[i]) && largest[i] == largest[i];
            best[i] = larger ? here : best[i];
            largest[i] = larger ? from[i] : largest[i];
          }
        }
      }
      const I to = (oh * p.columns.out + ow) * p.c;
      for (I i = 0; i < channels; ++i) y[to + i] = largest[i];
      for (I i = 0; i < channels; ++i) indices[to + i] = best[i];
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> max_pool2d(const KernelSpec& spec) {
  return if_fast(spec, [&]<typename T>() {
    const Pool p = pool_of(spec.in[0], spec.out[0], spec.attrs);
    return make_kernel(0, [p, threads = spec.threads](const Operands& o) {
      const I in = p.rows.in * p.columns.in * p.c, out = p.rows.out * p.columns.out * p.c;
      each_block(p, threads, [&](I image, I first, I channels) {
        max_block(p, o.input<T>(0) + image * in + first, o.output<T>(0) + image * out + first,
                  o.output<std::int32_t>(1) + image * out + first, channels);
      });
    });
  });
}

std::unique_ptr<Kernel> max_unpool2d(const KernelSpec& spec) {
  return if_fast(spec, [&]<typename T>() {
    const Pool p = pool_of(spec.out[0], spec.in[0], {});
    return make_kernel(0, [p, threads = spec.threads](const Operands& o) {
      const I plane = p.rows.in * p.columns.in, pooled = p.rows.out * p.columns.out;
      const auto* all = o.input<std::int32_t>(1);
      OnStack bad;
      each_block(p, threads, [&](I image, I first, I channels) {
        const T* x = o.input<T>(0) + image * pooled * p.c + first;
        const I begin = image * pooled * p.c + first;
        T* y = o.output<T>(0) + image * plane * p.c + first;
        for (I i = 0; i < plane; ++i) std::fill(y + i * p.c, y + i * p.c + channels, T(0));
        for (I i = 0; i < pooled; ++i) {
          for (I c = 0; c < channels; ++c) {
            const I at = begin + i * p.c + c, index = all[at];
            if (index >= 0 && index < plane)
              y[index * p.c + c] += x[i * p.c + c];
            else
              bad.noted.note(at);
          }
        }
      });
      if (bad.noted.found()) bad_index("max_unpool2d", all[bad.noted.position()], plane);
    });
  });
}

std::unique_ptr<Kernel> pool_gather(const KernelSpec& spec) {
  return if_fast(spec, [&]<typename T>() {
    const Pool p = pool_of(spec.in[0], spec.out[0], {});
    return make_kernel(0, [p, threads = spec.threads](const Operands& o) {
      const I plane = p.rows.in * p.columns.in, pooled = p.rows.out * p.columns.out;
      const auto* all = o.input<std::int32_t>(1);
      OnStack bad;
      each_block(p, threads, [&](I image, I first, I channels) {
        const T* x = o.input<T>(0) + image * plane * p.c + first;
        const I begin = image * pooled * p.c + first;
        T* y = o.output<T>(0) + image * pooled * p.c + first;
        for (I i = 0; i < pooled; ++i) {
          for (I c = 0; c < channels; ++c) {
            const I at = begin + i * p.c + c, index = all[at];
            if (index >= 0 && index < plane)
              y[i * p.c + c] = x[index * p.c + c];
            else
              bad.noted.note(at);
          }
        }
      });
      if (bad.noted.found()) bad_index("max_pool2d_gather", all[bad.noted.position()], plane);
    });
  });
}

std::unique_ptr<Kernel> avg_pool2d(const KernelSpec& spec) {
  return if_fast(spec, [&]<typename T>() {
    const Pool p = pool_of(spec.in[0], spec.out[0], spec.attrs);
    return make_kernel(0, [p, threads = spec.threads](const Operands& o) {
      const I in = p.rows.in * p.columns.in * p.c, out = p.rows.out * p.columns.out * p.c;
      each_block(p, threads, [&](I image, I first, I channels) {
        for (I oh = 0; oh < p.rows.out; ++oh) {
          const Window rows = p.rows.window(oh);
          for (I ow = 0; ow < p.columns.out; ++ow) {
            const Window columns = p.columns.window(ow);
            T sums[kBlock] = {};
            for (I h = rows.begin; h < rows.end; ++h) {
              for (I w = columns.begin; w < columns.end; ++w) {
                const T* from = o.input<T>(0) + image * in + (h * p.columns.in + w) * p.c + first;
                for (I i = 0; i < channels; ++i) sums[i] += from[i];
              }
            }
            const T divisor = static_cast<T>(p.divisor(rows, columns));
            T* to = o.output<T>(0) + image * out + (oh * p.columns.out + ow) * p.c + first;
            for (I i = 0; i < channels; ++i) to[i] = sums[i] / divisor;
          }
        }
      });
    });
  });
}

std::unique_ptr<Kernel> avg_pool2d_backward(const KernelSpec& spec) {
  return if_fast(spec, [&]<typename T>() {
    const Pool p = pool_of(spec.out[0], spec.in[0], spec.attrs);
    return make_kernel(0, [p, threads = spec.threads](const Operands& o) {
      const I in = p.rows.in * p.columns.in * p.c, out = p.rows.out * p.columns.out * p.c;
      each_block(p, threads, [&](I image, I first, I channels) {
        for (I h = 0; h < p.rows.in; ++h) {
          const auto rows = p.rows.windows_of(h);
          for (I w = 0; w < p.columns.in; ++w) {
            const auto columns = p.columns.windows_of(w);
            T sums[kBlock] = {};
            for (I oh = rows[0]; oh < rows[1]; ++oh) {
              for (I ow = columns[0]; ow < columns[1]; ++ow) {
                const T* from = o.input<T>(0) + image * out + (oh * p.columns.out + ow) * p.c + first;
                const T divisor = static_cast<T>(p.divisor(p.rows.window(oh), p.columns.window(ow)));
                for (I i = 0; i < channels; ++i) sums[i] += from[i] / divisor;
              }
            }
            T* to = o.output<T>(0) + image * in + (h * p.columns.in + w) * p.c + first;
            for (I i = 0; i < channels; ++i) to[i] = sums[i];
          }
        }
      });
    });
  });
}

}  // namespace tidemark::kernels
