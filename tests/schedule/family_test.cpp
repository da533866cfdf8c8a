// mixed, tiers and online against their recurrences, coded here once more from the definitions.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tidemark/schedule/chain.h"
#include "tidemark/schedule/mixed.h"
#include "tidemark/schedule/registry.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

// Maddison's recurrence.
TEST(Mixed, MeetsTheRecurrence) {
  constexpr std::int64_t kSteps = 260, kUnits = 14, kNever = 1 << 30;
  std::vector<std::vector<std::int64_t>> t(kUnits + 1, std::vector<std::int64_t>(kSteps + 1, kNever));
  for (std::int64_t s = 0; s <= kUnits; ++s)
    for (std::int64_t n = 1; n <= kSteps; ++n) {
      if (n <= s + 1) {
        t[s][n] = n;
        continue;
      }
      if (s == 0) continue;
      t[s][n] = 1 + t[s - 1][n - 1];
      for (std::int64_t i = 2; i < n; ++i) t[s][n] = std::min(t[s][n], i + t[s][i] + t[s - 1][n - i]);
      ASSERT_EQ(mixed_steps(n, s), t[s][n]) << n << " steps, " << s << " units";
      ASSERT_TRUE(s > 1 || t[s][n] == n * (n + 1) / 2 - 1);
    }
  for (std::int64_t s = 1; s <= kUnits; ++s)
    for (std::int64_t n = 1; n <= kSteps; n += 3) {
      const Counts c = count("mixed", {.steps = n, .slots = s});
      ASSERT_EQ(c.forward_steps, t[s][n]) << n << " steps, " << s << " units";
      ASSERT_LE(c.snapshots, s);
      ASSERT_EQ(c.taped_steps, 1);
    }
}

TEST(Mixed, ThousandStepsTenSlots) {
  EXPECT_EQ(count("mixed", {.steps = 1000, .slots = 10}).forward_steps, 3921);
  EXPECT_EQ(mixed_steps(1000, 10), 3921);
}

TEST(Mixed, StreamsMeetTheClosedForm) {
  for (int c = 1; c <= 50; c += 7)
    for (int l = 1; l <= 2000; l += 111)
      ASSERT_EQ(count("mixed", {.steps = l, .slots = c}).forward_steps, mixed_steps(l, c)) << l << " " << c;
}

// H-Revolve's recurrences over any tiers, by memory of calls: no layers, no reversed arrays.
class Reference {
 public:
  struct Tier {
    int slots;
    double write, read;
  };
  Reference(int steps, std::vector<Tier> tiers) : steps_(steps), tiers_(std::move(tiers)) {
    for (const Tier& t : tiers_) seen_.push_back(std::vector<double>(2 * (t.slots + 1) * (steps + 1), -1));
  }
  double cost() { return unstored(static_cast<int>(tiers_.size()) - 1, tiers_.back().slots, steps_); }

 private:
  double& memory(int k, int m, int l, bool stored) { return seen_[k][(2 * m + stored) * (steps_ + 1) + l]; }
  double below(int k, int l) {
    return k == 0 ? std::numeric_limits<double>::infinity() : unstored(k - 1, tiers_[k - 1].slots, l);
  }
  double unstored(int k, int m, int l) {
    if (l == 1) return 0;
    double& v = memory(k, m, l, false);
    if (v < 0) {
      v = below(k, l);
      if (m > 0) v = std::min(v, tiers_[k].write + stored(k, m, l));
    }
    return v;
  }
  double stored(int k, int m, int l) {
    if (l == 1) return 0;
    double& v = memory(k, m, l, true);
    if (v < 0) {
      double best = below(k, l);
      for (int x = 1; x < l; ++x)
        best = std::min(best, x + unstored(k, m - 1, l - x) + tiers_[k].read + stored(k, m, x));
      v = best;
    }
    return v;
  }
  int steps_;
  std::vector<Tier> tiers_;
  std::vector<std::vector<double>> seen_;
};

