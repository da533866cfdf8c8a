// The driver of pack: greedy answers first, then better ones for as long as there is time and something to
// gain. What is tried, and in which order, does not depend on the capacity, which only says when to stop: so
// whatever fits one capacity is also found, and no later, under every larger one. SPDX-License-Identifier:
// Apache-2.0
#include "tidemark/plan/pack.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/pack_eject.h"
#include "tidemark/plan/pack_exact.h"
#include "tidemark/plan/pack_improve.h"
#include "tidemark/plan/pack_orders.h"
#include "tidemark/plan/pack_sweep.h"

namespace tidemark::plan {
namespace {

using namespace packing;

class Driver {
 public:
  Driver(const Items& items, Units target, const PackOptions& options)
      : items_(items),
        target_(target),
        aim_(options.aim),
        effort_(options.effort),
        stop_(options.stop),
        limit_(options.time_limit, -1),
        tree_(items.sections()) {
    limit_.watch(options.stop);
    limit_.ask(options.go_on);
  }

  Layout run() {
    bound_ = items_.lower_bound;
    if (items_.items.empty()) return {};
    // Where nothing else is of use, a sweep or two answer before all rules have. They fill what there is: with more than enough, or few items, rules leave the arena smaller.
    const bool tight = aim_ && bound_ <= target_ && target_ <= bound_ + bound_ / 16;
    if (tight && is_many() && looking_pays()) sweep_round(0, limit_.rest(kSweepsFirst));
    if (!best_.offsets.empty()) return std::move(best_);
    greedy();
    if (!done() && !sweeps_ && looking_pays()) sweep_round(0, limit_);
    if (done()) return std::move(best_);
    std::optional<Exact> exact;
    if (exact_pays(items_)) exact.emplace(items_);
    const Orders orders(items_);
    // The exact search gets to an end with few items, as a rule, and hardly ever with very many.
    const bool few = aim_ || items_.items.size() <= 500;
    if (!aim_ && is_many() && looking_pays()) eject_round(0);
    if (done()) return std::move(best_);
    // A sixteenth above the bound is within reach of a dive or two nearly always: an answer in milliseconds.
    if (exact && bound_ + bound_ / 16 < best_.height)
      attempt(*exact, orders, bound_ + bound_ / 16, 2 * static_cast<std::int64_t>(items_.items.size()),
              Orders::kNamed, 0);
    // Sets that can be packed without holes are, at once, in one of the orders.
    if (exact && !aim_ && !few) attempt(*exact, orders, bound_, dive(), Orders::kNamed, 0);
    for (std::int64_t round = 0; !done(); ++round) {
      if (exact && few) exact_round(*exact, orders, round);
      if (looking_pays() && round > 0) sweep_round(round, limit_);
      if (looking_pays()) eject_round(round);
      if (exact && !few) exact_round(*exact, orders, round);
      improve_round(exact ? std::int64_t{2000} << std::min<std::int64_t>(round, 40) : std::int64_t{1} << 60);
    }
    return std::move(best_);
  }

 private:
  bool done() const {
    const bool reached = !best_.offsets.empty() && (best_.height <= target_ || best_.height <= bound_);
    return reached || (aim_ && bound_ > target_) || (effort_ >= 0 && nodes_ >= effort_) ||
           limit_.time_is_up();
  }

  void keep(Layout layout) {
    if (best_.offsets.empty() || layout.height < best_.height) best_ = std::move(layout);
  }

  void greedy() {
    static constexpr std::array<std::pair<Rule, Fit>, 8> rules{{{Rule::busiest_duration, Fit::best},
                                                                {Rule::size_start, Fit::best},
                                                                {Rule::busiest_size, Fit::best},
                                                                {Rule::duration, Fit::best},
                                                                {Rule::size_start, Fit::first},
                                                                {Rule::size_duration, Fit::best},
                                                                {Rule::area, Fit::first},
                                                                {Rule::start, Fit::best}}};
    static constexpr std::size_t kImproved = 4;
    // An answer in no time; a better one however little there is of it, where lives are as they come: dense ones take far longer.
    constexpr std::size_t kMany = 10'000;
    constexpr double kForAnItem = 1e-5;  // seconds
    if (items_.items.size() > kMany) keep(fit_in_turn(items_));
    if (!best_.offsets.empty() && best_.height <= std::max(target_, bound_)) return;
    Limit first(std::max(limit_.left(), kForAnItem * static_cast<double>(items_.items.size())), -1);
    first.watch(stop_);
    for (std::size_t k = 0; k < rules.size(); ++k) {
      const auto [rule, kind] = rules[k];
      std::vector<std::int32_t> order = order_by(items_, rule);
      const Limit& clock = k == 0 ? first : limit_;
      Fitted fitted = fit(items_, order, kind, tree_, std::numeric_limits<Units>::max(), &clock);
      if (fitted.too_high < 0)
        keep(std::move(fitted.layout));
      else if (best_.offsets.empty())
        keep(fit_in_turn(items_));
      if (k < kImproved) improvers_.emplace_back(items_, std::move(order), kind, k);
      if (best_.height <= target_ || best_.height <= bound_ || limit_.time_is_up()) return;
    }
  }

  static constexpr std::int64_t kSweeps = 8;   // of the first round
  static constexpr double kSweepsFirst = 0.4;  // of the time, where they come before all rules

  bool is_many() const { return items_.items.size() > 1500; }

