// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/gap_prices.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tidemark::plan {
namespace {

double sum(const std::vector<double>& list, std::int32_t from, std::int32_t last) {
  double total = 0;
  for (std::int32_t i = from; i <= last; ++i) total += list[static_cast<std::size_t>(i - 1)];
  return total;
}

}  // namespace

GapPrices::GapPrices(std::vector<Gap> gaps, std::vector<double> room) : room_(std::move(room)) {
  std::ranges::sort(gaps, {}, [](const Gap& g) { return std::tuple(g.from, g.last, g.seconds / g.bytes); });
  for (const Gap& g : gaps) {
    if (groups_.empty() || groups_.back().from != g.from || groups_.back().last != g.last)
      groups_.push_back({g.from, g.last, {}, {0}, {0}});
    Group& group = groups_.back();
    group.ratio.push_back(g.seconds / g.bytes);
    group.seconds.push_back(group.seconds.back() + g.seconds);
    group.bytes.push_back(group.bytes.back() + g.bytes);
    steepest_ = std::max(steepest_, group.ratio.back());
  }
}

double GapPrices::value(const std::vector<double>& prices) const {
  double value = 0;
  for (const Group& g : groups_) {
    const double price = sum(prices, g.from, g.last);
    const auto cheap = static_cast<std::size_t>(std::ranges::upper_bound(g.ratio, price) - g.ratio.begin());
    value += g.seconds[cheap] + price * (g.bytes.back() - g.bytes[cheap]);
  }
  for (std::size_t i = 0; i < room_.size(); ++i) value -= prices[i] * room_[i];
  return value;
}

double GapPrices::slope(const std::vector<double>& prices, const std::vector<double>& direction) const {
  double slope = 0;
  for (const Group& g : groups_) {
    const double up = sum(direction, g.from, g.last);
    if (up == 0) continue;
    const double price = sum(prices, g.from, g.last);
    const auto cheap =
        up > 0 ? std::ranges::upper_bound(g.ratio, price) : std::ranges::lower_bound(g.ratio, price);
    slope += up * (g.bytes.back() - g.bytes[static_cast<std::size_t>(cheap - g.ratio.begin())]);
  }
  for (std::size_t i = 0; i < room_.size(); ++i) slope -= direction[i] * room_[i];
  return slope;
}

// As far as it goes up along the direction, or along the opposite one: the slope only falls.
bool GapPrices::rise(std::vector<double>& prices, const std::vector<double>& direction) const {
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> along = direction;
    double most = 2 * steepest_ * static_cast<double>(prices.size());
    for (std::size_t i = 0; i < along.size(); ++i) {
      along[i] *= sign;
      if (along[i] < 0) most = std::min(most, prices[i] / -along[i]);
    }
    if (!(most > 0) || slope(prices, along) <= 0) continue;
    const auto moved = [&](double step) {
      std::vector<double> to = prices;
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(0.0, to[i] + step * along[i]);
      return to;
    };
    // Down to the right scale first: ratios may differ by any factor.
    constexpr double kScale = 1024;
    double high = most;
    for (int k = 0; k < 60 && slope(moved(high / kScale), along) <= 0; ++k) high /= kScale;
    double low = high / kScale;
    for (int halved = 0; halved < 50; ++halved) {
      const double middle = low + (high - low) / 2;
      (slope(moved(middle), along) > 0 ? low : high) = middle;
    }
    std::vector<double> to = moved(high);
    if (!(value(to) > value(prices))) continue;
    prices = std::move(to);
    return true;
  }
  return false;
}

std::vector<double> GapPrices::best() const {
  constexpr int kRounds = 60;
  constexpr double kWorth = 1e-4;  // of what is proven: less ends it
  const std::size_t k = room_.size();
  std::vector<double> prices(k, 0.0), direction(k, 0.0);
  double had = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < k; ++i) {
      direction[i] = 1;
      rise(prices, direction);
      // From another moment to this one: at a corner neither of them goes up alone.
      for (std::size_t j = 0; j < k; ++j) {
        if (j == i || prices[j] <= 0) continue;
        direction[j] = -1;
        rise(prices, direction);
        direction[j] = 0;
      }
      direction[i] = 0;
    }
    const double now = value(prices);
    if (now <= had * (1 + kWorth)) break;
    had = now;
  }
  return prices;
}

}  // namespace tidemark::plan