double time_of(const Counts& n, const Spec& s) {
  double t = static_cast<double>(n.forward_steps - n.reverse_steps);
  for (std::size_t k = 0; k < n.tiers.size(); ++k)
    t += static_cast<double>(n.tiers[k].writes) * (k ? s.disk_write : s.write) +
         static_cast<double>(n.tiers[k].reads) * (k ? s.disk_read : s.read);
  return t;
}

TEST(Tiers, RevolveWithCosts) {
  for (const double w : {0.0, 0.5, 2.0, 7.25})
    for (const double r : {0.0, 0.25, 3.0})
      for (const int c : {1, 2, 3, 7})
        for (const int l : {1, 2, 3, 10, 33, 80}) {
          const Spec s{.steps = l, .slots = c, .write = w, .read = r};
          // A closed form where both are zero: as few writes there.
          ASSERT_NEAR(time_of(count("revolve", s), s), Reference(l, {{c, w, r}}).cost(), 1e-9)
              << l << " " << c << " " << w << " " << r;
        }
}

TEST(Tiers, HRevolve) {
  for (const double w : {1.0, 5.0, 20.0})
    for (const double r : {0.5, 10.0})
      for (const int c : {0, 1, 2, 5})
        for (const int d : {1, 2, 4})
          for (const int l : {2, 9, 40, 77}) {
            const Spec s{.steps = l,
                         .slots = c,
                         .disk_slots = d,
                         .write = 0.25,
                         .read = 0.125,
                         .disk_write = w,
                         .disk_read = r};
            const double best = Reference(l, {{c, s.write, s.read}, {d, w, r}}).cost();
            ASSERT_NEAR(time_of(count("h_revolve", s), s), best, 1e-9)
                << l << " " << c << " " << d << " " << w << " " << r;
            if (l <= 40) {
              const double unlimited = Reference(l, {{c, s.write, s.read}, {l, w, r}}).cost();
              ASSERT_NEAR(time_of(count("disk_revolve", s), s), unlimited, 1e-9);
            }
            // Never beats the optimum, and makes as few steps as all slots in one tier do.
            const Counts m = count("multistage", s);
            ASSERT_GE(time_of(m, s) + 1e-9, best);
            ASSERT_EQ(m.forward_steps, revolve_advances(l, c + d) + l);
            ASSERT_LE(m.tiers[0].snapshots, c);
          }
}

// The traffic of the places that go to disk is the least of all choices of places.
TEST(Tiers, MultistageSparesTheDisk) {
  for (int c = 0; c <= 4; ++c)
    for (int d = c == 0; d <= 4; ++d) {
      const Counts n = count("multistage", {.steps = 90, .slots = c, .disk_slots = d});
      std::vector<std::int64_t> traffic(8, 0);
      const SchedulePtr plain = revolve(90, c + d);
      replay(*plain, {.steps = 90}, [&](const Action& a) {
        if (a.kind == Action::Kind::save || a.kind == Action::Kind::restore) ++traffic[a.slot.index];
      });
      std::int64_t least = 1 << 30;
      for (int set = 0; set < 1 << (c + d); ++set) {
        if (__builtin_popcount(set) != d) continue;
        std::int64_t sum = 0;
        for (int i = 0; i < c + d; ++i) sum += (set >> i & 1) * traffic[i];
        least = std::min(least, sum);
      }
      const std::int64_t disk = n.tiers.size() > 1 ? n.tiers[1].writes + n.tiers[1].reads : 0;
      EXPECT_EQ(disk, least) << c << " + " << d;
    }
}

// The last step of an unknown number is recognised only behind it, so the last segment, of at most four
// steps, is advanced over once more than revolve would.
TEST(Online, OptimalWhileTwoRepeatsAreEnough) {
  for (const int c : {1, 2, 3, 4, 5, 8, 13})
    for (int l = 1; l <= (c + 1) * (c + 2) / 2; ++l) {
      const Counts n = count("online", {.steps = l, .slots = c});
      ASSERT_LE(n.forward_steps, revolve_advances(l, c) + l + 4) << l << " steps, " << c << " slots";
      ASSERT_GE(n.forward_steps, revolve_advances(l, c) + l) << l << " steps, " << c << " slots";
    }
}

