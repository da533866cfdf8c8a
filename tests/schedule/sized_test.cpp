// Areas of states and tapes in true sizes: carried out on counters, against revolve, mixed and the best there is.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/sized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/schedule/binomial.h"
#include "tidemark/schedule/mixed.h"
#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

// What a driver does, with every state and tape as a range of bytes: a range that is read must still be what was written.
struct Driver {
  std::int64_t steps;
  Bytes state, tape, bytes;
  Sized s{steps, state, tape, bytes};
  std::vector<std::int64_t> table = std::vector<std::int64_t>(static_cast<std::size_t>(s.table_size()));
  std::vector<std::int64_t> area = std::vector<std::int64_t>(static_cast<std::size_t>(bytes), -1);
  Sized::Counts n;
  std::int64_t reversed = steps;

  void write(Bytes at, Bytes size, std::int64_t tag) {
    ASSERT_GE(at, 0);
    ASSERT_LE(at + size, bytes);
    std::fill(area.begin() + at, area.begin() + at + size, tag);
  }
  void read(Bytes at, Bytes size, std::int64_t tag) {
    for (Bytes i = at; i < at + size; ++i) ASSERT_EQ(area[static_cast<std::size_t>(i)], tag);
  }
  void reverse(std::int64_t i) { ASSERT_EQ(i, --reversed); }
  void leaf(std::int64_t from, std::int64_t to, bool first) {
    const std::int64_t tapes = to - from - 1;
    for (std::int64_t k = 0; k < tapes; ++k) write(bytes - (k + 1) * tape, tape, 2 * (from + k) + 1);
    (first ? n.first_taped : n.taped) += tapes;
    if (!first) {
      reverse(to - 1);
      ++n.direct;
    }
    for (std::int64_t k = tapes; k-- > 0;) {
      read(bytes - (k + 1) * tape, tape, 2 * (from + k) + 1);
      reverse(from + k);
    }
  }
  void segment(std::int64_t from, std::int64_t to, std::int64_t depth, bool first) {
    if (depth > 0 && depth <= s.depths() && to - from > s.leaf(depth))
      write((depth - 1) * state, state, 2 * from);
    while (to - from > s.leaf(depth)) {
      const std::int64_t at = from + s.split(to - from, depth, table.data());
      ASSERT_GT(at, from);
      ASSERT_LT(at, to);
      if (depth == s.depths()) {
        ASSERT_LE(to - at, s.leaf(depth + 1));
      }
      if (depth > 0) read((depth - 1) * state, state, 2 * from);
      if (!first) n.advances += at - from;
      segment(at, to, depth + 1, first);
      first = false;
      to = at;
    }
    leaf(from, to, first);
  }
  void run() {
    s.fill(table);
    segment(0, s.end(), 0, true);
    ASSERT_EQ(reversed, 0);
    const Sized::Counts c = s.counts();
    ASSERT_EQ(c.advances, n.advances);
    ASSERT_EQ(c.taped, n.taped);
    ASSERT_EQ(c.direct, n.direct);
    ASSERT_EQ(c.first_taped, n.first_taped);
  }
  // From states that somebody else has left in the places of depths 1, 2, ….
  void run_from(const std::vector<std::int64_t>& kept) {
    s.fill(table);
    for (std::size_t d = 1; d < kept.size(); ++d) write(static_cast<Bytes>(d - 1) * state, state, 2 * kept[d]);
    for (std::size_t d = kept.size(); d-- > 0;)
      segment(kept[d], reversed, static_cast<std::int64_t>(d), false);
    ASSERT_EQ(reversed, 0);
    const Sized::Counts c = s.counts(kept, steps);
    ASSERT_EQ(c.advances, n.advances);
    ASSERT_EQ(c.taped, n.taped);
    ASSERT_EQ(c.direct, n.direct);
  }
};

