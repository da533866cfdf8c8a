// Orders in which the exact search prefers items. Its running times are heavy-tailed: what one order does not
// solve in minutes another solves in milliseconds, so many are tried for a short time each. Internal to pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/plan/pack_items.h"

namespace tidemark::plan::packing {

class Orders {
 public:
  explicit Orders(const Items& items);
  // The rank of each item in the order of this number: a proven list first, then random mixtures, without
  // end.
  std::vector<std::int32_t> rank(std::int64_t number) const;
  static constexpr std::int64_t kNamed = 12;
  // First what weighs most (where the search failed), then by two features that the number draws.
  std::vector<std::int32_t> rank(std::int64_t number, std::span<const double> weights) const;

 private:
  // Most bytes live at a moment of its life, length of life in time and in sections, both times height, how
  // many others it meets, height.
  enum Feature : std::uint8_t { total, span, area, sections, section_area, meets, height };
  static constexpr std::size_t kFeatures = 7;
  using Key = std::array<double, 3>;
  static std::vector<std::int32_t> ranked(const std::vector<Key>& keys);  // the largest key first
  std::vector<std::array<double, kFeatures>> features_;
};

}  // namespace tidemark::plan::packing
