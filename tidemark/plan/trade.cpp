// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/trade.h"

#include <algorithm>
#include <limits>

namespace tidemark::plan {
namespace {
constexpr std::size_t kMostItems = 96;  // on either side
constexpr std::size_t kMostDeals = 12;  // carried out to see what they come to
}  // namespace

void Trade::list_runs(std::int32_t at, const std::vector<std::int32_t>& extra) {
  runs_.clear();
  const Bytes bytes = line_->profile().at(at);
  const double seconds = line_->seconds();
  for (const std::int32_t s : extra) {
    if (s <= at) continue;
    const std::size_t mark = line_->mark();
    if (!line_->remove_with_its_own(s)) continue;
    const Item item{seconds - line_->seconds(), line_->profile().at(at) - bytes, s};
    line_->undo_to(mark);
    if (item.bytes > 0) runs_.push_back(item);
  }
  std::stable_sort(runs_.begin(), runs_.end(),
                   [](const Item& x, const Item& y) { return x.seconds > y.seconds; });
  if (runs_.size() > kMostItems) runs_.resize(kMostItems);
}

void Trade::list_drops(std::int32_t at, double most_seconds) {
  offers_.clear();
  for (const BufferId b : drops_->candidates()) {
    if (!line_->spans(b, at) || !drops_->evaluate(b, at, most_seconds, trial_)) continue;
    offers_.push_back({trial_.seconds, trial_.relief, b});
  }
  std::stable_sort(offers_.begin(), offers_.end(), [](const Item& x, const Item& y) {
    return x.seconds * static_cast<double>(y.bytes) < y.seconds * static_cast<double>(x.bytes);
  });
  if (offers_.size() > kMostItems) offers_.resize(kMostItems);
}

void Trade::pair_up(const std::vector<Item>& items, std::vector<Pair>& pairs) {
  pairs.clear();
  const auto count = static_cast<std::int32_t>(items.size());
  for (std::int32_t i = 0; i < count; ++i) {
    const Item& x = items[static_cast<std::size_t>(i)];
    pairs.push_back({x.seconds, x.bytes, i, -1});
    for (std::int32_t j = i + 1; j < count; ++j) {
      const Item& y = items[static_cast<std::size_t>(j)];
      pairs.push_back({x.seconds + y.seconds, x.bytes + y.bytes, i, j});
    }
  }
}

// For each pair of runs, the cheapest pair of drops that makes room for it.
void Trade::list_deals(Bytes room, Rng& rng) {
  deals_.clear();
  pair_up(runs_, backs_);
  pair_up(offers_, pairs_);
  std::stable_sort(pairs_.begin(), pairs_.end(),
                   [](const Pair& x, const Pair& y) { return x.bytes < y.bytes; });
  least_.assign(pairs_.size() + 1, std::numeric_limits<double>::infinity());
  least_at_.assign(pairs_.size() + 1, 0);
  for (std::size_t k = pairs_.size(); k-- > 0;) {
    const bool better = pairs_[k].seconds < least_[k + 1];
    least_[k] = better ? pairs_[k].seconds : least_[k + 1];
    least_at_[k] = better ? k : least_at_[k + 1];
  }
  for (const Pair& back : backs_) {
    const Bytes need = back.bytes - room;
    if (need <= 0) {
      deals_.push_back({back.seconds, back, {}});
      continue;
    }
    const auto it = std::lower_bound(pairs_.begin(), pairs_.end(), need,
                                     [](const Pair& p, Bytes bytes) { return p.bytes < bytes; });
    const auto k = static_cast<std::size_t>(it - pairs_.begin());
    if (least_[k] < back.seconds * (1 - 1e-6))
      deals_.push_back({back.seconds - least_[k], back, pairs_[least_at_[k]]});
  }
  // Those that came to nothing before would be the first again.
  for (Deal& deal : deals_) deal.gain *= rng.uniform();
  const std::size_t most = std::min(deals_.size(), kMostDeals);
  std::partial_sort(deals_.begin(), deals_.begin() + static_cast<std::ptrdiff_t>(most), deals_.end(),
                    [](const Deal& x, const Deal& y) { return x.gain > y.gain; });
  deals_.resize(most);
}

bool Trade::carry_out(const Deal& deal, std::int32_t at, double before, Rng& rng) {
  const std::size_t mark = line_->mark();
  bool good = true;
  for (const std::int32_t k : {deal.back.first, deal.back.second}) {
    if (k >= 0) line_->remove_with_its_own(runs_[static_cast<std::size_t>(k)].which);
  }
  for (const std::int32_t k : {deal.drop.first, deal.drop.second}) {
    if (k < 0 || !good) continue;
    const BufferId b = offers_[static_cast<std::size_t>(k)].which;
    good = drops_->evaluate(b, at, std::numeric_limits<double>::infinity(), trial_) && drops_->apply(trial_);
  }
  if (good && line_->peak() > drops_->budget())
    good = drops_->repair(before, 0, rng, 16) == Drops::Outcome::fits;
  if (good && line_->seconds() < before * (1 - 1e-9)) return true;
  line_->undo_to(mark);
  return false;
}

bool Trade::run(std::int32_t at, const std::vector<std::int32_t>& extra, Rng& rng) {
  const double before = line_->seconds();
  const Bytes room = drops_->budget() - line_->model().base - line_->profile().at(at);
  list_runs(at, extra);
  if (runs_.empty()) return false;
  double most = runs_[0].seconds;
  if (runs_.size() > 1) most += runs_[1].seconds;
  drops_->begin_exact();
  list_drops(at, most);
  list_deals(room, rng);
  for (const Deal& deal : deals_) {
    if (carry_out(deal, at, before, rng)) return true;
  }
  return false;
}

}  // namespace tidemark::plan
