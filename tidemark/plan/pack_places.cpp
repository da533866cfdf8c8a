// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_places.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace tidemark::plan::packing {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Found least_dear(std::span<const Edge> begins, std::span<const Edge> ends, Units highest, Rng& rng) {
  constexpr double kSame = 1e-9;
  Found best{0, std::numeric_limits<double>::infinity()};
  double sum = 0;
  std::int64_t ties = 0;
  std::size_t begun = 0, ended = 0;
  for (Units offset = 0; offset <= highest;) {
    while (begun < begins.size() && begins[begun].at <= offset) sum += begins[begun++].dear;
    while (ended < ends.size() && ends[ended].at <= offset) sum -= ends[ended++].dear;
    Units next = highest + 1;
    if (begun < begins.size()) next = std::min(next, begins[begun].at);
    if (ended < ends.size()) next = std::min(next, ends[ended].at);
    if (sum < best.dear + kSame) {
      ties = sum < best.dear - kSame ? 1 : ties + 1;
      best.dear = std::min(best.dear, sum);
      if (rng.below(ties) == 0) best.offset = rng.below(2) == 0 ? offset : next - 1;
    }
    offset = next;
  }
  return best;
}

Places::Places(std::vector<Life> lives, Units height, std::uint64_t seed)
    : lives_(std::move(lives)), height_(height), rng_(seed) {}

void Places::List::insert(std::size_t place, std::int32_t life, const Life& of) {
  const auto to = static_cast<std::ptrdiff_t>(place);
  id.insert(id.begin() + to, life);
  first.insert(first.begin() + to, of.first);
  last.insert(last.begin() + to, of.last);
}

void Places::List::erase(std::size_t place) {
  const auto from = static_cast<std::ptrdiff_t>(place);
  id.erase(id.begin() + from);
  first.erase(first.begin() + from);
  last.erase(last.begin() + from);
}

// In two passes: the first is done on vectors, the second skips what does not meet by eights.
void Places::List::meet(const Life& life, std::vector<std::int32_t>& met) {
  const std::size_t n = id.size();
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  meets.resize((n + kWord - 1) / kWord * kWord);
  for (std::size_t k = 0; k < n; ++k)
    meets[k] =
        static_cast<std::uint8_t>(first[k] <= life.last) & static_cast<std::uint8_t>(last[k] >= life.first);
  std::fill(meets.begin() + static_cast<std::ptrdiff_t>(n), meets.end(), std::uint8_t{0});
  met.clear();
  for (std::size_t k = 0; k < n; k += kWord) {
    std::uint64_t word;
    std::memcpy(&word, meets.data() + k, kWord);
    if (word == 0) continue;
    for (std::size_t j = k; j < k + kWord; ++j)
      if (meets[j] != 0) met.push_back(id[j]);
  }
}

Units Places::find_room(std::int32_t life) {
  const Life& l = lives_[at(life)];
  by_offset_.meet(l, met_);
  return smallest_gap(
      met_, [&](std::int32_t other) { return lives_[at(other)].offset; },
      [&](std::int32_t other) { return lives_[at(other)].end(); }, height_, l.size);
}

Found Places::find(std::int32_t life) {
  const Units room = find_room(life);
  return room >= 0 ? Found{room, 0} : find_least(lives_[at(life)]);
}

Found Places::find_least(const Life& life) {
  by_end_.meet(life, met_by_end_);
  begins_.clear();
  ends_.clear();
  for (const std::int32_t other : met_)
    begins_.push_back({lives_[at(other)].offset - life.size + 1, lives_[at(other)].dear});
  for (const std::int32_t other : met_by_end_)
    ends_.push_back({lives_[at(other)].end(), lives_[at(other)].dear});
  return least_dear(begins_, ends_, height_ - life.size, rng_);
}

void Places::put(std::int32_t life, const Found& found, std::vector<std::int32_t>& out) {
  Life& l = lives_[at(life)];
  const Units offset = l.offset = found.offset;
  for (std::size_t k = 0; found.dear > 0 && k < met_.size(); ++k) {
    const std::int32_t other = met_[k];
    if (lives_[at(other)].offset >= l.end() || lives_[at(other)].end() <= offset) continue;
    take(other);
    out.push_back(other);
  }
  const auto& ids = by_offset_.id;
  const auto below = std::upper_bound(ids.begin(), ids.end(), offset,
                                      [&](Units o, std::int32_t k) { return o < lives_[at(k)].offset; });
  by_offset_.insert(static_cast<std::size_t>(below - ids.begin()), life, l);
  const auto& ends = by_end_.id;
  const auto lower = std::upper_bound(ends.begin(), ends.end(), l.end(),
                                      [&](Units e, std::int32_t k) { return e < lives_[at(k)].end(); });
  by_end_.insert(static_cast<std::size_t>(lower - ends.begin()), life, l);
}

void Places::take(std::int32_t life) {
  Life& l = lives_[at(life)];
  const auto& ids = by_offset_.id;
  const auto from = std::lower_bound(ids.begin(), ids.end(), l.offset,
                                     [&](std::int32_t k, Units o) { return lives_[at(k)].offset < o; });
  by_offset_.erase(static_cast<std::size_t>(std::find(from, ids.end(), life) - ids.begin()));
  const auto& ends = by_end_.id;
  const auto begin = std::lower_bound(ends.begin(), ends.end(), l.end(),
                                      [&](std::int32_t k, Units e) { return lives_[at(k)].end() < e; });
  by_end_.erase(static_cast<std::size_t>(std::find(begin, ends.end(), life) - ends.begin()));
  l.offset = -1;
}

}  // namespace tidemark::plan::packing
