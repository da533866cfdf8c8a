// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_orders.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tidemark/base/random.h"

namespace tidemark::plan::packing {

Orders::Orders(const Items& items) : features_(items.items.size()) {
  // meets = all items - those that end before it begins - those that begin after it ends
  const auto moments = static_cast<std::size_t>(items.sections()) + 2;
  std::vector<double> begun(moments, 0), ended(moments, 0);
  for (const Item& i : items.items) {
    ++begun[static_cast<std::size_t>(i.begin) + 1];
    ++ended[static_cast<std::size_t>(i.end) + 1];
  }
  for (std::size_t s = 1; s < moments; ++s) {
    begun[s] += begun[s - 1];
    ended[s] += ended[s - 1];
  }
  for (std::size_t i = 0; i < features_.size(); ++i) {
    const Item& item = items.items[i];
    const auto begin = static_cast<std::size_t>(item.begin), end = static_cast<std::size_t>(item.end);
    const double time = static_cast<double>(items.moments[end]) - static_cast<double>(items.moments[begin]);
    const double h = static_cast<double>(item.height), length = static_cast<double>(end - begin);
    features_[i] = {static_cast<double>(item.most), time, time * h, length, length * h,
                    begun[end] - ended[begin + 1],  h};
  }
}

std::vector<std::int32_t> Orders::rank(std::int64_t number) const {
  static constexpr std::array<std::array<Feature, 3>, kNamed> named{{{total, span, area},
                                                                     {total, meets, height},
                                                                     {section_area, sections, total},
                                                                     {span, area, total},
                                                                     {total, sections, section_area},
                                                                     {total, area, span},
                                                                     {total, height, span},
                                                                     {total, section_area, sections},
                                                                     {area, span, total},
                                                                     {sections, section_area, total},
                                                                     {meets, height, total},
                                                                     {height, total, sections}}};
  const std::size_t n = features_.size();
  std::vector<Key> keys(n);
  Rng rng(static_cast<std::uint64_t>(number) * 1000003);
  const std::int64_t mode = number < kNamed ? -1 : rng.below(3);
  if (mode <= 0) {
    // Lexicographic, the random ones often with the busiest moment first and sometimes blurred.
    std::array<Feature, 3> by{};
    double blur = 0;
    if (mode == -1) {
      by = named[static_cast<std::size_t>(number)];
    } else {
      for (Feature& f : by) f = static_cast<Feature>(rng.below(kFeatures));
      if (rng.below(2) == 0) by[0] = total;
      if (rng.below(2) == 0) blur = 0.1 * rng.uniform();
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < 3; ++k)
        keys[i][k] = features_[i][by[k]] * (blur > 0 ? 1 + blur * rng.uniform() : 1);
  } else {
    // A product of powers.
    std::array<double, kFeatures> power{};
    for (double& p : power) p = rng.below(2) == 0 ? 0 : rng.uniform();
    if (mode == 1) power[total] = 10 * rng.uniform();
    const double blur = 0.3 * rng.uniform();
    for (std::size_t i = 0; i < n; ++i) {
      keys[i][0] = blur * rng.uniform();
      for (std::size_t f = 0; f < kFeatures; ++f)
        if (power[f] > 0) keys[i][0] += power[f] * std::log(features_[i][f]);
    }
  }
  return ranked(keys);
}

std::vector<std::int32_t> Orders::rank(std::int64_t number, std::span<const double> weights) const {
  Rng rng(static_cast<std::uint64_t>(number) * 1000003);
  const auto a = static_cast<std::size_t>(rng.below(kFeatures)),
             b = static_cast<std::size_t>(rng.below(kFeatures));
  std::vector<Key> keys(features_.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = {weights[i], features_[i][a], features_[i][b]};
  return ranked(keys);
}

std::vector<std::int32_t> Orders::ranked(const std::vector<Key>& keys) {
  const std::size_t n = keys.size();
  std::vector<std::int32_t> order(n), out(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return keys[static_cast<std::size_t>(a)] > keys[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < n; ++i) out[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  return out;
}

}  // namespace tidemark::plan::packing