  // Each place that an ejection looks for takes a look at all items, one of a sweep at all that live by then.
  bool looking_pays() const { return items_.items.size() <= 10'000; }

  // It ends soon or is lost: a few tries each round, longer ones the next.
  void eject_round(std::int64_t round) {
    const std::int64_t tries = aim_ ? 1 : 3;
    const std::int64_t nodes = (aim_ ? 2 : 8) * dive() << std::min<std::int64_t>(round, 30);
    for (std::int64_t k = 0; k < tries && !done() && (aim_ || best_.height - bound_ > least_step());) {
      // Each look at all items counts as what it takes beside a node of the exact search.
      const auto cost = static_cast<std::int64_t>(1 + items_.items.size() / 256);
      Budget budget{nodes, &limit_};
      if (effort_ >= 0) budget.nodes = std::min(budget.nodes, (effort_ - nodes_) / cost + 1);
      const std::int64_t given = budget.nodes;
      Layout layout;
      const bool found = eject(items_, aimed_height(0.25), static_cast<std::uint64_t>(tries * round + k),
                               budget, layout.offsets);
      nodes_ += cost * (given - std::max<std::int64_t>(budget.nodes, 0));
      if (found) {
        layout.height = height_of(items_, layout.offsets);
        keep(std::move(layout));
      } else {
        ++k;
      }
    }
  }

  // Where the height is another one each time, sweeps begin anew for each that they reach.
  void sweep_round(std::int64_t round, const Limit& limit) {
    const std::int64_t most = kSweeps << std::min<std::int64_t>(round, 30);
    const auto pays = [&] { return aim_ || best_.height - bound_ > least_step(); };
    for (std::int64_t k = 0; k < most && !done() && !limit.time_is_up() && pays(); ++k) {
      const Units height = aimed_height(0.25);
      if (!sweeps_ || sweeps_->height() != height) sweeps_.emplace(items_, height);
      const bool found = sweeps_->next(limit);
      nodes_ += std::ssize(items_.items);
      if (!found) continue;
      keep({sweeps_->offsets(), height_of(items_, sweeps_->offsets())});
      k = -1;
    }
  }

  // Nodes of the exact search: to the end and a few steps back.
  std::int64_t dive() const {
    const auto items = static_cast<std::int64_t>(items_.items.size());
    return items + items / 8;
  }

  // Less is not worth a search of its own.
  Units least_step() const { return std::max<Units>(1, items_.lower_bound / 1024); }

  // What a try is to reach: the target alone, or a part of what is left to gain.
  Units aimed_height(double part) const {
    if (aim_) return std::max(bound_, target_);
    return best_.height -
           std::max<Units>(1, static_cast<Units>(part * static_cast<double>(best_.height - bound_)));
  }

  // Looks for the least height within reach of this round's effort by halving the gap, but first and longest
  // at the bound itself: the tighter the height, the more of the tree is cut off.
  void exact_round(Exact& exact, const Orders& orders, std::int64_t round) {
    const std::int64_t nodes = std::int64_t{750} << std::min<std::int64_t>(round, 40);
    if (aim_) {
      // Where it fits, it fits at once in one of the orders, as a rule: each gets little more than a dive before any gets more.
      attempt(exact, orders, std::max(bound_, target_), dive() << std::min<std::int64_t>(2 * round, 30),
              Orders::kNamed * (round + 1) + 4, round);
      return;
    }
    attempt(exact, orders, bound_, 4 * nodes, Orders::kNamed * (round + 1) + 4, round);
    Units low = bound_;
    while (!done() && best_.height - low > least_step()) {
      const Units height = low + (best_.height - low) / 2;
      if (height == low) break;
      if (!attempt(exact, orders, height, nodes, Orders::kNamed + 4, round)) low = height;
      low = std::max(low, bound_);
    }
  }

  bool attempt(Exact& exact, const Orders& orders, Units height, std::int64_t nodes, std::int64_t tries,
               std::int64_t round) {
    for (std::int64_t k = 0; k < tries && !done(); ++k) {
      Budget budget{nodes, &limit_};
      if (effort_ >= 0) budget.nodes = std::min(budget.nodes, effort_ - nodes_);
      const std::int64_t given = budget.nodes;
      Layout layout;
      const std::int64_t number = k < Orders::kNamed ? k : k + round * 1000;
      const bool learned = k >= Orders::kNamed && k % 2 == 1;
      const std::vector<std::int32_t> rank =
          learned ? orders.rank(number, exact.failures()) : orders.rank(number);
      const Answer answer = exact.search(height, rank, budget, layout.offsets);
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

  void improve_round(std::int64_t nodes) {
    const std::int64_t until = nodes_ + nodes;
    while (!done() && nodes_ < until) {
      for (Improver& improver : improvers_) {
        if (done()) return;
        Fitted fitted = improver.step(aimed_height(0.5), tree_, limit_);
        nodes_ += fitted.placed + 1;
        if (fitted.too_high < 0) keep(std::move(fitted.layout));
      }
    }
  }

  const Items& items_;
  const Units target_;
  const bool aim_;
  const std::int64_t effort_;
  const std::atomic<bool>* stop_;
  Limit limit_;
  std::int64_t nodes_ = 0;
  Units bound_ = 0;  // no packing is lower
  AddressTree tree_;
  std::vector<Improver> improvers_;
  std::optional<Sweeps> sweeps_;
  Layout best_;
};

}  // namespace

Packing pack(std::span<const Interval> intervals, const PackOptions& options) {
  const Items items = make_items(intervals, options.align);
  const Units target = options.capacity < 0 ? 0 : options.capacity / options.align;
  return packing_of(items, Driver(items, target, options).run(), options.align);
}

}  // namespace tidemark::plan
