// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tidemark/compile/loops.h"
#include "tidemark/ops/loops.h"
#include "tidemark/schedule/mixed.h"
#include "tidemark/schedule/online_states.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"
#include "tidemark/schedule/sized.h"

namespace tidemark {

void LoopCosts::in_tier_at(const TierSpec& tier) {
  const auto bytes = static_cast<double>(state);
  write = tier.latency_seconds + bytes / tier.write_bytes_per_second;
  read = tier.latency_seconds + bytes / tier.read_bytes_per_second;
}

std::int64_t LoopCosts::in_tier() const {
  if (online) return tier_places;
  if (!splits.empty()) return schedule::tier_shape(splits, trips).places;
  return period > 0 ? (trips - 1) / period : 0;
}

namespace {

double seconds_of(const LoopCosts& c, const schedule::Sized::Counts& n, std::int64_t steps) {
  return static_cast<double>(n.advances) * c.advance + static_cast<double>(n.taped) * c.taping +
         static_cast<double>(n.direct) * c.adjoint + static_cast<double>(steps - n.direct) * c.untaping;
}

schedule::TierPrices prices_in(const LoopCosts& c, Bytes bytes, std::int64_t longest) {
  schedule::TierPrices p{.body = c.body, .advance = c.advance, .write = c.write, .read = c.read};
  const auto sized = std::make_shared<const schedule::Sized>(longest, c.state, c.tape, bytes);
  const auto known = std::make_shared<std::map<std::int64_t, double>>();
  p.leaf = [c, sized, known](std::int64_t n) {
    const auto [it, is_new] = known->try_emplace(n, 0);
    if (is_new) it->second = seconds_of(c, sized->counts(n, false), n);
    return it->second;
  };
  if (c.extra >= 0) {
    // The first sweep leaves nothing where segments are reversed.
    p.write = p.read = 0;
    p.last = [leaf = p.leaf, body = c.body](std::int64_t n) {
      return schedule::TierPrices::Last{static_cast<double>(n) * body, leaf(n)};
    };
    return p;
  }
  p.last = [c, sized](std::int64_t n) {
    const schedule::Sized::Counts counts = sized->counts(n, true);
    return schedule::TierPrices::Last{static_cast<double>(n - counts.first_taped) * c.body +
                                          static_cast<double>(counts.first_taped) * c.body_taping,
                                      seconds_of(c, counts, n)};
  };
  return p;
}

// f at 1 .. 64 and 16 times in each octave from there to `end`, straight lines between them: of a convex f never too little.
std::function<double(std::int64_t)> sampled(std::function<double(std::int64_t)> f, std::int64_t end) {
  const auto known = std::make_shared<std::map<std::int64_t, double>>();
  const auto at = [f = std::move(f), known](std::int64_t n) {
    const auto [it, is_new] = known->try_emplace(n, 0);
    if (is_new) it->second = f(n);
    return it->second;
  };
  return [at, end](std::int64_t n) {
    std::int64_t gap = 1;
    while (32 * gap < n) gap *= 2;
    gap = std::max<std::int64_t>(1, gap / 2);
    const std::int64_t low = n / gap * gap, high = std::min(low + gap, end);
    if (low == n || n == end) return at(n);
    const double part = static_cast<double>(n - low) / static_cast<double>(high - low);
    return at(low) * (1 - part) + at(high) * part;
  };
}

schedule::TierTimes by_splits(const LoopCosts& c, Bytes bytes) {
  const std::int64_t longest = schedule::tier_shape(c.splits, c.trips).longest;
  return schedule::tier_times(c.splits, c.trips, prices_in(c, c.extra >= 0 ? c.extra : bytes, longest));
}

}  // namespace

void LoopCosts::split_in_tier(Bytes bytes, std::int64_t places, std::int64_t grid) {
  const std::int64_t end = 2 * trips;  // a grid ends behind the loop
  schedule::TierPrices p = prices_in(*this, bytes, end);
  // Without tapes there are closed forms.
  if (tape > 0) {
    p.leaf = sampled(p.leaf, end);
    const auto last = p.last;
    p.last = [first = sampled([last](std::int64_t n) { return last(n).first; }, end),
              rest = sampled([last](std::int64_t n) { return last(n).rest; }, end)](std::int64_t n) {
      return schedule::TierPrices::Last{first(n), rest(n)};
    };
  }
  // Milliseconds for a choice that is priced many times, a fraction of a second for the one that is taken.
  splits = schedule::tier_splits(trips, places, p, grid, 100 * static_cast<double>(grid * grid));
}

void LoopCosts::split_in_area(Bytes beside, std::int64_t places, std::int64_t grid) {
  extra = beside;
  split_in_tier(beside, places, grid);
}

double LoopCosts::first_sweep(Bytes bytes) const {
  if (online) {
    const std::int64_t taped = online_area(bytes).taped;
    double seconds = static_cast<double>(trips - taped) * body + static_cast<double>(taped) * body_taping;
    // As many in each round as there is room for, then half of that.
    std::int64_t from = 0, step = start;
    while (tier_places > 0 && from < trips - 1) {
      const std::int64_t to = std::min(trips - 1, (tier_places + 1) * step);
      const std::int64_t copies = (to - from) / step;
      seconds += static_cast<double>(copies) * std::max(0.0, write - static_cast<double>(step) * body);
      from = to, step *= 2;
    }
    return seconds;
  }
  if (!splits.empty()) return by_splits(*this, bytes).first;
  const std::int64_t segment = period > 0 ? period : trips, last = trips - in_tier() * period;
  const auto taped =
      static_cast<double>(schedule::Sized(segment, state, tape, bytes).counts(last, true).first_taped);
  const double hidden = static_cast<double>(period) * body;
  return (static_cast<double>(trips) - taped) * body + taped * body_taping +
         static_cast<double>(in_tier()) * std::max(0.0, write - hidden);
}

double LoopCosts::reverse_sweep(Bytes bytes) const {
  if (online) return online_reverse(bytes);
  if (!splits.empty()) return by_splits(*this, bytes).reverse;
  const std::int64_t segment = period > 0 ? period : trips, last = trips - in_tier() * period;
  const schedule::Sized sized(segment, state, tape, bytes);
  double total = seconds_of(*this, sized.counts(last, true), last);
  if (in_tier() == 0) return total;
  const double each = seconds_of(*this, sized.counts(period, false), period);
  total += read + static_cast<double>(in_tier()) * (each + std::max(0.0, read - each));
  return total;
}

OnlineArea LoopCosts::online_area(Bytes bytes) const {
  return online_area_of(bytes, state, tape, trips, places, tier_places, start);
}

// Steps of a loop of unknown length from a state outside to its end, by what its first sweep has left in the area.
double LoopCosts::online_segment(const OnlineArea& a, std::int64_t steps) const {
  if (tape > 0 && steps <= a.taped) return static_cast<double>(steps) * untaping;
  const bool kept = a.taped > 0 && a.places > 0;
  const std::int64_t origin = a.taped, free = a.places - (kept ? 1 : 0);
  std::vector<std::int64_t> memory(static_cast<std::size_t>(2 * free)), stack{0};
  if (kept) stack.push_back(origin);
  schedule::OnlineStates states(free, memory.data());
  while (states.next() < steps - origin) states.take();
  const std::int64_t count = steps > origin ? states.finish(steps - origin) : 0;
  for (std::int64_t k = 0; k < count; ++k) stack.push_back(origin + states.step(k));
  const schedule::Sized sized(a.longest, state, tape, a.segments);
  return seconds_of(*this, sized.counts(stack, steps), steps);
}

double LoopCosts::online_reverse(Bytes bytes) const {
  const OnlineArea a = online_area(bytes);
  if (a.all) return static_cast<double>(trips) * (tape > 0 ? untaping : adjoint);
  if (tier_places > 0) {
    const std::int64_t kept = (trips - 1) / a.longest, last = trips - kept * a.longest;
    const double each = seconds_of(
        *this, schedule::Sized(a.longest, state, tape, a.segments).counts(a.longest, false), a.longest);
    return online_segment(a, last) + read + static_cast<double>(kept) * (each + std::max(0.0, read - each));
  }
  // What is run again grows little faster than the length; counting up to here takes milliseconds.
  const std::int64_t counted = std::min<std::int64_t>(trips, tape > 0 ? 100'000 : 1'000'000);
  return static_cast<double>(trips) / static_cast<double>(counted) * online_segment(a, counted);
}

double LoopCosts::forward_runs(Bytes bytes) const {
  // With every execution of a step's forward part at a price of 1, and nothing else.
  LoopCosts counted{.trips = trips,
                    .state = state,
                    .tape = tape,
                    .body = 1,
                    .advance = 1,
                    .adjoint = 1,
                    .body_taping = 1,
                    .taping = 1,
                    .period = period,
                    .splits = splits,
                    .extra = extra,
                    .online = online,
                    .places = places,
                    .tier_places = tier_places,
                    .start = start};
  return (counted.first_sweep(bytes) + counted.reverse_sweep(bytes)) / static_cast<double>(trips);
}

double LoopCosts::least_forward_runs(Bytes bytes) const {
  const Bytes smallest = tape > 0 ? std::min(state, tape) : state, all = bytes + std::max<Bytes>(0, extra);
  const std::int64_t beside = in_tier() == 0 ? 0 : in_tier() + 2;  // by splits, and on the way
  const std::int64_t slots = smallest > 0 ? std::min(trips, 1 + all / smallest + beside) : trips;
  // With slots that hold either, Maddison's; without tapes Griewank and Walther's, of which the first sweep makes all but the last step's at
  // most, and every step runs in that sweep and inside its adjoint.
  const std::int64_t steps =
      tape > 0 ? schedule::mixed_steps(trips, slots) : schedule::revolve_advances(trips, slots) + trips + 1;
  return static_cast<double>(steps) / static_cast<double>(trips);
}

}  // namespace tidemark
