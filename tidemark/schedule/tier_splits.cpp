// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/tier_splits.h"

#include <algorithm>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/schedule/least_sum.h"

namespace tidemark::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// More places than this change the splits of a grid little, and every one is a table.
constexpr std::int64_t kMostLayers = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// With m places, by units of steps, copies at what steps beside them do not hide:
//   B_m(y) = min(leaf(y), K_{m-1}(y))                            from a state just made, and back at the state before it;
//   R_m(l) = min(leaf(l), min over x of x + B_m(l - x) + R_m(x)) from a state in memory, with the read of the one before it;
//   K_m(l) = the same, and beside its beginning the state is written;
//   F_m(l) = min(last(l), min over x of x + F_{m-1}(l - x) + R_m(x)) for the end of the loop, where the first sweep does the advancing and
//            writes every state.
class Table {
 public:
  Table(std::int64_t steps, std::int64_t places, const TierPrices& prices, std::int64_t grid)
      : p_(prices), unit_((steps + grid - 1) / grid), n_((steps + unit_ - 1) / unit_) {
    leaf_.assign(at(n_ + 1), 0);
    last_.resize(at(n_ + 1));
    const std::int64_t behind = n_ * unit_ - steps;  // the last unit is that much shorter
    for (std::int64_t l = 1; l <= n_; ++l)
      leaf_[at(l)] = p_.leaf(l * unit_), last_[at(l)] = p_.last(l * unit_ - behind);
    const Layer none{.kept = never(), .first = never()};
    // With a place for every unit a layer is its own: the states behind a split have as many places as those before it.
    unlimited_ = places >= n_;
    const std::int64_t most = unlimited_ ? 0 : std::min(places, kMostLayers);
    for (std::int64_t m = 0; m <= most; ++m) {
      Layer next = solve(unlimited_ ? nullptr : m == 0 ? &none : &layers_.back());
      if (m > 0 && next.again == layers_.back().again && next.first == layers_.back().first) break;
      layers_.push_back(std::move(next));
    }
  }

  TierSplits splits() const {
    TierSplits list;
    expand(static_cast<std::int64_t>(layers_.size()) - 1, n_, How::first, list);
    return list;
  }

 private:
  struct Layer {
    std::vector<double> behind, again, kept, first;   // B, R, K, F
    std::vector<double> x_again, x_kept, x_first;     // of x steps and what is before the split, by x
    std::vector<double> behind_turned, first_turned;  // of what is behind it: sums run upwards in both
  };
  enum class How : std::uint8_t { again, kept, first };

  std::vector<double> never() const { return std::vector<double>(at(n_ + 1), kNever); }
  std::size_t turned(std::int64_t l) const { return at(n_ - l); }
  double wait(double copy, double beside) const { return p_.hidden ? std::max(0.0, copy - beside) : copy; }
  // A leaf from a state just made; the one before it is still there, where there are two places.
  double leaf_behind(std::int64_t l) const { return leaf_[at(l)] + (p_.hidden ? 0 : p_.read); }

  // `fewer`: the layer with a place less; null: this one.
  Layer solve(const Layer* fewer) const {
    Layer out{never(), never(), never(), never(), never(), never(), never(), never(), never()};
    const auto settle = [&](std::int64_t l, const Layer& less) {
      out.behind[at(l)] = out.behind_turned[turned(l)] = std::min(leaf_behind(l), less.kept[at(l)]);
      out.first_turned[turned(l)] = less.first[at(l)];
    };
    for (std::int64_t l = 1; fewer != nullptr && l <= n_; ++l) settle(l, *fewer);
    for (std::int64_t l = 1; l <= n_; ++l) {
      const auto least = [&](const std::vector<double>& x, const std::vector<double>& rest) {
        return least_sum(&x[1], &rest[turned(l) + 1], l - 1);
      };
      const double leaf = leaf_[at(l)] + wait(p_.read, leaf_[at(l)]);
      out.again[at(l)] = std::min(leaf, least(out.x_again, out.behind_turned));
      out.kept[at(l)] = std::min(leaf + wait(p_.write, leaf_[at(l)]), least(out.x_kept, out.behind_turned));
      out.first[at(l)] = std::min(last(l), least(out.x_first, out.first_turned));
      const double steps = static_cast<double>(l * unit_);
      out.x_again[at(l)] = steps * p_.advance + out.again[at(l)];
      out.x_kept[at(l)] = out.x_again[at(l)] + wait(p_.write, steps * p_.advance);
      out.x_first[at(l)] = steps * p_.body + wait(p_.write, steps * p_.body) + out.again[at(l)];
      if (fewer == nullptr) settle(l, out);
    }
    return out;
  }
  double last(std::int64_t l) const {
    const auto& [first, rest] = last_[at(l)];
    return first + wait(p_.write, first) + rest + wait(p_.read, rest);
  }

  void expand(std::int64_t m, std::int64_t l, How how, TierSplits& list) const {
    const Layer& layer = layers_[at(m)];
    for (;; how = How::again) {
      const bool first = how == How::first;
      const std::vector<double>& best = first ? layer.first : how == How::kept ? layer.kept : layer.again;
      const std::vector<double>& x_sum = first              ? layer.x_first
                                         : how == How::kept ? layer.x_kept
                                                            : layer.x_again;
      const std::vector<double>& rest = first ? layer.first_turned : layer.behind_turned;
      std::int64_t x = 1;
      while (x < l && x_sum[at(x)] + rest[turned(l - x)] != best[at(l)]) ++x;
      if (x == l) return list.push_back(0);
      const bool keep = first || layer.behind[at(l - x)] < leaf_behind(l - x);
      list.push_back(keep ? x * unit_ : -x * unit_);
      if (keep) expand(unlimited_ ? m : m - 1, l - x, first ? How::first : How::kept, list);
      l = x;
    }
  }

