// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/tier_splits.h"

#include <algorithm>
#include <limits>
#include <span>

#include "tidemark/base/error.h"
#include "tidemark/schedule/least_sum.h"

namespace tidemark::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-9;  // beyond the rounding of the sums

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The numbers of places that have a layer: all of them, or all up to some and from there on ever fewer.
constexpr std::int64_t kAllUpTo = 32, kInEachOctave = 8;

std::vector<std::int64_t> layers_for(std::int64_t places, bool all) {
  std::vector<std::int64_t> list;
  for (std::int64_t m = 0; m < places; m += all || m < kAllUpTo ? 1 : m / kInEachOctave) list.push_back(m);
  list.push_back(places);
  return list;
}

// With m places, by units of steps, copies at what steps beside them do not hide:
//   B_m(y) = min(leaf(y), K_{m-1}(y))                            from a state just made, and back at the state before it;
//   R_m(l) = min(leaf(l), min over x of x + B_m(l - x) + R_m(x)) from a state in memory, with the read of the one before it;
//   K_m(l) = the same, and beside its beginning the state is written;
//   F_m(l) = min(last(l), min over x of x + F_{m-1}(l - x) + R_m(x)) for the end of the loop, where the first sweep does the advancing and
//            writes every state.
// Between two numbers of places that have a layer, K and F are taken to change in equal steps.
class Table {
 public:
  // `units` of `unit` steps, the last of which is `behind` steps shorter; what has no more steps than `finer` goes up to is its. `places`: of
  // each layer; none: a place for every unit, then a layer is its own.
  Table(std::int64_t units, std::int64_t unit, std::int64_t behind, std::span<const std::int64_t> places,
        const TierPrices& prices, const Table* finer)
      : p_(prices), n_(units), unit_(unit), behind_(behind), places_(places), finer_(finer) {
    leaf_.assign(at(n_ + 1), 0);
    last_.resize(at(n_ + 1));
    for (std::int64_t l = 1; l <= n_; ++l)
      leaf_[at(l)] = p_.leaf(l * unit_), last_[at(l)] = p_.last(l * unit_ - behind_);
    if (places_.empty()) layers_.push_back(solve(0, nullptr, 0));
    const Layer none{.kept = never(), .first = never()};
    for (std::size_t j = 0; j < places_.size(); ++j) {
      const double part = j == 0 ? 1 : 1 / static_cast<double>(places_[j] - places_[j - 1]);
      Layer next = solve(j, j == 0 ? &none : &layers_.back(), part);
      // More places are of no use from here on.
      if (j > 0 && next.again == layers_.back().again && next.first == layers_.back().first) break;
      layers_.push_back(std::move(next));
    }
  }

  TierSplits splits(std::int64_t places) const {
    TierSplits list;
    expand(places, n_, How::first, list);
    return list;
  }

 private:
  struct Layer {
    std::vector<double> behind{}, again{}, kept{}, first{};  // B, R, K, F
    std::vector<double> first_behind{};                      // F with a place less
  };
  enum class How : std::uint8_t { again, kept, first };

  std::vector<double> never() const { return std::vector<double>(at(n_ + 1), kNever); }
  std::size_t turned(std::int64_t l) const { return at(n_ - l); }
  double wait(double copy, double beside) const { return p_.hidden ? std::max(0.0, copy - beside) : copy; }
  // A leaf from a state just made; the one before it is still there, where there are two places.
  double leaf_behind(std::int64_t l) const { return leaf_[at(l)] + (p_.hidden ? 0 : p_.read); }
  // Of x units and what is before a split behind them.
  double x_again(const Layer& layer, std::int64_t x) const {
    return static_cast<double>(x * unit_) * p_.advance + layer.again[at(x)];
  }
  double x_kept(const Layer& layer, std::int64_t x) const {
    return x_again(layer, x) + wait(p_.write, static_cast<double>(x * unit_) * p_.advance);
  }
  double x_first(const Layer& layer, std::int64_t x) const {
    const double body = static_cast<double>(x * unit_) * p_.body;
    return body + wait(p_.write, body) + layer.again[at(x)];
  }
  // Where the finer table has a segment, and 0 where it has not.
  std::int64_t in_finer(std::int64_t l, bool first) const {
    const std::int64_t steps = l * unit_ - (first ? behind_ : 0);
    return finer_ != nullptr && steps <= finer_->n_ ? steps : 0;
  }

  const Layer& layer(std::size_t which) const { return layers_[std::min(which, layers_.size() - 1)]; }

