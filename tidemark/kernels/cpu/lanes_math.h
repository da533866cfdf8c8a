// exp and max on Lanes, for kernels that take them inside their tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/cpu/lanes.h"

namespace tidemark::kernels {

template <typename T>
Lanes<T> max(Lanes<T> a, Lanes<T> b) {
  return {a.v > b.v ? a.v : b.v};
}

template <typename T>
struct ExpTable;
template <>
struct ExpTable<float> {
  using Bits = std::uint32_t;
  static constexpr float low = -87.0f, high = 88.0f, magic = 12582912.0f;  // 1.5 * 2^23
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr int shift = 23;
  // Cephes expf: exp(r) = 1 + r + r^2 p(r) on |r| <= ln(2) / 2.
  static constexpr float terms[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                    4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
};
template <>
struct ExpTable<double> {
  using Bits = std::uint64_t;
  static constexpr double low = -708.0, high = 709.0, magic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr int shift = 52;
  // Taylor: the first term left out is below 4e-18.
  static constexpr double terms[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                     1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                     1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
};

// exp(x), within two units in the last place; 0 below the smallest normal number, so that exp(-inf) is 0; NaN
// stays.
template <typename T>
Lanes<T> exp(Lanes<T> x) {
  using E = ExpTable<T>;
  using V = Lanes<T>;
  typedef typename E::Bits Integers __attribute__((vector_size(kLaneBytes), may_alias));
  const auto tiny = (Integers)(x.v < E::low);
  const typename V::Vector bounded = x.v > E::high ? V::all(E::high).v : x.v;
  const V magic = V::all(E::magic);
  const V shifted = multiply_add(V{bounded}, V::all(static_cast<T>(1.44269504088896340736)), magic);
  const V n = shifted - magic;
  V r = multiply_add(n, V::all(-E::ln2_high), V{bounded});
  r = multiply_add(n, V::all(-E::ln2_low), r);
  V p = V::all(E::terms[0]);
  for (std::size_t i = 1; i < sizeof(E::terms) / sizeof(T); ++i) p = multiply_add(p, r, V::all(E::terms[i]));
  p = multiply_add(p, r * r, r + V::all(T(1)));
  Integers bits;
  std::memcpy(&bits, &p.v, sizeof(bits));
  Integers exponent, bias;
  std::memcpy(&exponent, &shifted.v, sizeof(exponent));
  std::memcpy(&bias, &magic.v, sizeof(bias));
  bits += (exponent - bias) << E::shift;
  bits &= ~tiny;
  V result;
  std::memcpy(&result.v, &bits, sizeof(bits));
  return result;
}

}  // namespace tidemark::kernels