TEST(Sized, ReversesEveryStepInsideItsBytes) {
  Rng rng(7);
  const auto draw = [&](std::int64_t most) { return 1 + rng.below(most); };
  for (int k = 0; k < 400; ++k) {
    SCOPED_TRACE(k);
    Driver{.steps = draw(300), .state = draw(6), .tape = draw(12), .bytes = draw(80) - 1}.run();
    if (::testing::Test::HasFailure()) break;
  }
}

// As a loop of unknown length leaves them: some segments are longer than the table goes up to.
TEST(Sized, ReversesFromAnyStatesThatAreKept) {
  Rng rng(11);
  const auto draw = [&](std::int64_t most) { return 1 + rng.below(most); };
  for (int k = 0; k < 400; ++k) {
    SCOPED_TRACE(k);
    Driver driver{.steps = 2 + draw(300), .state = draw(6), .tape = k % 3 == 0 ? 0 : draw(12), .bytes = draw(80) - 1};
    if (driver.s.all_at_once()) continue;
    std::vector<std::int64_t> kept{0};
    const std::int64_t most = rng.below(driver.s.depths() + 1);
    while (static_cast<std::int64_t>(kept.size()) <= most && kept.back() + 1 < driver.steps)
      kept.push_back(kept.back() + draw(std::min<std::int64_t>(driver.steps - 1 - kept.back(), 1 + driver.steps / 3)));
    driver.run_from(kept);
    if (::testing::Test::HasFailure()) break;
  }
}

// Mixed has a working tape beside its units.
TEST(Sized, IsNeverWorseThanMixed) {
  for (const Bytes state : {1, 2, 3, 5}) {
    for (const Bytes tape : {1, 2, 4, 7}) {
      for (std::int64_t steps = 1; steps < 400; steps += 3) {
        for (std::int64_t units = 1; units < 30; units += 3) {
          const Bytes bytes = units * std::max(state, tape) + tape;
          const Sized s(steps, state, tape, bytes);
          const Sized::Counts c = s.counts();
          EXPECT_LE(steps + c.advances + c.taped + c.direct, mixed_steps(steps, units))
              << steps << " " << state << " " << tape << " " << units;
        }
      }
    }
  }
}

// The best of all choices of where to split.
TEST(Sized, IsNearTheBest) {
  double most = 0;
  for (const auto& [state, tape, bytes] :
       {std::tuple{2, 3, 17}, {1, 5, 22}, {4, 1, 19}, {3, 3, 30}, {1, 1, 9}, {2, 9, 40}}) {
    const std::int64_t last = 120;
    const Sized any(last, state, tape, bytes);
    const auto depths = static_cast<std::size_t>(any.depths());
    std::vector<std::vector<std::int64_t>> best(static_cast<std::size_t>(last) + 2,
                                                std::vector<std::int64_t>(depths + 2, 0));
    for (std::size_t n = 1; n < best.size(); ++n) {
      for (std::size_t d = depths + 1; d-- > 0;) {
        if (static_cast<std::int64_t>(n) <= any.leaf(static_cast<std::int64_t>(d))) continue;
        std::int64_t least = 1 << 30;
        for (std::size_t x = 1; x < n; ++x) {
          if (d == depths && static_cast<std::int64_t>(n - x) > any.leaf(static_cast<std::int64_t>(d) + 1))
            continue;
          least = std::min(least, static_cast<std::int64_t>(x) + best[n - x][d + 1] + best[x][d]);
        }
        best[n][d] = least;
      }
    }
    for (std::int64_t steps = 1; steps <= last; ++steps) {
      const Sized s(steps, state, tape, bytes);
      const Sized::Counts c = s.counts();
      // The first sweep's own advances are the primal's: all but the taped ones.
      const std::int64_t ours = c.advances + (steps - c.first_taped);
      EXPECT_GE(ours, best[static_cast<std::size_t>(steps) + 1][0]);
      most = std::max(most, static_cast<double>(ours + steps) /
                                static_cast<double>(best[static_cast<std::size_t>(steps) + 1][0] + steps));
    }
  }
  EXPECT_LT(most, 1.12);
}

