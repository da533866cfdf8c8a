// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/search.h"

#include <cmath>
#include <limits>

namespace tidemark::plan {
namespace {
constexpr int kRoom = 7;
constexpr std::size_t kStarts = 4;
}  // namespace

Search::Search(const Model& model, const SearchOptions& options, Limit& limit)
    : model_(&model), options_(options), limit_(&limit), line_(model), drops_(line_, options.budget),
      improve_(line_, drops_, options.seed + 1), reorder_(model), best_seconds_(std::numeric_limits<double>::infinity()),
      least_peak_(std::numeric_limits<Bytes>::max()) {
  double bytes = 0;
  for (const Bytes b : model.size) bytes += static_cast<double>(b);
  mean_size_ = std::max(1.0, bytes / std::max(1, model.buffers));
}

void Search::consider() {
  least_peak_ = std::min(least_peak_, line_.peak());
  if (line_.peak() > options_.budget) return;
  const double seconds = line_.seconds();
  if (seconds < best_seconds_) {
    best_seconds_ = seconds;
    best_ = line_.runs();
  }
}

void Search::offer(const std::vector<TaskId>& runs) {
  line_.assign(runs, kRoom);
  consider();
  if (line_.peak() <= options_.budget) starts_.push_back({line_.seconds(), runs});
}

std::vector<TaskId> Search::anneal_order(const std::vector<TaskId>& order, double hot, std::int64_t moves) {
  reorder_.load(order);
  reorder_.anneal(options_.budget - model_->base, hot * mean_size_, 0.01 * mean_size_, moves, improve_.rng());
  return reorder_.runs();
}

void Search::start_from(const std::vector<TaskId>& order, bool thorough) {
  using Side = CutRule::Side;
  static constexpr CutRule kRules[] = {{.side = Side::mixed}, {.side = Side::fewer, .most_cuts = 1}, {.side = Side::more, .most_cuts = 1},
                                       {.side = Side::mixed, .margin = 0.9}, {.side = Side::mixed, .most_cuts = 0}};
  const std::size_t count = thorough ? std::size(kRules) : 1;
  for (std::size_t k = 0; k < count && !limit_->time_is_up(); ++k) {
    line_.assign(order, kRoom);
    const bool fits = repair_by_cuts(line_, drops_, kRules[k], improve_.rng(), *limit_);
    least_peak_ = std::min(least_peak_, line_.peak());
    if (!fits) continue;
    improve_.prune();
    consider();
    starts_.push_back({line_.seconds(), line_.runs()});
  }
}

void Search::start() {
  line_.assign(model_->order, kRoom);
  floor_ = line_.seconds();
  consider();
  if (found()) return;
  std::vector<std::vector<TaskId>> orders{model_->order};
  if (options_.reorder) {
    improve_.delay();
    improve_.advance();
    orders.insert(orders.begin(), line_.runs());
    consider();
    if (found()) return;
  }
  const auto n = static_cast<std::int64_t>(model_->order.size());
  if (options_.reorder && n <= 20000) {
    for (const double hot : {0.5, 3.0, 20.0}) {
      if (limit_->time_is_up()) break;
      orders.push_back(anneal_order(orders.front(), hot, 60 * n));
      line_.assign(orders.back(), kRoom);
      consider();
      if (found()) return;
    }
  }
  if (options_.recompute) {
    for (std::size_t k = 0; k < orders.size(); ++k) start_from(orders[k], k == 0);
  }
  std::stable_sort(starts_.begin(), starts_.end(), [](const Start& x, const Start& y) { return x.seconds < y.seconds; });
  if (starts_.size() > kStarts) starts_.resize(kStarts);
}

double Search::typical_extra() const {
  const auto extra = line_.run_count() - static_cast<std::int32_t>(model_->order.size());
  return std::max(0.0, line_.seconds() - floor_) / std::max(1, extra);
}

// One extra run goes, and the order makes up for it.
bool Search::remove_and_reorder() {
  std::vector<TaskId> runs = line_.runs();
  std::vector<std::size_t> extra;
  std::vector<char> seen(static_cast<std::size_t>(model_->all), 0);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    char& s = seen[static_cast<std::size_t>(runs[i])];
    if (s) extra.push_back(i);
    s = 1;
  }
  if (extra.empty()) return false;
  const std::size_t victim = extra[static_cast<std::size_t>(improve_.rng().below(static_cast<std::int64_t>(extra.size())))];
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(victim));
  reorder_.load(runs);
  const auto n = static_cast<std::int64_t>(runs.size());
  if (!reorder_.anneal(options_.budget - model_->base, 0.3 * mean_size_, 0.01 * mean_size_, 8 * n, improve_.rng())) return false;
  line_.assign(reorder_.runs(), kRoom);
  return true;
}

void Search::rounds_from(const Start& start, double until, double heat, const std::function<bool()>& go_on) {
  line_.assign(start.runs, kRoom);
  const double from = limit_->fraction();
  double current = line_.seconds();
  double joint = options_.reorder && model_->order.size() <= 20000 ? 64 : 0;  // rounds between attempts to reorder
  std::int64_t round = 0;
  while (limit_->fraction() < until && !limit_->time_is_up() && best_seconds_ > options_.enough && limit_->spend_round()) {
    ++round;
    const double left = std::max(0.0, (until - limit_->fraction()) / (until - from));
    const double slack = heat * left * left * typical_extra() * -std::log(improve_.rng().uniform() + 1e-12);
    bool changed = improve_.ruin_and_recreate(slack);
    if (joint > 0 && static_cast<double>(round % 4096) >= 0 && round % static_cast<std::int64_t>(joint) == 0) {
      const bool better = remove_and_reorder();
      joint = std::clamp(better ? joint / 2 : joint * 1.3, 4.0, 512.0);
      changed |= better;
    }
    if (changed) {
      line_.forget_log();
      current = line_.seconds();
      consider();
    }
    if (round % 512 == 0) {
      if (!go_on()) limit_->stop();
      if (current > best_seconds_ + 8 * heat * typical_extra()) {
        line_.assign(best_, kRoom);
        current = line_.seconds();
      }
    }
  }
  improve_.prune();
  line_.forget_log();
  consider();
}

void Search::improve(const std::function<bool()>& go_on) {
  if (starts_.empty() || !options_.recompute) return;
  if (best_seconds_ <= std::max(options_.enough, floor_)) return;
  const auto count = starts_.size();
  if (count > 1) {
    for (std::size_t k = 0; k < count; ++k) {
      rounds_from(starts_[k], 0.4 * static_cast<double>(k + 1) / static_cast<double>(count), 0.1, go_on);
    }
  }
  rounds_from({best_seconds_, best_}, 1, 0.1, go_on);
}

}  // namespace tidemark::plan