  TierPrices p_;
  std::int64_t unit_, n_;
  std::vector<double> leaf_;
  std::vector<TierPrices::Last> last_;
  bool unlimited_ = false;
  std::vector<Layer> layers_;  // by places
};

// Two places in memory by way of which states go out and come in, and the moments at which streams and places are free.
class Clock {
 public:
  explicit Clock(const TierPrices& prices) : p_(prices) {}
  double now = 0;

  // A state has been made in memory beside the one at `other`; it is that of `step`.
  void made(std::int64_t step, std::int64_t other) {
    const std::size_t b = p_.hidden && holds_[0] == other ? 1 : 0;
    now = std::max(now, busy_[b]);
    holds_[b] = step;
  }
  void write(std::int64_t step, std::size_t place) {
    if (!p_.hidden) {
      now += p_.write;
      return;
    }
    const std::size_t b = holds_[0] == step ? 0 : 1;
    if (written_.size() <= place) written_.resize(place + 1);
    busy_[b] = written_[place] = out_ = std::max(now, out_) + p_.write;
  }
  // Starts to bring a state in, unless it is there, beside the one at `other`.
  void read(std::int64_t step, std::size_t place, std::int64_t other) {
    if (holds_[0] == step || holds_[1] == step) return;
    if (!p_.hidden) {
      now += p_.read;
      return;
    }
    const std::size_t b = holds_[0] == other ? 1 : 0;
    holds_[b] = step;
    now = std::max({now, busy_[b], written_[place]});
    busy_[b] = in_ = std::max(now, in_) + p_.read;
  }
  void wait(std::int64_t step) {
    if (p_.hidden) now = std::max(now, busy_[holds_[0] == step ? 0 : 1]);
  }
  // The steps of a leaf have gone over the working state, where that is the only place in memory.
  void leaf(double seconds) {
    now += seconds;
    if (!p_.hidden) holds_[0] = -1;
  }
  void wait_for_all() { now = std::max({now, busy_[0], busy_[1]}); }
  void restart() {
    holds_[0] = holds_[1] = -1;
    now = out_ = in_ = busy_[0] = busy_[1] = 0;
    std::fill(written_.begin(), written_.end(), 0.0);
  }

 private:
  const TierPrices& p_;
  std::int64_t holds_[2] = {-1, -1};
  double busy_[2] = {0, 0};
  std::vector<double> written_;
  double out_ = 0, in_ = 0;
};

}  // namespace

TierSplits equal_splits(std::int64_t steps, std::int64_t period) {
  const std::int64_t kept = (steps - 1) / period;
  TierSplits list(at(kept), period);
  list.resize(at(2 * kept + 1), 0);
  return list;
}

TierSplits tier_splits(std::int64_t steps, std::int64_t places, const TierPrices& prices, std::int64_t grid) {
  TIDEMARK_CHECK(steps > 0 && places >= 0 && grid > 0);
  return Table(steps, places, prices, grid).splits();
}

TierShape tier_shape(const TierSplits& splits, std::int64_t steps) {
  TierShape shape;
  std::vector<std::int64_t> kept{0};
  std::int64_t to = steps;
  bool first = true;
  for (const std::int64_t x : splits) {
    const std::int64_t step = kept.back() + std::abs(x);
    if (x > 0) {
      kept.push_back(step);
      shape.places = std::max(shape.places, static_cast<std::int64_t>(kept.size()) - 1);
      if (first) shape.at.push_back(step);
    }
    if (!first) shape.advances += std::abs(x);
    if (x > 0) continue;
    first = false;
    shape.longest = std::max(shape.longest, to - step);
    to = step;
    if (x == 0 && kept.size() > 1) kept.pop_back();
  }
  TIDEMARK_CHECK(to == 0, "splits of {} steps leave {}", steps, to);
  return shape;
}

TierTimes tier_times(const TierSplits& splits, std::int64_t steps, const TierPrices& prices) {
  TierTimes times;
  Clock clock(prices);
  std::vector<std::int64_t> kept{0};
  std::size_t next = 0;
  for (; splits[next] > 0; ++next) {
    clock.now += static_cast<double>(splits[next]) * prices.body;
    const std::int64_t step = kept.back() + splits[next];
    clock.made(step, kept.back());
    clock.write(step, kept.size());
    kept.push_back(step);
  }
  const TierPrices::Last last = prices.last(steps - kept.back());
  clock.now += last.first;
  clock.wait_for_all();
  times.first = clock.now;

  clock.restart();
  std::int64_t to = steps;
  for (bool is_last = true; to > 0; ++next, is_last = false) {
    const std::int64_t top = kept.back(), x = splits[next];
    if (kept.size() > 1) {
      clock.read(top, kept.size() - 1, kept.size() > 2 ? kept[kept.size() - 2] : -1);
      clock.wait(top);
    }
    if (x == 0) {
      if (prices.hidden && kept.size() > 2) clock.read(kept[kept.size() - 2], kept.size() - 2, top);
      clock.leaf(is_last ? last.rest : prices.leaf(to - top));
      to = top;
      if (kept.size() > 1) kept.pop_back();
      continue;
    }
    const std::int64_t step = top + std::abs(x);
    clock.now += static_cast<double>(step - top) * prices.advance;
    clock.made(step, top);
    if (x < 0) {
      clock.leaf(prices.leaf(to - step));
      to = step;
    } else {
      clock.write(step, kept.size());
      kept.push_back(step);
    }
  }
  clock.wait_for_all();
  times.reverse = clock.now;
  return times;
}

}  // namespace tidemark::schedule
