// Prices of a byte at several moments that prove much over given gaps. Part of gap_bound. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tidemark::plan {

// Of prices p >= 0: the sum over gaps of min(seconds, bytes x (the sum of p over the gap)) - the sum over moments of p x room. Gaps
// from the same moment to the same are sorted by seconds a byte once; then a look at a price takes a search in each such group.
class GapPrices {
 public:
  struct Gap {
    std::int32_t from, last;  // moments, from 1 on
    double seconds, bytes;
  };
  // `room`: bytes that may be stored at each moment.
  GapPrices(std::vector<Gap> gaps, std::vector<double> room);

  // Where no line up leads from any more, along the price of a moment or from one to another: at two moments that is the most, at more of them nearly
  // so where there are many gaps.
  std::vector<double> best() const;
  double value(const std::vector<double>& prices) const;

 private:
  struct Group {
    std::int32_t from, last;
    std::vector<double> ratio;           // rising, in seconds a byte
    std::vector<double> seconds, bytes;  // sums over those before
  };
  // By how much the value grows along a direction, from just behind the prices on.
  double slope(const std::vector<double>& prices, const std::vector<double>& direction) const;
  bool rise(std::vector<double>& prices, const std::vector<double>& direction) const;

  std::vector<Group> groups_;
  std::vector<double> room_;
  double steepest_ = 0;  // of all ratios
};

}  // namespace tidemark::plan
