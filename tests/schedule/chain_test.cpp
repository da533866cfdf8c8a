// Unequal steps: the tables against a search over all persistent schedules, and against the schedules for
// equal steps.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/schedule/chain.h"
#include "tidemark/schedule/mixed.h"
#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

double log_uniform(Rng& rng, double low, double high) { return low * std::pow(high / low, rng.uniform()); }

std::vector<ChainStep> random_chain(Rng& rng, int n, double spread) {
  std::vector<ChainStep> steps;
  for (int i = 0; i < n; ++i)
    steps.push_back({log_uniform(rng, 1, spread), 2, static_cast<Bytes>(log_uniform(rng, 1, spread)),
                     static_cast<Bytes>(log_uniform(rng, 1, 2 * spread))});
  return steps;
}

// All persistent schedules, by search over what is held: nothing is split into segments here. The state of
// the search is what is stored (states and adjoint data, by step), where the working state is and where the
// adjoint stands.
class Search {
 public:
  Search(std::vector<ChainStep> steps, Bytes budget) : steps_(std::move(steps)), budget_(budget) {}

  // Dijkstra over (states stored, tapes stored, working state, adjoint).
  double least() {
    const int n = static_cast<int>(steps_.size());
    using Key = std::tuple<unsigned, unsigned, int, int>;
    std::map<Key, double> known;
    std::multimap<double, Key> open;
    const auto reach = [&](double t, unsigned states, unsigned tapes, int at, int adjoint) {
      Bytes bytes = 0;
      for (int i = 0; i < n; ++i)
        bytes += (states >> i & 1) * steps_[i].state + (tapes >> i & 1) * steps_[i].tape;
      if (bytes > budget_) return;
      // Adjoint data is used up as soon as it can be.
      while (adjoint > 0 && (tapes >> (adjoint - 1) & 1)) tapes &= ~(1u << --adjoint);
      const Key key{states, tapes, at, adjoint};
      const auto [it, fresh] = known.insert({key, t});
      if (!fresh && it->second <= t) return;
      it->second = t;
      open.insert({t, key});
    };
    reach(0, 0, 0, 0, n);
    while (!open.empty()) {
      const auto [t, key] = *open.begin();
      open.erase(open.begin());
      if (known[key] < t) continue;
      const auto [states, tapes, at, adjoint] = key;
      if (adjoint == 0) return t;
      if (at < adjoint && !(tapes >> at & 1)) {
        reach(t, states | 1u << at, tapes, at, adjoint);
        reach(t + steps_[at].forward, states, tapes, at + 1, adjoint);
        reach(t + steps_[at].forward, states, tapes | 1u << at, at + 1, adjoint);
        // The state is given up in the step that was its last use.
        reach(t + steps_[at].forward, states & ~(1u << at), tapes | 1u << at, at + 1, adjoint);
      }
      for (int i = 0; i < n; ++i)
        if (states >> i & 1) {
          reach(t, states, tapes, i, adjoint);
          reach(t, states & ~(1u << i), tapes, i, adjoint);
        }
    }
    return -1;
  }

 private:
  std::vector<ChainStep> steps_;
  Bytes budget_;
};

// The search drops states when it likes, so it is a lower bound for persistent schedules too; on short chains
// the two meet.
TEST(Chain, MeetsTheSearch) {
  Rng rng(1);
  int feasible = 0, met = 0;
  for (int round = 0; round < 120; ++round) {
    const int n = 1 + static_cast<int>(rng.below(6));
    const auto steps = random_chain(rng, n, 12);
    Bytes all = 0;
    for (const ChainStep& s : steps) all += s.state + s.tape;
    const Bytes budget = 1 + rng.below(all);
    const Chain c = chain(steps, {.budget = budget, .units = budget});
    const double best = Search(steps, budget).least();
    ASSERT_EQ(c.granularity, 1);
    ASSERT_EQ(c.schedule != nullptr, best >= 0) << "round " << round;
    if (!c.schedule) continue;
    ++feasible;
    ASSERT_GE(c.forward_seconds, best * (1 - 1e-6)) << "round " << round;
    met += c.forward_seconds <= best * (1 + 1e-6);
    ASSERT_LE(c.bytes, budget);
    ASSERT_NEAR(c.seconds, c.forward_seconds + 2 * n, 1e-9);
  }
  EXPECT_GT(feasible, 60);
  EXPECT_EQ(met, feasible);
}

