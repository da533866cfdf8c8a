// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/chain.h"

#include <algorithm>

#include "tidemark/schedule/chain_table.h"
#include "tidemark/schedule/need.h"
#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/schedules.h"
#include "tidemark/schedule/walk.h"

namespace tidemark::schedule {
namespace {

struct Rounding {
  Bytes granularity = 1;
  std::int32_t units = 0;
  std::int64_t up(Bytes bytes) const { return (bytes + granularity - 1) / granularity; }
};

Rounding rounding(Bytes budget, std::int64_t units) {
  const Bytes granularity = std::max<Bytes>(1, (budget + units - 1) / units);
  return {granularity, static_cast<std::int32_t>(budget / granularity)};
}

std::int32_t clamp(std::int64_t units) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(units, 1 << 30));
}

ChainTable table_of(std::span<const ChainStep> steps, const Rounding& r, const Watch& watch) {
  std::vector<Link> links;
  for (const ChainStep& s : steps) {
    Link l{static_cast<float>(s.forward), clamp(r.up(s.state)), clamp(r.up(s.tape)), {}};
    for (std::int64_t m = 0; m <= r.units; ++m)
      l.reverse.push_back(m + l.state >= l.tape ? l.forward : ChainTable::kNever);
    links.push_back(std::move(l));
  }
  return ChainTable(std::move(links), r.units, watch);
}

// Frame::budget is the units that are free beside what is stored around the segment, and beside its own state
// if that is stored.
class StepPolicy final : public Policy {
 public:
  explicit StepPolicy(ChainTable table) : table_(std::move(table)) {}
  Choice choose(const Frame& f) override {
    return choose(table_, f, static_cast<std::int32_t>(f.from), static_cast<std::int32_t>(f.to), 0);
  }

  // In a table whose link i is step i + offset.
  static Choice choose(ChainTable& table, const Frame& f, std::int32_t s, std::int32_t t,
                       std::int64_t offset) {
    const Link& l = table.link(s);
    const std::int64_t m = f.budget;
    if (!f.stored) {
      if (table.stores(s, t, m))
        return {.kind = Choice::Kind::store, .budget = m - l.state, .level = f.level};
      return {.kind = Choice::Kind::tape, .child_budget = m - l.tape, .child_level = f.level};
    }
    const std::int32_t x = table.split(s, t, m);
    if (x == s)
      return {.kind = Choice::Kind::tape, .child_budget = m + l.state - l.tape, .child_level = f.level};
    return {.kind = Choice::Kind::split,
            .at = x + offset,
            .budget = m,
            .level = f.level,
            .child_budget = m,
            .child_level = f.level};
  }

 private:
  ChainTable table_;
};

// Two tables: links are runs of steps, and each run has its own table of steps. Frame::level: 0 over runs, 1
// inside one run, 2 taping up to the end of a run.
class RunPolicy final : public Policy {
 public:
  RunPolicy(std::span<const ChainStep> steps, std::vector<std::int64_t> begins, const Rounding& r,
            const Watch& watch)
      : begins_(std::move(begins)), runs_(make(steps, r, watch)) {}

  double cost(std::int32_t units) { return static_cast<double>(runs_.unstored(0, runs_.links(), units)); }

  Choice choose(const Frame& f) override {
    const auto at = std::upper_bound(begins_.begin(), begins_.end(), f.from) - 1;
    const auto run = static_cast<std::int32_t>(at - begins_.begin());
    const bool begins = *at == f.from;
    ChainTable& inside = inside_[static_cast<std::size_t>(run)];
    if (f.level == 1) return within(inside, f, *at);
    if (f.level == 2 && !begins) {
      const Link& l = inside.link(static_cast<std::int32_t>(f.from - *at));
      return {.kind = Choice::Kind::tape, .child_budget = f.budget - l.tape, .child_level = 2};
    }
    const auto end =
        static_cast<std::int32_t>(std::lower_bound(begins_.begin(), begins_.end(), f.to) - begins_.begin());
    return over_runs(f, run, end);
  }

