// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/base/parallel.h"
#include "tidemark/base/random.h"
#include "tidemark/kernels/cpu/rows.h"
#include "tidemark/kernels/for_floats.h"
#include "tidemark/kernels/random_words.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kLanes = kRandomLanes, kGroup = kRandomGroup;
constexpr std::int64_t kGrain = 256 * kGroup;

// Philox4x32-10 for the 16 counters of group `g`, lane by lane so that the compiler's vectors fit: word w of
// counter 16 g + l becomes words[16 w + l].
void draw(const RandomKey& key, std::int64_t g, std::uint32_t* words) {
  std::uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (std::int64_t l = 0; l < kLanes; ++l) {
    const std::uint64_t counter = static_cast<std::uint64_t>(g * kLanes + l);
    x0[l] = static_cast<std::uint32_t>(counter);
    x1[l] = static_cast<std::uint32_t>(counter >> 32);
    x2[l] = static_cast<std::uint32_t>(key.high);
    x3[l] = static_cast<std::uint32_t>(key.high >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(key.key), k1 = static_cast<std::uint32_t>(key.key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * x0[l];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * x2[l];
      const std::uint32_t y0 = static_cast<std::uint32_t>(p1 >> 32) ^ x1[l] ^ k0;
      const std::uint32_t y2 = static_cast<std::uint32_t>(p0 >> 32) ^ x3[l] ^ k1;
      x1[l] = static_cast<std::uint32_t>(p1);
      x3[l] = static_cast<std::uint32_t>(p0);
      x0[l] = y0;
      x2[l] = y2;
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (std::int64_t l = 0; l < kLanes; ++l) {
    words[l] = x0[l];
    words[kLanes + l] = x1[l];
    words[2 * kLanes + l] = x2[l];
    words[3 * kLanes + l] = x3[l];
  }
}

// Elements of a group: one word each for f32 and narrower, two (halves of the group) for f64.
template <typename C>
constexpr std::int64_t kPerGroup = std::is_same_v<C, double> ? kGroup / 2 : kGroup;

template <typename C>
C uniform(const std::uint32_t* words, std::int64_t j) {
  if constexpr (std::is_same_v<C, double>)
    return uniform_double((static_cast<std::uint64_t>(words[j]) << 32) | words[kGroup / 2 + j]);
  else
    return uniform_float(words[j]);
}

// Calls make(words, values) for each group and stores what it made.
template <typename S, typename F>
void fill(const KernelSpec& spec, const Operands& o, const void* key, F make) {
  using C = Compute<S>;
  const std::int64_t n = spec.out[0].type.shape.numel();
  const RandomKey k = random_key(key, spec.attrs.integer("stream"));
  const Draws draws(spec);
  parallel_for(spec.threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    draws.for_groups(begin, end, kPerGroup<C>, [&](std::int64_t at, std::int64_t group, std::int64_t place, std::int64_t count) {
      std::uint32_t words[kGroup];
      C values[kPerGroup<C>];
      draw(k, group, words);
      make(words, values);
      for (std::int64_t j = 0; j < count; ++j) o.output<S>(0)[at + j] = S(values[place + j]);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> random_uniform(const KernelSpec& spec) {
  return for_floats(spec.out[0].type.dtype, 0, [s = spec]<typename S>(const Operands& o) {
    using C = Compute<S>;
    const auto low = static_cast<C>(s.attrs.number("low"));
    const auto high = static_cast<C>(s.attrs.number("high"));
    const C width = high - low, most = std::max(low, largest_below<S>(high));
    fill<S>(s, o, o.in[0], [&](const std::uint32_t* words, C* y) {
      for (std::int64_t j = 0; j < kPerGroup<C>; ++j)
        y[j] = std::min(low + width * uniform<C>(words, j), most);
    });
  });
}

// Box & Muller (1958): two uniforms give two normals, the halves of a group.
std::unique_ptr<Kernel> random_normal(const KernelSpec& spec) {
  return for_floats(spec.out[0].type.dtype, 0, [s = spec]<typename S>(const Operands& o) {
    using C = Compute<S>;
    const auto mean = static_cast<C>(s.attrs.number("mean")),
               deviation = static_cast<C>(s.attrs.number("deviation"));
    constexpr C kTwoPi = static_cast<C>(6.28318530717958647692);
    fill<S>(s, o, o.in[0], [&](const std::uint32_t* words, C* y) {
      constexpr std::int64_t kHalf = kPerGroup<C> / 2;
      for (std::int64_t j = 0; j < kHalf; ++j) {
        const C radius = std::sqrt(C(-2) * scalar::log(C(1) - uniform<C>(words, j)));  // 1 - u is never 0
        const C angle = kTwoPi * uniform<C>(words, kHalf + j);
        if constexpr (std::is_same_v<C, float>) {
          y[j] = mean + deviation * (radius * scalar::f32::cos(angle));
          y[kHalf + j] = mean + deviation * (radius * scalar::f32::sin(angle));
        } else {
          y[j] = mean + deviation * (radius * std::cos(angle));
          y[kHalf + j] = mean + deviation * (radius * std::sin(angle));
        }
      }
    });
  });
}

// One word an element whatever the dtype, so that the mask is the same for all of them.
std::unique_ptr<Kernel> dropout(const KernelSpec& spec) {
  return for_floats(spec.out[0].type.dtype, 0, [s = spec]<typename S>(const Operands& o) {
    using C = Compute<S>;
    const double rate = s.attrs.number("rate");
    const auto below = static_cast<float>(rate);
    const C scale = rate < 1 ? static_cast<C>(1 / (1 - rate)) : C(0);
    const RandomKey key = random_key(o.in[1], s.attrs.integer("stream"));
    const Draws draws(s);
    parallel_for(s.threads, s.out[0].type.shape.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      draws.for_groups(begin, end, kGroup, [&](std::int64_t at, std::int64_t group, std::int64_t place, std::int64_t count) {
        std::uint32_t words[kGroup];
        draw(key, group, words);
        const S* x = o.input<S>(0) + at;
        S* y = o.output<S>(0) + at;
#pragma GCC ivdep
        for (std::int64_t j = 0; j < count; ++j)
          y[j] = S(uniform_float(words[place + j]) < below ? C(0) : widen(x[j]) * scale);
      });
    });
  });
}

}  // namespace tidemark::kernels
