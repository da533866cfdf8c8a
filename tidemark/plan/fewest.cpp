// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/fewest.h"

#include <algorithm>
#include <limits>

#include "tidemark/plan/emit.h"
#include "tidemark/plan/exact.h"
#include "tidemark/plan/frugal.h"
#include "tidemark/plan/order.h"
#include "tidemark/plan/search.h"

namespace tidemark::plan {
namespace {

constexpr std::uint64_t kSteps = 40;
constexpr double kWhole = 0.6;   // of the time, to look at every state of a tiny problem
constexpr double kFrugal = 0.4;  // of what is left, for runs by halving
constexpr double kLeastStride = 1e-3;
constexpr double kPress = 0.25;  // of a step's time, to make what is known fit

class Down {
 public:
  Down(const Model& model, const Options& options, const Descent& descent, const Limit& limit)
      : model_(model),
        options_(options),
        descent_(descent),
        limit_(limit),
        counted_(options.effort >= 0),
        line_(model),
        have_(descent.have) {}

  Bytes run() {
    if (is_tiny(model_) && (options_.tiers || !model_.has_copies())) whole();
    if (model_.problem->tiers.empty() && options_.recompute && more()) frugal();
    search_below();
    return have_;
  }

 private:
  bool more() const { return have_ > descent_.target && !limit_.time_is_up(); }

  void whole() {
    const auto least = exact_least(
        model_, descent_.floor,
        {.budget = have_, .reorder = options_.reorder, .recompute = options_.recompute}, limit_.rest(kWhole));
    if (least) take(least->runs);
  }

  void frugal() {
    std::vector<TaskId> listed;
    for (std::size_t t = 0; t < model_.problem->tasks.size(); ++t) {
      if (!model_.problem->tasks[t].optional) listed.push_back(static_cast<TaskId>(t));
    }
    const Limit share = counted_ ? limit_ : limit_.rest(kFrugal);
    const double seconds = limit_.left();
    halve(listed, share);
    if (options_.reorder && more() && !share.time_is_up()) {
      OrderOptions by{.in_place = options_.in_place, .time_limit = std::min(0.1 * seconds, 0.5)};
      if (counted_) by = {.in_place = options_.in_place, .time_limit = 1e9, .effort = 20'000};
      halve(order(*model_.problem, by), share);
    }
    if (!fewest_.empty()) take(fewest_);
  }

  void halve(const std::vector<TaskId>& order, const Limit& share) {
    note(order);
    Bytes low = descent_.floor - 1, high = fewest_.empty() ? have_ : peak_;
    // What is enough first, and no further: with fewer bytes there are more runs. Packing needs fewer, who knows how many.
    const Bytes enough = options_.offsets ? 0 : descent_.target;
    Bytes budget = enough > low ? enough : low + (high - low) / 2;
    for (; high - low > std::max<Bytes>(1, high / 250) && peak_ > enough && !share.time_is_up();
         budget = low + (high - low) / 2) {
      const std::vector<TaskId> runs = frugal_runs(*model_.problem, order, budget, 4 * order.size() + 1000,
                                                   [&] { return !share.time_is_up(); });
      const Bytes before = peak_;
      if (runs.empty() || note(runs) >= before) {
        low = budget;
      } else {
        high = std::min(budget, peak_);
      }
    }
  }

  void take(const std::vector<TaskId>& runs) {
    note(runs);
    have_ = descent_.take(runs);
  }

  Bytes note(const std::vector<TaskId>& runs) {
    line_.assign(runs, 0);
    if (line_.peak() < peak_) {
      peak_ = line_.peak();
      fewest_ = runs;
    }
    return line_.peak();
  }

  // How far to go from what fits towards the floor. What a search comes to on its way to a budget that is too small is the least it can
  // do, and often less than what it needs for one that is not. A budget at which nothing was found in its share of the time is not known
  // to be impossible, so the next try is nearer to what fits.
  void search_below() {
    double stride = 0.6;
    for (std::uint64_t k = 0; k < kSteps && descent_.floor < have_ && more(); ++k) {
      const auto less = static_cast<Bytes>(static_cast<double>(have_ - descent_.floor) * stride);
      const Bytes before = have_, budget = before - std::max<Bytes>(1, less);
      Limit limit(counted_ ? 1e9 : 0.5 * limit_.left(), options_.effort);
      limit.ask([this] { return !limit_.time_is_up(); });
      const SearchOptions by{.budget = budget,
                             .seed = options_.seed + k,
                             .reorder = options_.reorder,
                             .recompute = options_.recompute,
                             .tiers = options_.tiers,
                             .blocks = options_.blocks,
                             .enough = std::numeric_limits<double>::max()};
      start(by, limit);
      if (have_ > budget) press(by, limit);
      if (have_ <= before - std::max<Bytes>(1, less / 4)) continue;
      stride /= 2;
      if (stride < kLeastStride) break;
    }
  }

  // What came nearest may need only a little more. Where its live bytes fit already, it is the packing that is larger.
  void press(const SearchOptions& by, const Limit& limit) {
    if (fewest_.empty() || peak_ <= by.budget) return;
    Limit share = limit.rest(kPress);
    Search search(model_, by, share);
    search.press(fewest_);
    if (!search.least_runs().empty()) take(search.least_runs());
  }

  void start(const SearchOptions& by, Limit& limit) {
    Search search(model_, by, limit);
    if (options_.warm_start != nullptr) search.offer(runs_of_steps(model_, options_.warm_start->steps));
    search.start();
    if (!search.least_runs().empty()) take(search.least_runs());
  }

  const Model& model_;
  const Options& options_;
  const Descent& descent_;
  const Limit& limit_;
  const bool counted_;  // then what is found does not depend on the time
  Timeline line_;
  Bytes have_, peak_ = std::numeric_limits<Bytes>::max();
  std::vector<TaskId> fewest_;  // of peak_
};

}  // namespace

Bytes descend(const Model& model, const Options& options, const Descent& descent, const Limit& limit) {
  return Down(model, options, descent, limit).run();
}

}  // namespace tidemark::plan