  // `fewer`: the layer with fewer places; a place less is `part` of the way there; null: no way at all.
  Layer solve(std::size_t which, const Layer* fewer, double part) const {
    Layer out{never(), never(), never(), never(), never()};
    const Layer* finer = finer_ == nullptr ? nullptr : &finer_->layer(which);
    // Of x units and what is before the split, by x; and of what is behind it, from its end, so that sums run upwards in both.
    std::vector<double> again = never(), kept = never(), first = never(), behind = never(),
                        first_behind = never();
    const auto least = [&](std::int64_t l, const std::vector<double>& x, const std::vector<double>& rest) {
      return least_sum(&x[1], &rest[turned(l) + 1], l - 1);
    };
    const auto less = [&](const std::vector<double>& own, const std::vector<double>& of_fewer,
                          std::int64_t l) {
      return part == 1 ? of_fewer[at(l)] : own[at(l)] + part * (of_fewer[at(l)] - own[at(l)]);
    };
    for (std::int64_t l = 1; l <= n_; ++l) {
      if (const std::int64_t steps = in_finer(l, false); steps > 0) {
        out.again[at(l)] = finer->again[at(steps)];
        out.kept[at(l)] = finer->kept[at(steps)];
      } else {
        const double leaf = leaf_again(l);
        out.again[at(l)] = std::min(leaf, least(l, again, behind));
        out.kept[at(l)] = std::min(leaf + wait(p_.write, leaf_[at(l)]), least(l, kept, behind));
      }
      const std::int64_t steps = in_finer(l, true);
      out.first[at(l)] =
          steps > 0 ? finer->first[at(steps)] : std::min(last(l), least(l, first, first_behind));
      again[at(l)] = x_again(out, l);
      kept[at(l)] = x_kept(out, l);
      first[at(l)] = x_first(out, l);
      const double kept_less = fewer == nullptr ? out.kept[at(l)] : less(out.kept, fewer->kept, l);
      out.behind[at(l)] = behind[turned(l)] = std::min(leaf_behind(l), kept_less);
      out.first_behind[at(l)] = first_behind[turned(l)] =
          fewer == nullptr ? out.first[at(l)] : less(out.first, fewer->first, l);
    }
    return out;
  }
  double leaf_again(std::int64_t l) const { return leaf_[at(l)] + wait(p_.read, leaf_[at(l)]); }
  double last(std::int64_t l) const {
    const auto& [first, rest] = last_[at(l)];
    return first + wait(p_.write, first) + rest + wait(p_.read, rest);
  }

  void expand(std::int64_t m, std::int64_t l, How how, TierSplits& list) const {
    const auto above = std::upper_bound(places_.begin(), places_.end(), m);
    const Layer& layer = this->layer(above == places_.begin() ? 0 : at(above - places_.begin() - 1));
    for (;; how = How::again) {
      const bool first = how == How::first;
      if (const std::int64_t steps = in_finer(l, first); steps > 0)
        return finer_->expand(m, steps, how, list);
      const auto before = [&](std::int64_t x) {
        return first ? x_first(layer, x) : how == How::kept ? x_kept(layer, x) : x_again(layer, x);
      };
      const double best = (first ? layer.first : how == How::kept ? layer.kept : layer.again)[at(l)];
      const std::vector<double>& rest = first ? layer.first_behind : layer.behind;
      // Where splitting further saves nothing, the list stays short: it takes memory of the loop's.
      const double whole = first              ? last(l)
                           : how == How::kept ? leaf_again(l) + wait(p_.write, leaf_[at(l)])
                                              : leaf_again(l);
      if (whole <= best * (1 + kTie)) return list.push_back(0);
      std::int64_t x = 1;
      while (x < l && before(x) + rest[at(l - x)] != best) ++x;
      if (x == l) return list.push_back(0);
      const bool keep = first || layer.behind[at(l - x)] < leaf_behind(l - x);
      list.push_back(keep ? x * unit_ : -x * unit_);
      if (keep) expand(places_.empty() ? m : m - 1, l - x, first ? How::first : How::kept, list);
      l = x;
    }
  }

  const TierPrices& p_;
  std::int64_t n_, unit_, behind_;
  std::span<const std::int64_t> places_;
  const Table* finer_;
  std::vector<double> leaf_;
  std::vector<TierPrices::Last> last_;
  std::vector<Layer> layers_;
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

TierSplits tier_splits(std::int64_t steps, std::int64_t places, const TierPrices& prices, std::int64_t grid,
                       double sums) {
  TIDEMARK_CHECK(steps > 0 && places >= 0 && grid > 0);
  // As fine as the sums allow, which are 3 / 2 grid^2 for a layer of a table.
  const double exact = sums / (1.5 * static_cast<double>(std::min(places, steps) + 1));
  while (grid < steps && static_cast<double>(2 * grid) * static_cast<double>(2 * grid) < exact) grid *= 2;
  const std::int64_t unit = (steps + grid - 1) / grid, units = (steps + unit - 1) / unit;
  const std::int64_t fine = std::min(steps, grid), both = fine + (unit > 1 ? units : 0);
  std::vector<std::int64_t> layers;
  if (places < both)
    layers = layers_for(places, static_cast<double>(fine) * static_cast<double>(both) < exact);
  const Table whole(fine, 1, 0, layers, prices, nullptr);
  if (unit == 1) return whole.splits(places);
  return Table(units, unit, units * unit - steps, layers, prices, &whole).splits(places);
}

bool are_splits_of(const TierSplits& splits, std::int64_t steps) {
  std::vector<std::int64_t> kept{0};
  std::int64_t to = steps;
  bool first = true;
  for (const std::int64_t x : splits) {
    if (to <= 0 || x <= -steps || x >= steps) return false;
    const std::int64_t step = kept.back() + std::abs(x);
    if (step >= to || (first && x < 0)) return false;
    if (x > 0) {
      kept.push_back(step);
      continue;
    }
    first = false;
    to = step;
    if (x == 0 && kept.size() > 1) kept.pop_back();
  }
  return to == 0;
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