 private:
  Choice over_runs(const Frame& f, std::int32_t s, std::int32_t t) {
    ChainTable& inside = inside_[static_cast<std::size_t>(s)];
    const std::int64_t m = f.budget;
    if (!f.stored && runs_.stores(s, t, m))
      return {.kind = Choice::Kind::store, .budget = m - runs_.link(s).state, .level = 0};
    if (f.stored && t == s + 1) return within(inside, f, f.from);
    const std::int32_t x = f.stored ? runs_.split(s, t, m) : s;
    if (x == s) {
      const Link& first = inside.link(0);
      return {.kind = Choice::Kind::tape,
              .child_budget = m + (f.stored ? first.state : 0) - first.tape,
              .child_level = 2};
    }
    return {.kind = Choice::Kind::split,
            .at = begins_[static_cast<std::size_t>(x)],
            .budget = m,
            .child_budget = m};
  }

  static Choice within(ChainTable& inside, const Frame& f, std::int64_t offset) {
    Frame g = f;
    g.level = 1;
    return StepPolicy::choose(inside, g, static_cast<std::int32_t>(f.from - offset),
                              static_cast<std::int32_t>(f.to - offset), offset);
  }

  ChainTable make(std::span<const ChainStep> steps, const Rounding& r, const Watch& watch) {
    std::vector<Link> links;
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      const std::int64_t from = begins_[i], to = i + 1 < begins_.size()
                                                     ? begins_[i + 1]
                                                     : static_cast<std::int64_t>(steps.size());
      inside_.push_back(table_of(
          steps.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)), r, watch));
      ChainTable& inside = inside_.back();
      Link l;
      double forward = 0;
      std::int64_t tape = 0;
      for (std::int32_t k = 0; k < inside.links(); ++k) {
        forward += static_cast<double>(inside.link(k).forward);
        tape += inside.link(k).tape;
      }
      l.forward = static_cast<float>(forward);
      l.tape = clamp(tape);
      l.state = inside.link(0).state;
      for (std::int64_t m = 0; m <= r.units; ++m) l.reverse.push_back(inside.stored(0, inside.links(), m));
      links.push_back(std::move(l));
    }
    return ChainTable(std::move(links), r.units, watch);
  }

  std::vector<std::int64_t> begins_;
  std::vector<ChainTable> inside_;
  ChainTable runs_;
};

// State 0, and in each of `count` windows of about equal forward time and number of steps the smallest state.
std::vector<std::int64_t> places(std::span<const ChainStep> steps, double count) {
  double total = 0, sum = 0;
  for (const ChainStep& s : steps) total += s.forward;
  const double n = static_cast<double>(steps.size()), per_second = total > 0 ? n / total : 0;
  std::vector<std::int64_t> begins{0};
  std::size_t best = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (best == 0 || steps[i].state < steps[best].state) best = i;
    sum += 1 + steps[i].forward * per_second;
    if (sum < 2 * n / count) continue;
    begins.push_back(static_cast<std::int64_t>(best));
    best = 0, sum = 0;
  }
  return begins;
}

// A schedule of a few thousand steps as a list: the tables it came from are large.
class Listed final : public Schedule {
 public:
  explicit Listed(std::vector<Action> actions) : actions_(std::move(actions)) {}
  Action next() override { return at_ < actions_.size() ? actions_[at_++] : Action{}; }

 private:
  std::vector<Action> actions_;
  std::size_t at_ = 0;
};

struct Trial {
  std::vector<Action> actions;  // empty: over the budget
  double forward_seconds = 0;
  Bytes bytes = 0;
};

Trial try_out(std::span<const ChainStep> steps, Schedule& schedule, Bytes budget) {
  std::vector<double> before{0};
  for (const ChainStep& s : steps) before.push_back(before.back() + s.forward);
  Trial out;
  const Limits limits{.steps = static_cast<std::int64_t>(steps.size()),
                      .state_bytes = [&](std::int64_t i) { return steps[static_cast<std::size_t>(i)].state; },
                      .tape_bytes = [&](std::int64_t i) { return steps[static_cast<std::size_t>(i)].tape; },
                      .bytes = budget};
  const Replay r = replay(schedule, limits, [&](const Action& a) {
    out.actions.push_back(a);
    if (a.kind == Action::Kind::advance)
      out.forward_seconds +=
          before[static_cast<std::size_t>(a.to)] - before[static_cast<std::size_t>(a.from)];
  });
  if (!r.broken.empty()) out.actions.clear();
  out.bytes = r.counts.bytes;
  return out;
}

