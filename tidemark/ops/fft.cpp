// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/fft.h"

#include <cmath>

#include "tidemark/ir/cut.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

std::vector<Type> infer_fft(const InferArgs& a) {
  require_wide_float(a, 0);
  if (type_of(a, 0) != type_of(a, 1)) {
    fail(Error::Kind::usage, "[fft] real part {} vs imaginary part {}", to_string(type_of(a, 0)), to_string(type_of(a, 1)));
  }
  if (type_of(a, 0).shape.rank() == 0) fail(Error::Kind::usage, "[fft] a scalar has no axis to transform");
  return {type_of(a, 0), type_of(a, 0)};
}

const Op& fft_op();

Complex transform(const Complex& x, bool inverse, Where where) {
  const DType dtype = x.re.dtype();
  if (is_narrow(dtype) && x.im.dtype() == dtype) {
    const Called called("fft", where);
    const Complex wide = transform({cast(x.re, DType::f32, where), cast(x.im, DType::f32, where)}, inverse, where);
    return {cast(wide.re, dtype, where), cast(wide.im, dtype, where)};
  }
  const Tensors y = apply(fft_op(), std::vector<Tensor>{x.re, x.im}, {{"inverse", std::int64_t{inverse}}}, where);
  return {y[0], y[1]};
}

const Op& fft_op() {
  static const Op op{
      .name = "fft",
      .doc =
          "The discrete Fourier transform along the last axis, of a pair of real arrays; `inverse` divides "
          "by n.",
      .infer = infer_fft,
      // The adjoint of F is n F^-1, and that of F^-1 is F / n.
      .vjp =
          [](const Rule& r) {
            const bool inverse = r.attrs().flag("inverse");
            const auto n = static_cast<double>(r.x().size(-1));
            const Complex g = transform({r.ct(0), r.ct(1)}, !inverse, Where::current());
            const double scale = inverse ? 1 / n : n;
            return Tensors{g.re * scale, g.im * scale};
          },
      .jvp =
          [](const Rule& r) {
            const Complex d = transform({r.dx(0), r.dx(1)}, r.attrs().flag("inverse"), Where::current());
            return Tensors{d.re, d.im};
          },
      .cut = [](const CutArgs& a) { return cut_in_front(a, 1); },
      .cost =
          [](const KernelSpec& spec) {
            const auto n = static_cast<double>(spec.in[0].type.shape[-1]);
            return Cost{.flops = 5 * static_cast<double>(spec.in[0].type.shape.numel()) * std::log2(n + 1), .bytes = 4.0 * static_cast<double>(spec.in[0].type.bytes())};
          },
      .reference = kernels::fft,
      .samples =
          [] {
            std::vector<Sample> samples;
            for (const std::int64_t inverse : {0, 1}) {
              for (const Shape& shape : {Shape{8}, Shape{3, 5}, Shape{2, 12}, Shape{1}, Shape{0, 4}}) {
                samples.push_back({.in = {{shape, DType::f64}, {shape, DType::f64}}, .attrs = {{"inverse", inverse}}, .tolerance = 10});
              }
            }
            return samples;
          },
  };
  return op;
}

}  // namespace

Complex fft(const Complex& x, Where where) { return transform(x, false, where); }
Complex ifft(const Complex& x, Where where) { return transform(x, true, where); }

Complex rfft(const Tensor& x, Where where) {
  const Called called("rfft", where);
  const Complex all = fft({x, zeros_like(x, where)}, where);
  const std::int64_t kept = x.size(-1) / 2 + 1;
  return {slice(all.re, -1, 0, kept, 1, where), slice(all.im, -1, 0, kept, 1, where)};
}

Tensor irfft(const Complex& x, std::int64_t n, Where where) {
  const Called called("irfft", where);
  if (n < 1 || x.re.size(-1) != n / 2 + 1) {
    fail(Error::Kind::usage, "[irfft] {} frequencies vs {} for a signal of {}", x.re.size(-1), n / 2 + 1, n);
  }
  // The other half of the spectrum of a real signal is the conjugate, backwards.
  const std::int64_t mirrored = n - (n / 2 + 1);
  if (mirrored == 0) return ifft(x, where).re;
  const Tensor re = flip(slice(x.re, -1, 1, 1 + mirrored, 1, where), -1, where);
  const Tensor im = flip(slice(x.im, -1, 1, 1 + mirrored, 1, where), -1, where);
  return ifft({concat({x.re, re}, -1, where), concat({x.im, -im}, -1, where)}, where).re;
}

OpList fft_ops() {
  static const Op* const list[] = {&fft_op()};
  return list;
}

}  // namespace tidemark
