// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_exact.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan::packing {
namespace {

constexpr double kSecondsAnItem = 4e-8;  // of each node
constexpr Units kNever = std::numeric_limits<Units>::max() / 4;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z =
      (a + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9 ^ (b + 0x94D049BB133111EB) * 0x9E3779B97F4A7C15;
  z ^= z >> 29;
  z *= 0x94D049BB133111EB;
  return z ^ (z >> 32);
}

}  // namespace

bool exact_pays(const Items& items) {
  constexpr std::size_t kMostItems = 3000;
  constexpr double kMostPairs = 2e6;
  if (items.items.size() > kMostItems) return false;
  double pairs = 0;
  std::vector<std::int32_t> begins(static_cast<std::size_t>(items.sections()), 0);
  for (const Item& i : items.items) ++begins[static_cast<std::size_t>(i.begin)];
  for (const Item& i : items.items)
    for (std::int32_t s = i.begin; s < i.end && pairs < kMostPairs; ++s)
      pairs += begins[static_cast<std::size_t>(s)];
  return pairs < kMostPairs;
}

std::vector<std::int32_t> maximal_before(std::span<const char> begins, std::span<const char> ends) {
  std::vector<std::int32_t> index(begins.size(), 0);
  std::int32_t count = 0;
  bool fresh = false;
  for (std::size_t s = 0; s + 1 < begins.size(); ++s) {
    index[s] = count;
    fresh = fresh || begins[s];
    if (!fresh || !ends[s + 1]) continue;
    ++count;
    fresh = false;
  }
  index.back() = count;
  return index;
}

class Exact::Search {
 public:
  explicit Search(const Items& items);
  Answer run(Units height, std::span<const std::int32_t> rank, Budget& budget, std::vector<Units>& offsets);
  std::vector<double> failures() const;

 private:
  struct Pair {
    std::int32_t item;
    Units up, down;  // how far above its own offset the first pushes this item, and this item the first
  };
  struct Undo {
    static constexpr Units kPlace = -1, kSection = -2;  // in `floor`: what is undone is not an item's state
    Units low;
    std::int32_t id;
    Units floor;
    char skipped;
  };

  bool solve(std::size_t first, std::size_t last);
  bool solve_parts(std::size_t first, std::size_t last);
  std::int32_t find_forced(std::size_t first, std::size_t last) const;
  bool place(std::int32_t i);
  bool skip(std::int32_t i);
  bool raise(std::int32_t j, Units floor);
  bool check_section(std::int32_t s);
  bool check_sections(std::int32_t begin, std::int32_t end);
  void undo_to(std::size_t mark);
  std::uint64_t key(std::size_t first, std::size_t last) const;

  // The set, over maximal cliques only: a section whose items all live in a neighbour says nothing of its
  // own.
  std::int32_t n_ = 0, sections_ = 0;
  std::vector<std::int32_t> begin_, end_;
  std::vector<Units> height_;
  std::vector<std::vector<Units>> profile_;  // per item: its height in each of its sections
  std::vector<std::vector<Pair>> pairs_;
  std::vector<std::vector<std::int32_t>> in_section_;

  // The search.
  Units capacity_ = 0;
  std::span<const std::int32_t> rank_;
  Budget* budget_ = nullptr;
  bool stopped_ = false;
  std::vector<char> placed_, skipped_;
  std::vector<Units> offset_, floor_, low_;
  std::vector<Units> left_;            // per section: bytes of items not placed
  std::vector<std::int32_t> watched_;  // per section: an item whose low_ leaves room for all that is left
  std::vector<std::int32_t>
      crossing_;  // per boundary before section s: items not placed that live on both sides
  std::vector<std::int64_t> stamp_;
  std::int64_t now_ = 0;
  std::vector<Undo> trail_;
  std::vector<std::int32_t> stack_;  // the item lists of the nodes on the path
  std::vector<std::uint64_t> failed_;
  std::vector<double> failures_;  // per section: how often it ended a branch, fading from run to run
};

