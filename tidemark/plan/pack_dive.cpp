// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_dive.h"

#include <algorithm>
#include <limits>

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan::packing {
namespace {

constexpr Units kNever = std::numeric_limits<Units>::max() / 4;
constexpr double kSecondsAnItem = 4e-9;  // of each try to place one
constexpr int kTries = 20;  // items that may come first at one node: where none does, it is lost as a rule

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Without the place of it, which takes twice as long.
Units least(std::span<const Units> list) {
  Units least = kNever;
  for (const Units u : list) least = std::min(least, u);
  return least;
}

}  // namespace

Dives::Dives(const Items& items) : n_(static_cast<std::int32_t>(items.items.size())) {
  const auto moments = at(items.sections());
  std::vector<char> begins(moments + 1, 0), ends(moments + 1, 0);
  for (const Item& i : items.items) begins[at(i.begin)] = ends[at(i.end)] = 1;
  const std::vector<std::int32_t> index = maximal_before(begins, ends);
  sections_ = index.back();
  std::vector<std::vector<std::int32_t>> lives(at(sections_)), beginning(at(sections_));
  for (std::int32_t i = 0; i < n_; ++i) {
    const Item& item = items.items[at(i)];
    begin_.push_back(index[at(item.begin)]);
    end_.push_back(index[at(item.end)]);
    height_.push_back(item.height);
    beginning[at(begin_.back())].push_back(i);
    for (std::int32_t s = begin_.back(); s < end_.back(); ++s) lives[at(s)].push_back(i);
  }
  first_lives_.push_back(0);
  for (const auto& list : lives) {
    lives_in_.insert(lives_in_.end(), list.begin(), list.end());
    first_lives_.push_back(static_cast<std::int32_t>(lives_in_.size()));
  }
  // Those that live when i begins, and those that begin while it lives.
  first_pair_.push_back(0);
  for (std::int32_t i = 0; i < n_; ++i) {
    for (std::int32_t s = begin_[at(i)]; s < end_[at(i)]; ++s)
      for (const std::int32_t j : s == begin_[at(i)] ? lives[at(s)] : beginning[at(s)])
        if (j != i) pairs_.push_back(j);
    first_pair_.push_back(static_cast<std::int32_t>(pairs_.size()));
  }
  failures_.assign(at(sections_), 0);
}

std::vector<double> Dives::failures() const {
  std::vector<double> out;
  for (std::size_t i = 0; i < begin_.size(); ++i)
    out.push_back(*std::max_element(failures_.begin() + begin_[i], failures_.begin() + end_[i]));
  return out;
}

void Dives::reset(Units height, std::span<const std::int32_t> rank) {
  const std::size_t n = at(n_);
  capacity_ = height;
  stopped_ = false;
  left_to_place_ = n_;
  now_ = 0;
  trail_.clear();
  rank_.assign(rank.begin(), rank.end());
  by_rank_.resize(n);
  top_at_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    by_rank_[at(rank_[i])] = static_cast<std::int32_t>(i);
    top_at_[at(rank_[i])] = height_[i];
  }
  placed_.assign(n, 0);
  skipped_.assign(n, 0);
  stamp_.assign(n, 0);
  for (std::vector<Units>* zeros : {&offset_, &floor_, &low_, &floor_at_}) zeros->assign(n, 0);
  left_.assign(at(sections_), 0);
  watched_.resize(at(sections_));
  beside_.resize(at(sections_));
  for (std::size_t s = 0; s < at(sections_); ++s) {
    watched_[s] = beside_[s] = lives_in_[at(first_lives_[s])];
    for (std::int32_t k = first_lives_[s]; k < first_lives_[s + 1]; ++k)
      left_[s] += height_[at(lives_in_[at(k)])];
  }
  for (double& f : failures_) f *= 0.5;
}

bool Dives::search(Units height, std::span<const std::int32_t> rank, Budget& budget,
                   std::vector<Units>& offsets) {
  reset(height, rank);
  budget_ = &budget;
  if (std::any_of(left_.begin(), left_.end(), [&](Units left) { return left > height; })) return false;
  if (!dive({0, 0})) return false;
  offsets = offset_;
  return true;
}

// `changed`: where the last one placed changed something.
bool Dives::dive(Range changed) {
  if (left_to_place_ == 0) return true;
  if (--budget_->nodes < 0 ||
      ((budget_->nodes & 127) == 0 && budget_->limit != nullptr && budget_->limit->time_is_up())) {
    stopped_ = true;
    return false;
  }
  const std::size_t mark = trail_.size();
  Range next{};
  if (const std::int32_t i = find_forced(changed); i >= 0) {
    worked(static_cast<double>(n_), kSecondsAnItem);
    if (place(i, next) && dive(next)) return true;
    undo_to(mark);
    return false;
  }
  // Something lies lowest, below the top of whatever else could.
  const Units threshold = least(top_at_);
  for (int k = 0; k < kTries; ++k) {
    worked(static_cast<double>(n_), kSecondsAnItem);
    const Units lowest = least(floor_at_);
    if (lowest >= threshold) break;
    const auto first = std::find(floor_at_.begin(), floor_at_.end(), lowest);
    const std::int32_t i = by_rank_[static_cast<std::size_t>(first - floor_at_.begin())];
    const std::size_t before = trail_.size();
    if (place(i, next) && dive(next)) return true;
    undo_to(before);
    if (stopped_) return false;
    if (!skip(i)) break;
  }
  undo_to(mark);
  return false;
}

