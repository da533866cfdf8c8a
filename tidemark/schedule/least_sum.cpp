// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/least_sum.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tidemark::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

typedef double Two __attribute__((vector_size(16)));
typedef double Quad __attribute__((vector_size(32)));

// Four running minima, as one would wait for itself; a minimum has the same bits in any order.
template <typename Vec>
__attribute__((always_inline)) inline double least_sum_of(const double* a, const double* b, std::int64_t n) {
  constexpr std::int64_t kWidth = sizeof(Vec) / sizeof(double);
  Vec least[4];
  for (Vec& v : least) v = Vec{} + kNever;
  std::int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth)
    for (int k = 0; k < 4; ++k) {
      Vec x, y;
      std::memcpy(&x, a + i + k * kWidth, sizeof(Vec));
      std::memcpy(&y, b + i + k * kWidth, sizeof(Vec));
      x += y;
      least[k] = x < least[k] ? x : least[k];
    }
  double out = kNever;
  for (const Vec& v : least)
    for (std::int64_t k = 0; k < kWidth; ++k) out = std::min(out, v[k]);
  for (; i < n; ++i) out = std::min(out, a[i] + b[i]);
  return out;
}
double least_sum_plain(const double* a, const double* b, std::int64_t n) {
  return least_sum_of<Two>(a, b, n);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) double least_sum_avx2(const double* a, const double* b, std::int64_t n) {
  return least_sum_of<Quad>(a, b, n);
}
}  // namespace

double least_sum(const double* a, const double* b, std::int64_t n) {
  return __builtin_cpu_supports("avx2") ? least_sum_avx2(a, b, n) : least_sum_plain(a, b, n);
}
#else
}  // namespace

double least_sum(const double* a, const double* b, std::int64_t n) { return least_sum_plain(a, b, n); }
#endif

}  // namespace tidemark::schedule
