// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/conv.h"

#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/conv_shape.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

I x_at(const Conv& c, I n, I channel, I h, I w) {
  return n * c.x[0] + channel * c.x[1] + h * c.x[2] + w * c.x[3];
}
I y_at(const Conv& c, I n, I channel, I h, I w) {
  return n * c.y[0] + channel * c.y[1] + h * c.y[2] + w * c.y[3];
}
I w_at(const Conv& c, I o, I i, I r, I s) { return ((o * c.group_c() + i) * c.kh + r) * c.kw + s; }

// The input row that tap r of output row oh reads; outside [0, h): padding.
I row_of(const Conv& c, I oh, I r) { return oh * c.stride_h - c.pad_h + r * c.dilation_h; }
I column_of(const Conv& c, I ow, I s) { return ow * c.stride_w - c.pad_w + s * c.dilation_w; }

template <typename T>
void forward(const Conv& c, const T* x, const T* w, T* y) {
  for (I n = 0; n < c.n; ++n) {
    for (I o = 0; o < c.o; ++o) {
      const I first = o * c.groups / c.o * c.group_c();
      for (I oh = 0; oh < c.oh; ++oh) {
        for (I ow = 0; ow < c.ow; ++ow) {
          double sum = 0;
          for (I i = 0; i < c.group_c(); ++i) {
            for (I r = 0; r < c.kh; ++r) {
              const I h = row_of(c, oh, r);
              if (h < 0 || h >= c.h) continue;
              for (I s = 0; s < c.kw; ++s) {
                const I v = column_of(c, ow, s);
                if (v < 0 || v >= c.w) continue;
                sum += static_cast<double>(load(x[x_at(c, n, first + i, h, v)])) *
                       static_cast<double>(load(w[w_at(c, o, i, r, s)]));
              }
            }
          }
          y[y_at(c, n, o, oh, ow)] = store<T>(sum);
        }
      }
    }
  }
}

template <typename T>
void backward_data(const Conv& c, const T* y, const T* w, T* x) {
  for (I n = 0; n < c.n; ++n) {
    for (I channel = 0; channel < c.c; ++channel) {
      const I group = channel * c.groups / c.c, i = channel - group * c.group_c();
      for (I h = 0; h < c.h; ++h) {
        for (I v = 0; v < c.w; ++v) {
          double sum = 0;
          for (I r = 0; r < c.kh; ++r) {
            const I th = h + c.pad_h - r * c.dilation_h;
            if (th < 0 || th % c.stride_h != 0 || th / c.stride_h >= c.oh) continue;
            for (I s = 0; s < c.kw; ++s) {
              const I tw = v + c.pad_w - s * c.dilation_w;
              if (tw < 0 || tw % c.stride_w != 0 || tw / c.stride_w >= c.ow) continue;
              for (I q = 0; q < c.group_o(); ++q) {
                const I o = group * c.group_o() + q;
                sum += static_cast<double>(load(y[y_at(c, n, o, th / c.stride_h, tw / c.stride_w)])) *
                       static_cast<double>(load(w[w_at(c, o, i, r, s)]));
              }
            }
          }
          x[x_at(c, n, channel, h, v)] = store<T>(sum);
        }
      }
    }
  }
}

template <typename T>
void backward_weights(const Conv& c, const T* x, const T* y, T* w) {
  for (I o = 0; o < c.o; ++o) {
    const I first = o * c.groups / c.o * c.group_c();
    for (I i = 0; i < c.group_c(); ++i) {
      for (I r = 0; r < c.kh; ++r) {
        for (I s = 0; s < c.kw; ++s) {
          double sum = 0;
          for (I n = 0; n < c.n; ++n) {
            for (I oh = 0; oh < c.oh; ++oh) {
              const I h = row_of(c, oh, r);
              if (h < 0 || h >= c.h) continue;
              for (I ow = 0; ow < c.ow; ++ow) {
                const I v = column_of(c, ow, s);
                if (v < 0 || v >= c.w) continue;
                sum += static_cast<double>(load(x[x_at(c, n, first + i, h, v)])) *
                       static_cast<double>(load(y[y_at(c, n, o, oh, ow)]));
              }
            }
          }
          w[w_at(c, o, i, r, s)] = store<T>(sum);
        }
      }
    }
  }
}

std::unique_ptr<Kernel> prepare_plain(const KernelSpec& spec, ConvResult result) {
  return dispatch(spec.out[0].type.dtype, [&]<typename T>() -> std::unique_ptr<Kernel> {
    if constexpr (!is_float(dtype_of<T>())) {
      return nullptr;
    } else {
      return make_kernel(0, [c = conv_of(spec, result), result](const Operands& o) {
        const T *a = o.input<T>(0), *b = o.input<T>(1);
        if (result == ConvResult::y) forward(c, a, b, o.output<T>(0));
        if (result == ConvResult::x) backward_data(c, a, b, o.output<T>(0));
        if (result == ConvResult::w) backward_weights(c, a, b, o.output<T>(0));
      });
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> conv2d_reference(const KernelSpec& spec) {
  return prepare_plain(spec, ConvResult::y);
}
std::unique_ptr<Kernel> conv2d_backward_data_reference(const KernelSpec& spec) {
  return prepare_plain(spec, ConvResult::x);
}
std::unique_ptr<Kernel> conv2d_backward_weights_reference(const KernelSpec& spec) {
  return prepare_plain(spec, ConvResult::w);
}

}  // namespace tidemark::kernels
