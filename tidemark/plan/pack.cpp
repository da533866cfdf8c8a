// The driver of pack: greedy answers first, then better ones for as long as there is time and something to
// gain. What is tried, and in which order, does not depend on the capacity, which only says when to stop: so
// whatever fits one capacity is also found, and no later, under every larger one. SPDX-License-Identifier:
// Apache-2.0
#include "tidemark/plan/pack.h"

#include <algorithm>

#include "tidemark/plan/pack_clock.h"
#include "tidemark/plan/pack_exact.h"
#include "tidemark/plan/pack_greedy.h"
#include "tidemark/plan/pack_orders.h"

namespace tidemark::plan {
namespace {

using namespace packing;

class Driver {
 public:
  Driver(const Items& items, Units target, const PackOptions& options)
      : items_(items), target_(target), effort_(options.effort), stop_(cpu_seconds() + options.time_limit) {}

  Layout run() {
    greedy();
    if (!done() && exact_pays()) exact();
    return std::move(best_);
  }

 private:
  bool done() const {
    return best_.height <= target_ || best_.height <= bound_ || spent() || cpu_seconds() > stop_;
  }
  bool spent() const { return effort_ >= 0 && nodes_ >= effort_; }

  void keep(Layout layout) {
    if (best_.offsets.empty() || layout.height < best_.height) best_ = std::move(layout);
  }

  void greedy() {
    bound_ = items_.lower_bound;
    AddressTree tree(items_.sections());
    for (const Rule rule :
         {Rule::size_start, Rule::busiest_duration, Rule::duration, Rule::busiest_size, Rule::area, Rule::start}) {
      const std::vector<std::int32_t> order = order_by(items_, rule);
      for (const Fit kind : {Fit::best, Fit::first}) {
        keep(fit(items_, order, kind, tree).layout);
        if (best_.height <= target_ || cpu_seconds() > stop_) return;
      }
    }
  }

  // The exact search holds all pairs that are live together, and a list of items per level.
  bool exact_pays() const {
    constexpr double kMostPairs = 2e6;
    double pairs = 0;
    std::vector<std::int32_t> begins(static_cast<std::size_t>(items_.sections()), 0);
    for (const Item& i : items_.items) ++begins[static_cast<std::size_t>(i.begin)];
    for (const Item& i : items_.items)
      for (std::int32_t s = i.begin; s < i.end && pairs < kMostPairs; ++s)
        pairs += begins[static_cast<std::size_t>(s)];
    return items_.items.size() <= 3000 && pairs < kMostPairs;
  }

  // Rounds of growing effort; each looks for the least height that it can reach by halving the gap.
  void exact() {
    Exact search(items_);
    const Orders orders(items_);
    const Units step = std::max<Units>(1, items_.lower_bound / 1024);
    for (std::int64_t round = 0; !done() && round < 40; ++round) {
      const std::int64_t nodes = std::int64_t{1000} << round;
      const std::int64_t tries = Orders::kNamed * (round + 1);
      Units low = bound_ - 1;
      Units height = bound_;
      while (!done() && height < best_.height) {
        if (!attempt(search, orders, height, nodes, tries, round)) low = std::max(low, height);
        low = std::max(low, bound_ - 1);
        if (best_.height - low <= step && height != bound_) break;
        height = low + (best_.height - low) / 2;
        if (height <= low || height >= best_.height) break;
      }
    }
  }

  bool attempt(Exact& search, const Orders& orders, Units height, std::int64_t nodes, std::int64_t tries,
               std::int64_t round) {
    for (std::int64_t k = 0; k < tries && !done(); ++k) {
      Budget budget{nodes, stop_};
      if (effort_ >= 0) budget.nodes = std::min(budget.nodes, effort_ - nodes_);
      const std::int64_t given = budget.nodes;
      Layout layout;
      const std::int64_t number = k < Orders::kNamed ? k : k + round * 1000;
      const Answer answer = search.search(height, orders.rank(number), budget, layout.offsets);
      nodes_ += given - std::max<std::int64_t>(budget.nodes, 0);
      if (answer == Answer::impossible) {
        bound_ = height + 1;
        return false;
      }
      if (answer == Answer::found) {
        layout.height = height_of(items_, layout.offsets);
        keep(std::move(layout));
        return true;
      }
    }
    return false;
  }

  const Items& items_;
  const Units target_;
  const std::int64_t effort_;
  const double stop_;
  std::int64_t nodes_ = 0;
  Units bound_ = 0;  // no packing is lower
  Layout best_;
};

}  // namespace

Packing pack(std::span<const Interval> intervals, const PackOptions& options) {
  const Items items = make_items(intervals, options.align);
  const Units target = options.capacity < 0 ? 0 : options.capacity / options.align;
  const Layout best = Driver(items, target, options).run();

  Packing out;
  out.offsets.assign(intervals.size(), 0);
  for (std::size_t i = 0; i < intervals.size(); ++i)
    if (items.item_of[i] >= 0)
      out.offsets[i] = best.offsets[static_cast<std::size_t>(items.item_of[i])] * options.align;
  out.bytes = best.height * options.align;
  out.lower_bound = items.lower_bound * options.align;
  return out;
}

}  // namespace tidemark::plan