// Wang, Moin & Iaccarino: no step is advanced over more often than the number of slots makes inevitable; plus
// once, as above, and once when it is taped.
TEST(Online, MinimalRepetitionBeyond) {
  for (const int c : {2, 3, 5, 8})
    for (int l = 1; l <= 1500; l += 1 + l / 9) {
      int r = 0;
      for (std::int64_t reached = 1; reached < l; reached = reached * (c + r) / r) ++r;
      std::vector<int> runs(l, 0);
      const SchedulePtr s = online(c);
      const Replay result = replay(*s, {.steps = l, .slots = {c}}, [&](const Action& a) {
        if (a.kind == Action::Kind::advance)
          for (std::int64_t i = a.from; i < a.to; ++i) ++runs[i];
      });
      ASSERT_EQ(result.broken, "") << l << " steps, " << c << " slots";
      ASSERT_LE(*std::max_element(runs.begin(), runs.end()), r + 2) << l << " steps, " << c << " slots";
    }
}

// The first sweep, what is run again, and every step once for its tape.
TEST(Online, RunsAsManyStepsAsItSays) {
  for (const int c : {1, 2, 3, 5, 8, 40})
    for (int l = 1; l <= 1500; l += 1 + l / 9) {
      const Counts n = count("online", {.steps = l, .slots = c});
      ASSERT_EQ(n.forward_steps, 2 * l + online_advances(l, c - 1)) << l << " steps, " << c << " slots";
    }
  // Many places cost little: a state in a logarithm of them.
  EXPECT_LT(online_advances(1'000'000, 20'000), 2'000'000);
}

TEST(Online, EndsWhereAStateWasJustSaved) {
  const SchedulePtr s = online(3);
  std::vector<Action> seen;
  for (int i = 0; i < 4; ++i) seen.push_back(s->next());  // save 0, to 1, save 1, to 2
  seen.push_back(s->next());                              // save 2
  ASSERT_EQ(seen.back().kind, Action::Kind::save);
  s->finish(2);
  const Action discard = s->next();
  EXPECT_EQ(discard.kind, Action::Kind::discard);
  EXPECT_EQ(discard.slot, seen.back().slot);
  EXPECT_THROW(s->finish(2), std::exception);
}

TEST(Streams, AMillionStepsInAHundredSlots) {
  for (const char* name : {"revolve", "mixed"}) {
    const Counts n = count(name, {.steps = 1'000'000, .slots = 100});
    EXPECT_EQ(n.forward_steps, name == std::string("revolve") ? revolve_advances(1'000'000, 100) + 1'000'000
                                                              : mixed_steps(1'000'000, 100));
    EXPECT_LE(n.snapshots, 100);
  }
}

TEST(Watch, EndsWhatFillsTablesBeforeTheFirstAction) {
  struct Enough {};
  for (const char* name : {"revolve", "multistage", "disk_revolve", "h_revolve"}) {
    Spec spec{
        .steps = 3000, .slots = 20, .disk_slots = 30, .write = 1, .read = 1, .disk_write = 2, .disk_read = 2};
    int asked = 0, actions = 0;
    spec.watch = [&] {
      if (++asked == 2) throw Enough();
    };
    EXPECT_THROW(count(name, spec, [&](const Action&) { ++actions; }), Enough) << name;
    EXPECT_EQ(actions, 0) << name;
    spec.watch = [&] { ++asked; };
    EXPECT_EQ(count(name, spec).reverse_steps, 3000) << name;
  }
  std::vector<ChainStep> steps(600, {.forward = 1, .adjoint = 1, .state = 10, .tape = 30});
  int asked = 0;
  ChainOptions options{.budget = 2000, .work = 1e8};
  options.watch = [&] { ++asked; };
  EXPECT_TRUE(chain(steps, options).schedule);
  // In the table of steps, in those of the runs, and in the last one over runs.
  EXPECT_GT(asked, 600 / 4);
  const int all = asked;
  for (const int when : {1, all / 2, all}) {
    asked = 0;
    options.watch = [&] {
      if (++asked == when) throw Enough();
    };
    EXPECT_THROW(chain(steps, options), Enough) << when;
  }
}

}  // namespace
}  // namespace tidemark::schedule
