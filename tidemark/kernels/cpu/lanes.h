// One register of the widest vectors that the build's instruction set has, as a value. The products' inner
// loops are written with it: multiply-add is named, since contraction by the compiler is off everywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tidemark::kernels {

#if defined(__AVX512F__)
inline constexpr int kLaneBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kLaneBytes = 32;
#else
inline constexpr int kLaneBytes = 16;
#endif

template <typename T>
inline constexpr int kLanes = kLaneBytes / static_cast<int>(sizeof(T));

template <typename T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kLaneBytes), may_alias));
  Vector v;

  static Lanes zero() { return {Vector{}}; }
  static Lanes all(T x) { return {x - Vector{}}; }
  static Lanes load(const T* p) {
    Lanes r;
    std::memcpy(&r.v, p, sizeof(r.v));
    return r;
  }
  void store(T* p) const { std::memcpy(p, &v, sizeof(v)); }
  // Past the caches; p is aligned. Other threads see it after settle_streams().
  void stream(T* p) const {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#else
    store(p);
#endif
  }
  friend Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
  friend Lanes operator-(Lanes a, Lanes b) { return {a.v - b.v}; }
  friend Lanes operator*(Lanes a, Lanes b) { return {a.v * b.v}; }
};

inline void settle_streams() {
#if defined(__AVX512F__)
  _mm_sfence();
#endif
}

// a * b + c, rounded once where the instruction set can.
inline Lanes<float> multiply_add(Lanes<float> a, Lanes<float> b, Lanes<float> c) {
#if defined(__AVX512F__)
  return {(Lanes<float>::Vector)_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v)};
#elif defined(__AVX2__) && defined(__FMA__)
  return {(Lanes<float>::Vector)_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v)};
#else
  return a * b + c;
#endif
}
inline Lanes<double> multiply_add(Lanes<double> a, Lanes<double> b, Lanes<double> c) {
#if defined(__AVX512F__)
  return {(Lanes<double>::Vector)_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v)};
#elif defined(__AVX2__) && defined(__FMA__)
  return {(Lanes<double>::Vector)_mm256_fmadd_pd((__m256d)a.v, (__m256d)b.v, (__m256d)c.v)};
#else
  return a * b + c;
#endif
}

// The same of one element, for the tail of a vector: tail and body agree bit for bit.
template <typename T>
inline T fused(T a, T b, T c) {
#if defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace tidemark::kernels
