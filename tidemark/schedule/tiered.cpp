// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/tiered.h"

#include <algorithm>
#include <limits>

#include "tidemark/schedule/least_sum.h"
#include "tidemark/schedule/need.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kBetweenWatches = 256;  // entries of a table

class TieredPolicy final : public Policy {
 public:
  explicit TieredPolicy(TierTable table) : table_(std::move(table)) {}

  Choice choose(const Frame& f) override {
    const std::int64_t l = f.to - f.from;
    std::int64_t m = f.budget;
    int k = static_cast<int>(f.level);
    if (f.stored) {
      const std::int64_t x = table_.split(k, m, l);
      if (x == 0) return {.kind = Choice::Kind::leave, .budget = table_.memory(k - 1).slots, .level = k - 1};
      return {.kind = Choice::Kind::split,
              .at = f.from + x,
              .budget = m,
              .level = k,
              .child_budget = m < 0 ? -1 : m - 1,
              .child_level = k};
    }
    while (k > 0 && table_.unstored(k, m, l) == table_.unstored(k - 1, table_.memory(k - 1).slots, l))
      m = table_.memory(--k).slots;
    return {.kind = Choice::Kind::store, .tier = k, .budget = m, .level = k};
  }

 private:
  TierTable table_;
};

constexpr double kMostSums = 3e10;  // some ten seconds

SchedulePtr walk(const char* name, std::int64_t steps, std::span<const Memory> memories, const Watch& watch) {
  need_steps(name, steps);
  for (const Memory& m : memories) {
    need_cost(name, "write", m.write);
    need_cost(name, "read", m.read);
  }
  // The fastest tier may have no slot if another one has.
  const bool any =
      std::any_of(memories.begin(), memories.end(), [](const Memory& m) { return m.slots != 0; });
  if (!any) need(name, "slots", 0, 1);
  for (const Memory& m : memories)
    if (m.slots < -1) need(name, "slots", m.slots, 0);
  if (steps > 100'000)
    fail(Error::Kind::unsupported, "[{}] steps {} vs at most 100000: its tables grow with their square", name,
         steps);
  double tables = 0;
  for (const Memory& m : memories) tables += m.slots < 0 ? 1 : static_cast<double>(m.slots);
  const double sums = 0.5 * tables * static_cast<double>(steps) * static_cast<double>(steps);
  if (sums > kMostSums)
    fail(Error::Kind::unsupported,
         "[{}] {} steps with {} slots need {:.0e} sums vs at most {:.0e}; fewer steps or slots", name, steps,
         memories.front().slots, sums, kMostSums);
  TierTable table(steps, memories, watch);
  const Frame whole{.from = 0, .to = steps, .budget = memories.back().slots, .level = table.last_tier()};
  return std::make_unique<Walk>(std::make_unique<TieredPolicy>(std::move(table)), whole);
}

}  // namespace

TierTable::TierTable(std::int64_t steps, std::span<const Memory> memories, const Watch& watch)
    : steps_(steps), memories_(memories.begin(), memories.end()), layers_(memories.size()) {
  for (int k = 0; k <= last_tier(); ++k) {
    auto& layers = layers_[static_cast<std::size_t>(k)];
    const std::int64_t slots = memory(k).slots;
    if (slots < 0) {
      layers.push_back(solve(k, nullptr, watch));
      continue;
    }
    const Layer none;
    for (std::int64_t m = 1; m <= slots; ++m) {
      Layer next = solve(k, m == 1 ? &none : &layers.back(), watch);
      if (m > 1 && next.unstored == layers.back().unstored && next.stored == layers.back().stored) break;
      layers.push_back(std::move(next));
    }
  }
}

const TierTable::Layer& TierTable::layer(int tier, std::int64_t slots) const {
  const auto& layers = layers_[static_cast<std::size_t>(tier)];
  if (slots < 0) return layers.back();
  return layers[std::min(static_cast<std::size_t>(slots), layers.size()) - 1];
}