TEST(Sized, WithoutTapesIsRevolve) {
  for (const auto& [steps, slots] :
       {std::pair{1000, 10}, {37, 5}, {2, 1}, {1, 1}, {100, 100}, {50'000, 101}}) {
    const Sized s(steps, 8, 0, 8 * (slots - 1));
    std::int64_t first = 0;
    for (std::int64_t left = slots; left > 1 && steps - first > 1; --left)
      first += revolve_split(steps - first, left);
    EXPECT_EQ(s.counts().advances, steps < 2 ? 0 : revolve_advances(steps, slots) - first);
    EXPECT_EQ(s.counts().direct, steps);
  }
}

TEST(Sized, AsAScheduleItKeepsToItsBytesAndIsNeverWorseThanRevolve) {
  for (const Bytes state : {1, 3, 10}) {
    for (const Bytes tape : {1, 2, 10, 45}) {
      for (const std::int64_t steps : {1, 2, 9, 60, 333}) {
        for (const Bytes more : {0, 5, 31, 100, 1000}) {
          const Bytes bytes = state + tape + more;
          SCOPED_TRACE(testing::Message()
                       << steps << " steps of " << state << ", tapes of " << tape << ", " << bytes);
          const Limits limits{.steps = steps,
                              .state_bytes = [&](std::int64_t) { return state; },
                              .tape_bytes = [&](std::int64_t) { return tape; },
                              .bytes = bytes};
          const Replay r = replay(*sized(steps, state, tape, bytes), limits);
          EXPECT_EQ(r.broken, "");
          EXPECT_EQ(r.counts.forward_steps, sized_steps(steps, state, tape, bytes));
          EXPECT_LE(r.counts.forward_steps, revolve_advances(steps, (bytes - tape) / state) + steps);
          // Mixed gives up the first state where the first steps are taped.
          if (const std::int64_t units = (bytes - tape) / std::max(state, tape); units > 0) {
            EXPECT_LE(r.counts.forward_steps, mixed_steps(steps, units) * 103 / 100 + 1);
          }
        }
      }
    }
  }
  EXPECT_THROW(sized(5, 3, 4, 6), Error);
}

// However time is spread over steps, a gradient takes at most so many times what all of them take once.
TEST(Sized, NoStepIsRunMoreOftenThanRepeatsSay) {
  for (const std::int64_t steps : {5, 40, 300}) {
    for (const std::int64_t slots : {1, 3, 9}) {
      const auto most_runs = [&](Schedule& schedule) {
        std::vector<std::int64_t> runs(static_cast<std::size_t>(steps));
        const Replay r = replay(schedule, {.steps = steps}, [&](const Action& a) {
          for (std::int64_t i = a.from; a.kind == Action::Kind::advance && i < a.to; ++i)
            ++runs[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(r.broken, "");
        return *std::max_element(runs.begin(), runs.end());
      };
      const std::int64_t repeats = repetition(steps, slots);
      EXPECT_EQ(most_runs(*revolve(steps, slots)), repeats + 1) << steps << " " << slots;
      for (const Bytes tape : {1, 4, 30})
        EXPECT_LE(most_runs(*sized(steps, 4, tape, 4 * slots + tape)), repeats + 1)
            << steps << " " << slots << " " << tape;
    }
  }
}

TEST(Sized, AMillionStepsNeedASmallTable) {
  const Sized s(1'000'000, 8000, 24'000, 1'000'000);
  EXPECT_LT(s.table_size(), 2000);
  const Sized::Counts c = s.counts();
  EXPECT_EQ(c.first_taped + c.taped + c.direct, 1'000'000);
  EXPECT_LT(c.advances, 4'000'000);
}

}  // namespace
}  // namespace tidemark::schedule