Exact::Search::Search(const Items& items) {
  n_ = static_cast<std::int32_t>(items.items.size());
  const auto sections = static_cast<std::size_t>(items.sections());
  std::vector<char> begins(sections + 1, 0), falls(sections + 1, 0);
  for (const Part& p : items.parts) falls[static_cast<std::size_t>(p.end)] = 1;
  for (const Item& i : items.items) begins[static_cast<std::size_t>(i.begin)] = 1;
  const std::vector<std::int32_t> index = maximal_before(begins, falls);
  sections_ = index.back();
  begin_.resize(static_cast<std::size_t>(n_));
  end_ = begin_;
  height_.resize(begin_.size());
  profile_.resize(begin_.size());
  in_section_.resize(static_cast<std::size_t>(sections_));
  for (std::int32_t i = 0; i < n_; ++i) {
    const Item& item = items.items[static_cast<std::size_t>(i)];
    begin_[i] = index[static_cast<std::size_t>(item.begin)];
    end_[i] = index[static_cast<std::size_t>(item.end)];
    height_[i] = item.height;
    for (const Part& p : items.parts_of(item))
      for (std::int32_t s = index[static_cast<std::size_t>(p.begin)];
           s < index[static_cast<std::size_t>(p.end)]; ++s) {
        in_section_[static_cast<std::size_t>(s)].push_back(i);
        profile_[i].push_back(p.height);
      }
  }
  // Those that live when i begins, and those that begin while it lives.
  std::vector<std::vector<std::int32_t>> beginning(static_cast<std::size_t>(sections_));
  for (std::int32_t i = 0; i < n_; ++i)
    if (begin_[i] < end_[i]) beginning[begin_[i]].push_back(i);
  pairs_.resize(begin_.size());
  for (std::int32_t i = 0; i < n_; ++i) {
    for (std::int32_t s = begin_[i]; s < end_[i]; ++s) {
      for (const std::int32_t j : s == begin_[i] ? in_section_[s] : beginning[s])
        if (j != i) pairs_[i].push_back({j, profile_[i][s - begin_[i]], profile_[j][s - begin_[j]]});
    }
  }
  failed_.resize(std::size_t{1} << 18);
  failures_.assign(static_cast<std::size_t>(sections_), 0);
}

Answer Exact::Search::run(Units height, std::span<const std::int32_t> rank, Budget& budget,
                          std::vector<Units>& offsets) {
  capacity_ = height;
  rank_ = rank;
  budget_ = &budget;
  stopped_ = false;
  const auto n = static_cast<std::size_t>(n_);
  placed_.assign(n, 0);
  skipped_.assign(n, 0);
  offset_.assign(n, 0);
  floor_.assign(n, 0);
  low_.assign(n, 0);
  stamp_.assign(n, 0);
  now_ = 0;
  left_.assign(static_cast<std::size_t>(sections_), 0);
  watched_.assign(static_cast<std::size_t>(sections_), 0);
  crossing_.assign(static_cast<std::size_t>(sections_) + 1, 0);
  trail_.clear();
  stack_.clear();
  std::fill(failed_.begin(), failed_.end(), 0);
  for (double& f : failures_) f *= 0.5;
  for (std::int32_t s = 0; s < sections_; ++s)
    for (const std::int32_t j : in_section_[s]) left_[s] += profile_[j][s - begin_[j]];
  for (std::int32_t i = 0; i < n_; ++i) {
    for (std::int32_t s = begin_[i] + 1; s < end_[i]; ++s) ++crossing_[s];
    stack_.push_back(i);
  }
  for (std::int32_t s = 0; s < sections_; ++s)
    if (!check_section(s)) return Answer::impossible;
  if (!solve_parts(0, n)) return stopped_ ? Answer::stopped : Answer::impossible;
  offsets = offset_;
  return Answer::found;
}

std::vector<double> Exact::Search::failures() const {
  std::vector<double> out;
  for (std::int32_t i = 0; i < n_; ++i)
    out.push_back(*std::max_element(failures_.begin() + begin_[i], failures_.begin() + end_[i]));
  return out;
}