double TierTable::unstored(int tier, std::int64_t slots, std::int64_t steps) const {
  if (steps == 1) return 0;
  if (tier < 0) return kNever;
  if (slots == 0) return tier == 0 ? kNever : unstored(tier - 1, memory(tier - 1).slots, steps);
  return layer(tier, slots).unstored[static_cast<std::size_t>(steps)];
}

double TierTable::stored(int tier, std::int64_t slots, std::int64_t steps) const {
  return steps == 1 ? 0 : layer(tier, slots).stored[static_cast<std::size_t>(steps)];
}

// `fewer` is the layer with a slot less (empty: with none), null for a tier without limit, which is its own.
TierTable::Layer TierTable::solve(int tier, const Layer* fewer, const Watch& watch) const {
  const auto n = static_cast<std::size_t>(steps_);
  const Memory& mem = memory(tier);
  Layer out{std::vector<double>(n + 1, 0), std::vector<double>(n + 1, 0)};
  // moved[x] = x + read + S(x); right[n - l] = U(l) for the part behind the split: reversed, so that both run
  // upwards.
  std::vector<double> moved(n + 1, 0), right(n + 1, kNever);
  const auto below = [&](std::int64_t l) {
    return tier == 0 ? (l == 1 ? 0.0 : kNever) : unstored(tier - 1, memory(tier - 1).slots, l);
  };
  if (fewer)
    for (std::size_t l = 1; l <= n; ++l)
      right[n - l] = fewer->unstored.empty() ? below(static_cast<std::int64_t>(l)) : fewer->unstored[l];
  for (std::size_t l = 1; l <= n; ++l) {
    const auto steps = static_cast<std::int64_t>(l);
    if (watch && l % kBetweenWatches == 0) watch();
    if (l > 1) {
      const double split = least_sum(&moved[1], &right[n - l + 1], steps - 1);
      const double leave = below(steps);
      out.stored[l] = std::min(leave, split);
      out.unstored[l] = std::min(leave, mem.write + out.stored[l]);
    }
    moved[l] = static_cast<double>(l) + mem.read + out.stored[l];
    if (!fewer) right[n - l] = out.unstored[l];
  }
  return out;
}

std::int64_t TierTable::split(int tier, std::int64_t slots, std::int64_t steps) const {
  const double best = stored(tier, slots, steps);
  if (tier > 0 && unstored(tier - 1, memory(tier - 1).slots, steps) <= best) return 0;
  for (std::int64_t x = 1; x < steps; ++x) {
    const double behind = unstored(tier, slots < 0 ? -1 : slots - 1, steps - x);
    if (static_cast<double>(x) + memory(tier).read + stored(tier, slots, x) + behind <= best) return x;
  }
  TIDEMARK_CHECK(false, "no split of {} steps costs {}", steps, best);
  return 0;
}

SchedulePtr revolve(std::int64_t steps, std::int64_t slots, const Costs& ram, const Watch& watch) {
  need_steps("revolve", steps);
  need("revolve", "slots", slots, 1);
  if (ram.write == 0 && ram.read == 0) return revolve(steps, slots);
  const Memory tiers[] = {{std::min(slots, steps), ram.write, ram.read}};
  return walk("revolve", steps, tiers, watch);
}

SchedulePtr disk_revolve(std::int64_t steps, std::int64_t slots, const Costs& ram, const Costs& disk,
                         const Watch& watch) {
  need("disk_revolve", "slots", slots, 0);
  const Memory tiers[] = {{std::min(slots, steps), ram.write, ram.read}, {-1, disk.write, disk.read}};
  return walk("disk_revolve", steps, tiers, watch);
}

SchedulePtr h_revolve(std::int64_t steps, std::int64_t slots, std::int64_t disk_slots, const Costs& ram,
                      const Costs& disk, const Watch& watch) {
  need("h_revolve", "slots", slots, 0);
  need("h_revolve", "disk_slots", disk_slots, 0);
  const Memory tiers[] = {{std::min(slots, steps), ram.write, ram.read},
                          {std::min(disk_slots, steps), disk.write, disk.read}};
  return walk("h_revolve", steps, tiers, watch);
}

}  // namespace tidemark::schedule
