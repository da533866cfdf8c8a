// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/random.h"

#include <algorithm>

#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/for_floats.h"
#include "tidemark/kernels/random_words.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;
template <typename S>
using Wide = std::conditional_t<std::is_same_v<S, double>, double, float>;

std::uint32_t word(const RandomKey& key, I group, I number) {
  const auto counter = static_cast<std::uint64_t>(group * kRandomLanes + number % kRandomLanes);
  return Philox::block(key.key, counter, key.high)[static_cast<std::size_t>(number / kRandomLanes)];
}

// An f64 takes two words, which lie half a group apart.
template <typename C>
constexpr I kElements = std::is_same_v<C, double> ? kRandomGroup / 2 : kRandomGroup;

template <typename C>
C uniform(const RandomKey& key, I group, I j) {
  if constexpr (std::is_same_v<C, double>)
    return uniform_double((static_cast<std::uint64_t>(word(key, group, j)) << 32) |
                          word(key, group, kRandomGroup / 2 + j));
  else
    return uniform_float(word(key, group, j));
}

}  // namespace

std::unique_ptr<Kernel> random_uniform_reference(const KernelSpec& spec) {
  return for_floats(spec.out[0].type.dtype, 0, [s = spec]<typename S>(const Operands& o) {
    using C = Wide<S>;
    const auto low = static_cast<C>(s.attrs.number("low")), high = static_cast<C>(s.attrs.number("high"));
    const RandomKey key = random_key(o.in[0], s.attrs.integer("stream"));
    const Draws draws(s);
    for (I i = 0; i < s.out[0].type.shape.numel(); ++i) {
      const C y = low + (high - low) * uniform<C>(key, draws[i] / kElements<C>, draws[i] % kElements<C>);
      o.output<S>(0)[i] = S(std::min(y, std::max(low, largest_below<S>(high))));
    }
  });
}

// Box & Muller (1958): elements half a group apart are the two coordinates of one point.
std::unique_ptr<Kernel> random_normal_reference(const KernelSpec& spec) {
  return for_floats(spec.out[0].type.dtype, 0, [s = spec]<typename S>(const Operands& o) {
    using C = Wide<S>;
    constexpr I half = kElements<C> / 2;
    const double mean = s.attrs.number("mean"), deviation = s.attrs.number("deviation");
    const RandomKey key = random_key(o.in[0], s.attrs.integer("stream"));
    const Draws draws(s);
    for (I i = 0; i < s.out[0].type.shape.numel(); ++i) {
      const I group = draws[i] / kElements<C>, j = draws[i] % kElements<C>;
      const double u = uniform<C>(key, group, j % half), v = uniform<C>(key, group, half + j % half);
      const double radius = std::sqrt(-2 * std::log(1 - u)), angle = 6.28318530717958647692 * v;
      o.output<S>(0)[i] =
          store<S>(mean + deviation * radius * (j < half ? std::cos(angle) : std::sin(angle)));
    }
  });
}

std::unique_ptr<Kernel> dropout_reference(const KernelSpec& spec) {
  return for_floats(spec.out[0].type.dtype, 0, [s = spec]<typename S>(const Operands& o) {
    using C = Wide<S>;
    const double rate = s.attrs.number("rate");
    const C scale = rate < 1 ? static_cast<C>(1 / (1 - rate)) : C(0);
    const RandomKey key = random_key(o.in[1], s.attrs.integer("stream"));
    const Draws draws(s);
    for (I i = 0; i < s.out[0].type.shape.numel(); ++i) {
      const float u = uniform_float(word(key, draws[i] / kRandomGroup, draws[i] % kRandomGroup));
      const C x = static_cast<C>(load(o.input<S>(0)[i]));
      o.output<S>(0)[i] = S(u < static_cast<float>(rate) ? C(0) : x * scale);
    }
  });
}

}  // namespace tidemark::kernels
