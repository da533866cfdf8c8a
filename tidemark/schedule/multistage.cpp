// Revolve over two tiers: its checkpoints form a stack, and each place of the stack is given the tier that
// its traffic pays for. Stumm & Walther, "MultiStage approaches for optimal offline checkpointing", SISC 31
// (2009).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "tidemark/schedule/need.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

// Tier of each place of the stack; the place of a frame is the number of slots that those around it hold.
class StackPolicy final : public Policy {
 public:
  StackPolicy(std::int64_t slots, std::vector<int> tier_of_place)
      : slots_(slots), tier_of_place_(std::move(tier_of_place)) {}
  Choice choose(const Frame& f) override {
    Choice c = revolve_.choose(f);
    if (c.kind == Choice::Kind::store && !tier_of_place_.empty())
      c.tier = tier_of_place_[static_cast<std::size_t>(slots_ - f.budget)];
    return c;
  }

 private:
  RevolvePolicy revolve_;
  std::int64_t slots_;
  std::vector<int> tier_of_place_;
};

}  // namespace

SchedulePtr multistage(std::int64_t steps, std::int64_t slots, std::int64_t disk_slots, const Costs& ram,
                       const Costs& disk, const Watch& watch) {
  need_steps("multistage", steps);
  need("multistage", "slots", slots, 0);
  need("multistage", "disk_slots", disk_slots, 0);
  need("multistage", "slots and disk_slots together", std::min(slots, steps) + std::min(disk_slots, steps),
       1);
  // More slots than states are never in use at once; then all may be in RAM.
  const std::int64_t all = std::min(steps, std::min(slots, steps) + std::min(disk_slots, steps));
  const Frame whole{.from = 0, .to = steps, .budget = all};
  std::vector<double> price(static_cast<std::size_t>(all), 0);
  double write = disk.write - ram.write, read = disk.read - ram.read;
  if (write == 0 && read == 0) write = read = 1;  // no prices: count accesses
  // Walk hands out slots as a stack, so an index is a place.
  Walk trial(std::make_unique<RevolvePolicy>(), whole);
  std::int64_t actions = 0;
  for (Action a = trial.next(); a.kind != Action::Kind::done; a = trial.next()) {
    if (watch && ++actions % 4096 == 0) watch();
    if (a.kind == Action::Kind::save) price[static_cast<std::size_t>(a.slot.index)] += write;
    if (a.kind == Action::Kind::restore) price[static_cast<std::size_t>(a.slot.index)] += read;
  }
  std::vector<std::size_t> order(price.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return price[a] > price[b]; });
  std::vector<int> tier(price.size(), 1);
  for (std::size_t i = 0; i < order.size() && static_cast<std::int64_t>(i) < slots; ++i) tier[order[i]] = 0;
  return std::make_unique<Walk>(std::make_unique<StackPolicy>(all, std::move(tier)), whole);
}

}  // namespace tidemark::schedule