// Units that `links` may have within the work and 256 MiB of table.
std::int64_t affordable(double links, double work) {
  const double sums = links * links * (links / 6 + 20), floats = links * (links + 1) / 2;
  return static_cast<std::int64_t>(std::clamp(std::min(work / sums, 0x1p26 / floats), 16.0, 4096.0)) - 1;
}

}  // namespace

Chain chain(std::span<const ChainStep> steps, const ChainOptions& options) {
  need("chain", "steps", static_cast<std::int64_t>(steps.size()), 1);
  if (steps.size() > 2000)
    fail(Error::Kind::unsupported, "[chain] steps {} vs at most 2000; join steps, or use revolve",
         steps.size());
  need("chain", "budget", options.budget, 0);
  need("chain", "units", options.units, 0);
  Chain out;
  Bytes largest_tape = 0, largest_state = 0;
  for (const ChainStep& s : steps) {
    need_cost("chain", "forward", s.forward);
    need_cost("chain", "adjoint", s.adjoint);
    need("chain", "state", s.state, 0);
    need("chain", "tape", s.tape, 0);
    largest_tape = std::max(largest_tape, s.tape);
    largest_state = std::max(largest_state, s.state);
    out.seconds += s.adjoint;
  }
  out.smallest = std::max(steps[0].state, steps.size() == 1 ? 0 : steps[0].state + largest_tape);
  out.smallest = std::max(out.smallest, steps[0].tape);

  const auto n = static_cast<std::int64_t>(steps.size());
  Trial best;
  const auto keep_better = [&](Trial trial) {
    if (trial.actions.empty()) return;
    if (best.actions.empty() || trial.forward_seconds < best.forward_seconds) best = std::move(trial);
  };
  const double links = std::min(250.0, static_cast<double>(n) / 2);
  const bool refine = options.refine && options.units == 0 && n > 250;
  const double share = refine ? options.work / 2 : options.work;
  {
    const Rounding r = rounding(
        options.budget, options.units > 0 ? options.units : affordable(static_cast<double>(n), share));
    out.granularity = r.granularity;
    ChainTable table = table_of(steps, r, options.watch);
    if (table.unstored(0, static_cast<std::int32_t>(n), r.units) < ChainTable::kNever) {
      Walk walk(std::make_unique<StepPolicy>(std::move(table)), Frame{.from = 0, .to = n, .budget = r.units});
      keep_better(try_out(steps, walk, options.budget));
      TIDEMARK_CHECK(!best.actions.empty());
      out.exact_forward_seconds = best.forward_seconds;
    }
  }
  if (refine) {
    const Rounding r = rounding(options.budget, affordable(links, share));
    auto policy = std::make_unique<RunPolicy>(steps, places(steps, links), r, options.watch);
    if (policy->cost(r.units) < static_cast<double>(ChainTable::kNever)) {
      Walk walk(std::move(policy), Frame{.from = 0, .to = n, .budget = r.units});
      keep_better(try_out(steps, walk, options.budget));
    }
  }
  // What a count of equal slots gives, so that rounding never loses to it.
  const Bytes free = options.budget - largest_tape;
  const std::int64_t slots = free < largest_state ? 1
                             : largest_state == 0 ? n
                                                  : std::min(n, free / largest_state);
  keep_better(try_out(steps, *revolve(n, slots), options.budget));
  if (best.actions.empty()) return out;
  out.forward_seconds = best.forward_seconds;
  out.seconds += best.forward_seconds;
  out.bytes = best.bytes;
  out.schedule = std::make_unique<Listed>(std::move(best.actions));
  return out;
}

}  // namespace tidemark::schedule