// Splits what is left of a component where nothing left crosses, and solves the pieces one by one.
bool Exact::Search::solve_parts(std::size_t first, std::size_t last) {
  if (first == last) return true;
  std::int32_t begin = sections_, end = 0;
  for (std::size_t k = first; k < last; ++k) {
    begin = std::min(begin, begin_[stack_[k]]);
    end = std::max(end, end_[stack_[k]]);
  }
  bool whole = true;
  for (std::int32_t s = begin + 1; s < end && whole; ++s) whole = crossing_[s] > 0;
  if (whole) return solve(first, last);
  std::int32_t from = begin;
  for (std::int32_t s = begin + 1; s <= end; ++s) {
    if (s < end && crossing_[s] > 0) continue;
    const std::size_t base = stack_.size();
    for (std::size_t k = first; k < last; ++k) {
      const std::int32_t i = stack_[k];
      if (from <= begin_[i] && end_[i] <= s) stack_.push_back(i);
    }
    from = s;
    const bool solved = base == stack_.size() || solve(base, stack_.size());
    stack_.resize(base);
    if (!solved) return false;
  }
  return true;
}

bool Exact::Search::solve(std::size_t first, std::size_t last) {
  worked(static_cast<double>(begin_.size()), kSecondsAnItem);
  if (--budget_->nodes < 0 ||
      ((budget_->nodes & 127) == 0 && budget_->limit != nullptr && budget_->limit->time_is_up())) {
    stopped_ = true;
    return false;
  }
  const std::uint64_t state = key(first, last);
  if (failed_[state & (failed_.size() - 1)] == state) return false;

  if (const std::int32_t i = find_forced(first, last); i >= 0) {
    const std::size_t mark = trail_.size();
    const std::size_t base = stack_.size();
    if (place(i)) {
      for (std::size_t k = first; k < last; ++k)
        if (stack_[k] != i) stack_.push_back(stack_[k]);
      if (solve_parts(base, stack_.size())) return true;
      stack_.resize(base);
    }
    undo_to(mark);
    if (!stopped_) failed_[state & (failed_.size() - 1)] = state;
    return false;
  }

  Units threshold = kNever;
  for (std::size_t k = first; k < last; ++k) {
    const std::int32_t i = stack_[k];
    if (!skipped_[i]) threshold = std::min(threshold, floor_[i] + height_[i]);
  }
  const std::size_t base = stack_.size();
  for (std::size_t k = first; k < last; ++k) {
    const std::int32_t i = stack_[k];
    if (!skipped_[i] && floor_[i] < threshold) stack_.push_back(i);
  }
  const std::size_t candidates = stack_.size();
  std::sort(stack_.begin() + static_cast<std::ptrdiff_t>(base), stack_.end(), [&](auto a, auto b) {
    return floor_[a] != floor_[b] ? floor_[a] < floor_[b] : rank_[a] < rank_[b];
  });
  const std::size_t mark = trail_.size();
  for (std::size_t c = base; c < candidates; ++c) {
    const std::int32_t i = stack_[c];
    const std::size_t before = trail_.size();
    if (place(i)) {
      for (std::size_t k = first; k < last; ++k)
        if (stack_[k] != i) stack_.push_back(stack_[k]);
      if (solve_parts(candidates, stack_.size())) return true;
      stack_.resize(candidates);
    }
    undo_to(before);
    if (stopped_) return false;
    if (!skip(i)) break;
  }
  undo_to(mark);
  stack_.resize(base);
  failed_[state & (failed_.size() - 1)] = state;
  return false;
}

// An item that must lie on its floor: it alone can be the lowest in some section, and pushed up it could not.
// Nothing left fits below it then, so it can be placed out of turn.
std::int32_t Exact::Search::find_forced(std::size_t first, std::size_t last) const {
  std::int32_t begin = sections_, end = 0;
  for (std::size_t k = first; k < last; ++k) {
    begin = std::min(begin, begin_[stack_[k]]);
    end = std::max(end, end_[stack_[k]]);
  }
  for (std::int32_t s = begin; s < end; ++s) {
    const std::int32_t i = watched_[s];
    if (left_[s] == 0 || skipped_[i] || placed_[i]) continue;
    const Units most = capacity_ - left_[s];
    bool alone = low_[i] <= most;
    for (std::size_t k = 0; alone && k < in_section_[s].size(); ++k)
      alone = low_[in_section_[s][k]] > most || in_section_[s][k] == i;
    if (!alone) continue;
    Units low = kNever;
    for (const Pair& p : pairs_[i]) low = std::min(low, low_[p.item] + p.down);
    if (low > most) return i;
  }
  return -1;
}

bool Exact::Search::raise(std::int32_t j, Units floor) {
  trail_.push_back({low_[j], j, floor_[j], skipped_[j]});
  stamp_[j] = now_;
  floor_[j] = floor;
  low_[j] = std::max(low_[j], floor);
  skipped_[j] = 0;
  return low_[j] + height_[j] <= capacity_;
}