// An item that must lie on its floor: it alone can be the lowest in some section, and pushed up it could not.
std::int32_t Dives::find_forced(Range changed) {
  for (std::size_t s = at(changed.begin); s < at(changed.end); ++s) {
    const std::size_t i = at(watched_[s]);
    if (left_[s] == 0 || skipped_[i] || placed_[i]) continue;
    const Units most = capacity_ - left_[s];
    const auto could = [&](std::int32_t other) { return low_[at(other)] <= most && at(other) != i; };
    if (low_[i] > most || could(beside_[s])) continue;
    const auto begin = lives_in_.begin() + first_lives_[s], end = lives_in_.begin() + first_lives_[s + 1];
    if (const auto other = std::find_if(begin, end, could); other != end) {
      beside_[s] = *other;
      continue;
    }
    Units low = kNever;
    for (std::int32_t k = first_pair_[i]; k < first_pair_[i + 1]; ++k) {
      const std::size_t other = at(pairs_[at(k)]);
      low = std::min(low, low_[other] + height_[other]);
    }
    if (low > most) return watched_[s];
  }
  return -1;
}

void Dives::show(std::int32_t i) {
  const bool open = !placed_[at(i)] && !skipped_[at(i)];
  const std::size_t place = at(rank_[at(i)]);
  floor_at_[place] = open ? floor_[at(i)] : kNever;
  top_at_[place] = open ? floor_[at(i)] + height_[at(i)] : kNever;
}

// Puts i on its floor.
bool Dives::place(std::int32_t i, Range& changed) {
  const Units level = floor_[at(i)], height = height_[at(i)], top = level + height;
  ++now_;
  // What is left wherever it lives has to fit above: most tries end here.
  for (std::int32_t s = begin_[at(i)]; s < end_[at(i)]; ++s)
    if (left_[at(s)] > height && level + left_[at(s)] > capacity_) return false;
  trail_.push_back({low_[at(i)], Undo::kPlace, i, 0});
  placed_[at(i)] = 1;
  --left_to_place_;
  offset_[at(i)] = level;
  low_[at(i)] = kNever;
  stamp_[at(i)] = now_;
  show(i);
  for (std::int32_t s = begin_[at(i)]; s < end_[at(i)]; ++s) left_[at(s)] -= height;
  changed = {begin_[at(i)], end_[at(i)]};
  for (std::int32_t k = first_pair_[at(i)]; k < first_pair_[at(i) + 1]; ++k) {
    const std::int32_t j = pairs_[at(k)];
    if (placed_[at(j)] || floor_[at(j)] >= top) continue;
    trail_.push_back({low_[at(j)], floor_[at(j)], j, skipped_[at(j)]});
    stamp_[at(j)] = now_;
    floor_[at(j)] = top;
    low_[at(j)] = std::max(low_[at(j)], top);
    skipped_[at(j)] = 0;
    show(j);
    if (low_[at(j)] + height_[at(j)] > capacity_) return false;
    changed = {std::min(changed.begin, begin_[at(j)]), std::max(changed.end, end_[at(j)])};
  }
  return check(changed);
}

// Passes i over: another item must push it up from where it is.
bool Dives::skip(std::int32_t i) {
  const Units level = floor_[at(i)];
  Units low = kNever;
  for (std::int32_t k = first_pair_[at(i)]; k < first_pair_[at(i) + 1]; ++k) {
    const std::size_t j = at(pairs_[at(k)]);
    if (!placed_[j]) low = std::min(low, std::max(low_[j], level) + height_[j]);
  }
  ++now_;
  trail_.push_back({low_[at(i)], floor_[at(i)], i, 0});
  stamp_[at(i)] = now_;
  skipped_[at(i)] = 1;
  low_[at(i)] = std::max(low_[at(i)], low);
  show(i);
  if (low_[at(i)] + height_[at(i)] > capacity_) return false;
  return check({begin_[at(i)], end_[at(i)]});
}

// Something must lie lowest of what is left in each section, and leave room for all of it. One that does is watched.
bool Dives::check(Range sections) {
  for (std::size_t s = at(sections.begin); s < at(sections.end); ++s) {
    const Units most = capacity_ - left_[s];
    if (stamp_[at(watched_[s])] != now_ || low_[at(watched_[s])] <= most || left_[s] == 0) continue;
    const auto begin = lives_in_.begin() + first_lives_[s], end = lives_in_.begin() + first_lives_[s + 1];
    const auto other = std::find_if(begin, end, [&](std::int32_t j) { return low_[at(j)] <= most; });
    if (other == end) {
      ++failures_[s];
      return false;
    }
    trail_.push_back({watched_[s], Undo::kSection, static_cast<std::int32_t>(s), 0});
    watched_[s] = *other;
  }
  return true;
}

void Dives::undo_to(std::size_t mark) {
  while (trail_.size() > mark) {
    const Undo u = trail_.back();
    trail_.pop_back();
    if (u.floor == Undo::kSection) {
      watched_[at(u.id)] = static_cast<std::int32_t>(u.low);
      continue;
    }
    low_[at(u.id)] = u.low;
    if (u.floor == Undo::kPlace) {
      placed_[at(u.id)] = 0;
      ++left_to_place_;
      for (std::int32_t s = begin_[at(u.id)]; s < end_[at(u.id)]; ++s) left_[at(s)] += height_[at(u.id)];
    } else {
      floor_[at(u.id)] = u.floor;
      skipped_[at(u.id)] = u.skipped;
    }
    show(u.id);
  }
}

}  // namespace tidemark::plan::packing