// The recurrences of chain_table.h, by memory of calls in double precision.
class Reference {
 public:
  Reference(std::vector<ChainStep> steps, int units) : steps_(std::move(steps)), units_(units) {}
  double unstored(int s, int t, int m) {
    if (m < 0) return kNever;
    if (s == t) return 0;
    double& v = memory(d_, s, t, m);
    if (v == 0)
      v = std::min(stored(s, t, m - int(steps_[s].state)),
                   steps_[s].forward + unstored(s + 1, t, m - int(steps_[s].tape)));
    return v;
  }
  double stored(int s, int t, int m) {
    if (m < 0) return kNever;
    double& v = memory(c_, s, t, m);
    if (v == 0) {
      double best = steps_[s].forward + unstored(s + 1, t, m + int(steps_[s].state) - int(steps_[s].tape));
      double forward = 0;
      for (int x = s + 1; x < t; ++x) {
        forward += steps_[x - 1].forward;
        best = std::min(best, forward + unstored(x, t, m) + stored(s, x, m));
      }
      v = best;
    }
    return v;
  }

 private:
  static constexpr double kNever = 1e18;
  double& memory(std::map<std::tuple<int, int, int>, double>& map, int s, int t, int m) {
    return map[{s, t, std::min(m, 2 * units_)}];
  }
  std::vector<ChainStep> steps_;
  int units_;
  std::map<std::tuple<int, int, int>, double> c_, d_;
};

TEST(Chain, MeetsTheRecurrences) {
  Rng rng(2);
  for (int round = 0; round < 20; ++round) {
    const int n = 5 + static_cast<int>(rng.below(18));
    const auto steps = random_chain(rng, n, 9);
    const int units = 20 + static_cast<int>(rng.below(40));
    const double best = Reference(steps, units).unstored(0, n, units);
    const Chain c = chain(steps, {.budget = units, .units = units});
    if (best > 1e17) {
      // revolve with one slot may do without rounding; nothing else may.
      continue;
    }
    ASSERT_TRUE(c.schedule);
    ASSERT_NEAR(c.forward_seconds, best, 1e-4 * best) << "round " << round;
  }
}

TEST(Chain, EqualStepsAreMixed) {
  for (const int n : {1, 2, 7, 30, 61})
    for (const int units : {1, 2, 3, 8}) {
      // The working tape of the step under way has a unit too.
      const std::vector<ChainStep> steps(n, {1, 0, 1, 1});
      const Chain c = chain(steps, {.budget = units + 1, .units = units + 1});
      ASSERT_TRUE(c.schedule);
      EXPECT_EQ(c.forward_seconds, static_cast<double>(mixed_steps(n, units))) << n << " " << units;
    }
}

TEST(Chain, NoStateIsWorthKeepingTwice) {
  // Tapes that never fit twice: revolve's counts in bytes.
  for (const int n : {2, 9, 40, 90})
    for (const int slots : {1, 2, 5}) {
      const std::vector<ChainStep> steps(n, {1, 0, 10, 1000});
      const Chain c = chain(steps, {.budget = 10 * slots + 1000, .units = 10 * slots + 1000});
      EXPECT_EQ(c.forward_seconds, static_cast<double>(revolve_advances(n, slots) + n)) << n << " " << slots;
    }
}

TEST(Chain, TooSmallABudgetIsAnAnswer) {
  const std::vector<ChainStep> steps(10, {1, 1, 10, 30});
  const Chain c = chain(steps, {.budget = 39});
  EXPECT_EQ(c.schedule, nullptr);
  EXPECT_EQ(c.smallest, 40);
  EXPECT_TRUE(chain(steps, {.budget = 40}).schedule);
  EXPECT_THROW(chain({}, {.budget = 1}), Error);
  EXPECT_THROW(chain(steps, {.budget = -1}), Error);
  const std::vector<ChainStep> bad(3, {std::nan(""), 1, 1, 1});
  EXPECT_THROW(chain(bad, {.budget = 100}), Error);
}

// Long enough for the second, finer table over runs of steps.
TEST(Chain, RefinementIsCheckedAndNeverWorse) {
  Rng rng(3);
  const auto steps = random_chain(rng, 300, 100);
  for (const Bytes budget : {400, 1500, 6000}) {
    const Chain plain = chain(steps, {.budget = budget, .work = 4e8, .refine = false});
    const Chain fine = chain(steps, {.budget = budget, .work = 8e8});
    ASSERT_TRUE(plain.schedule && fine.schedule);
    EXPECT_LE(fine.forward_seconds, plain.forward_seconds);
    const Replay r = replay(*fine.schedule, {.steps = 300,
                                             .state_bytes = [&](std::int64_t i) { return steps[i].state; },
                                             .tape_bytes = [&](std::int64_t i) { return steps[i].tape; },
                                             .bytes = budget});
    EXPECT_EQ(r.broken, "");
    EXPECT_EQ(r.counts.bytes, fine.bytes);
  }
}

}  // namespace
}  // namespace tidemark::schedule