// Puts i on its floor.
bool Exact::Search::place(std::int32_t i) {
  const Units level = floor_[i];
  ++now_;
  trail_.push_back({low_[i], i, Undo::kPlace, 0});
  placed_[i] = 1;
  low_[i] = kNever;
  offset_[i] = level;
  stamp_[i] = now_;
  for (std::int32_t s = begin_[i] + 1; s < end_[i]; ++s) --crossing_[s];
  for (std::int32_t s = begin_[i]; s < end_[i]; ++s) left_[s] -= profile_[i][s - begin_[i]];
  std::int32_t begin = begin_[i], end = end_[i];
  for (const Pair& p : pairs_[i]) {
    if (placed_[p.item] || floor_[p.item] >= level + p.up) continue;
    if (!raise(p.item, level + p.up)) return false;
    begin = std::min(begin, begin_[p.item]);
    end = std::max(end, end_[p.item]);
  }
  return check_sections(begin, end);
}

// Passes i over: another item must push it up from where it is. Else it could slide down there, and the
// packing stands elsewhere in the tree.
bool Exact::Search::skip(std::int32_t i) {
  const Units level = floor_[i];
  ++now_;
  Units low = kNever;
  for (const Pair& p : pairs_[i])
    if (!placed_[p.item]) low = std::min(low, std::max(low_[p.item], level) + p.down);
  trail_.push_back({low_[i], i, floor_[i], 0});
  stamp_[i] = now_;
  skipped_[i] = 1;
  low_[i] = std::max(low_[i], low);
  if (low_[i] + height_[i] > capacity_) return false;
  return check_sections(begin_[i], end_[i]);
}

bool Exact::Search::check_sections(std::int32_t begin, std::int32_t end) {
  for (std::int32_t s = begin; s < end; ++s)
    if (stamp_[watched_[s]] == now_ && low_[watched_[s]] > capacity_ - left_[s] && !check_section(s))
      return false;
  return true;
}

// Something must lie on the floor of s: an item whose low_ leaves room for all that is left there. One such
// is watched, so that a section costs nothing while it stays.
bool Exact::Search::check_section(std::int32_t s) {
  if (left_[s] == 0) return true;
  const Units most = capacity_ - left_[s];
  for (const std::int32_t j : in_section_[s]) {
    if (low_[j] > most) continue;
    trail_.push_back({watched_[s], s, Undo::kSection, 0});
    watched_[s] = j;
    return true;
  }
  ++failures_[s];
  return false;
}

void Exact::Search::undo_to(std::size_t mark) {
  while (trail_.size() > mark) {
    const Undo u = trail_.back();
    trail_.pop_back();
    if (u.floor == Undo::kSection) {
      watched_[u.id] = static_cast<std::int32_t>(u.low);
    } else if (u.floor == Undo::kPlace) {
      low_[u.id] = u.low;
      placed_[u.id] = 0;
      for (std::int32_t s = begin_[u.id] + 1; s < end_[u.id]; ++s) ++crossing_[s];
      for (std::int32_t s = begin_[u.id]; s < end_[u.id]; ++s) left_[s] += profile_[u.id][s - begin_[u.id]];
    } else {
      floor_[u.id] = u.floor;
      low_[u.id] = u.low;
      skipped_[u.id] = u.skipped;
    }
  }
}

std::uint64_t Exact::Search::key(std::size_t first, std::size_t last) const {
  std::uint64_t sum = 1;
  for (std::size_t k = first; k < last; ++k) {
    const std::int32_t i = stack_[k];
    sum += mix(static_cast<std::uint64_t>(i),
               skipped_[i] ? ~std::uint64_t{0} : static_cast<std::uint64_t>(floor_[i]));
  }
  return sum;
}

Exact::Exact(const Items& items) : search_(std::make_unique<Search>(items)) {}
Exact::~Exact() = default;
std::vector<double> Exact::failures() const { return search_->failures(); }
Answer Exact::search(Units height, std::span<const std::int32_t> rank, Budget& budget,
                     std::vector<Units>& offsets) {
  return search_->run(height, rank, budget, offsets);
}

}  // namespace tidemark::plan::packing
