// Counts against closed forms and against recurrences coded here, independently of the schedules.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/schedule/registry.h"
#include "tidemark/schedule/revolve.h"

namespace tidemark::schedule {
namespace {

Counts counted(const char* name, const Spec& spec) { return count(name, spec); }

// (advances, writes beyond the first) by the definition: the least over all splits, advances first.
struct Best {
  std::int64_t advances = 0, writes = 0;
  auto operator<=>(const Best&) const = default;
};
std::vector<std::vector<Best>> revolve_table(int steps, int slots) {
  std::vector<std::vector<Best>> t(slots + 1, std::vector<Best>(steps + 1));
  for (int s = 1; s <= slots; ++s)
    for (std::int64_t l = 2; l <= steps; ++l) {
      if (s == 1) {
        t[s][l] = {l * (l - 1) / 2, 0};
        continue;
      }
      Best best{1 << 30, 0};
      for (std::int64_t m = 1; m < l; ++m)
        best = std::min(best, {m + t[s - 1][l - m].advances + t[s][m].advances,
                               (l - m >= 2) + t[s - 1][l - m].writes + t[s][m].writes});
      t[s][l] = best;
    }
  return t;
}

TEST(Revolve, FewestStepsThenFewestWrites) {
  const auto table = revolve_table(220, 12);
  for (int c = 1; c <= 12; ++c)
    for (int l = 1; l <= 220; ++l) {
      const Counts n = counted("revolve", {.steps = l, .slots = c});
      ASSERT_EQ(n.forward_steps, table[c][l].advances + l) << l << " steps, " << c << " slots";
      ASSERT_EQ(n.writes, table[c][l].writes + (l > 1)) << l << " steps, " << c << " slots";
      ASSERT_EQ(n.reverse_steps, l);
      ASSERT_LE(n.snapshots, c);
      ASSERT_EQ(n.taped_steps, 1);
    }
}

// r l - C(c + r, r - 1) with C by Pascal's triangle, r by search.
TEST(Revolve, ClosedFormUpTo2000StepsAnd50Slots) {
  std::vector<std::vector<std::int64_t>> pascal(2100, std::vector<std::int64_t>(2100, 0));
  for (std::size_t n = 0; n < pascal.size(); ++n)
    for (std::size_t k = 0; k <= n; ++k)
      pascal[n][k] = k == 0 ? 1 : std::min<std::int64_t>(pascal[n - 1][k - 1] + pascal[n - 1][k], 1 << 30);
  for (int c = 1; c <= 50; ++c)
    for (int l = 1; l <= 2000; ++l) {
      int r = l == 1 ? 0 : 1;
      while (pascal[c + r][c] < l) ++r;
      const std::int64_t expected = r == 0 ? 0 : std::int64_t{r} * l - pascal[c + r][r - 1];
      ASSERT_EQ(revolve_advances(l, c), expected) << l << " steps, " << c << " slots";
    }
}

// The streams themselves: a sample here, all of them in the slow tests.
void expect_stream(int l, int c) {
  const Counts n = counted("revolve", {.steps = l, .slots = c});
  ASSERT_EQ(n.forward_steps, revolve_advances(l, c) + l) << l << " steps, " << c << " slots";
  ASSERT_LE(n.snapshots, c);
}
TEST(Revolve, StreamsMeetTheClosedForm) {
  for (int c = 1; c <= 50; c += 7)
    for (int l = 1; l <= 2000; l += 37) expect_stream(l, c);
}
TEST(Revolve, ClosedFormWithoutCarryingItOut) {
  EXPECT_EQ(revolve_forward_steps(1000, 10), 4636);
  for (const std::int64_t steps : {1, 2, 3, 10, 97, 1001, 5000}) {
    for (const std::int64_t slots : {1, 2, 3, 7, 50}) {
      EXPECT_EQ(revolve_forward_steps(steps, slots),
                count("revolve", {.steps = steps, .slots = slots}).forward_steps)
          << steps << " steps, " << slots << " slots";
    }
  }
  EXPECT_GT(revolve_forward_steps(1'000'000'000'000, 100), 1'000'000'000'000);
  EXPECT_EQ(revolve_forward_steps(1'000'000'000'000, 1), -1) << "half the square of the steps";
}

TEST(SlowRevolve, AllStreamsUpTo2000StepsAnd50Slots_Slow) {
  for (int c = 1; c <= 50; ++c)
    for (int l = 1; l <= 2000; ++l) expect_stream(l, c);
}

TEST(Revolve, ThousandStepsTenSlots) {
  const Counts n = counted("revolve", {.steps = 1000, .slots = 10});
  EXPECT_EQ(n.forward_steps, 4636);
  EXPECT_EQ(n.reverse_steps, 1000);
  EXPECT_EQ(n.snapshots, 10);
}

TEST(Simple, StoreAllPeriodicSqrtBinary) {
  for (int l = 1; l <= 300; ++l) {
    EXPECT_EQ(counted("store_all", {.steps = l}).forward_steps, l);
    EXPECT_EQ(counted("store_all", {.steps = l}).taped_steps, l);
    EXPECT_EQ(counted("store_all", {.steps = l}).writes, 0);
    for (int k = 1; k <= l; k += 3) {
      const Counts n = counted("periodic", {.steps = l, .period = k});
      const int segments = (l + k - 1) / k, last = l - (segments - 1) * k;
      EXPECT_EQ(n.forward_steps, 2 * l - last);
      EXPECT_EQ(n.snapshots, segments - 1);
      EXPECT_EQ(n.taped_steps, std::min(k, l));
    }
    for (int c = 1; c <= 20; ++c) EXPECT_LE(counted("periodic", {.steps = l, .slots = c}).snapshots, c);
  }
  EXPECT_EQ(counted("sqrt", {.steps = 1000}).taped_steps, 32);
  EXPECT_EQ(counted("sqrt", {.steps = 1000}).snapshots, 31);
  std::vector<std::int64_t> b{0, 1};
  for (std::int64_t l = 2; l <= 600; ++l) b.push_back(l / 2 + b[l - l / 2] + b[l / 2]);
  for (int l = 1; l <= 600; ++l) EXPECT_EQ(counted("binary", {.steps = l}).forward_steps, b[l]) << l;
  EXPECT_LE(counted("binary", {.steps = 1024}).snapshots, 10);
}

std::string refusal(const char* name, const Spec& spec) {
  try {
    count(name, spec);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::usage);
    return e.what();
  }
  return "accepted";
}

TEST(Registry, SlotsBeyondTheStepsChangeNothing) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t steps : {1, 2, 10}) {
    for (const Named& named : schedules()) {
      if (!std::string_view(named.uses).starts_with("slots") || std::string_view(named.name) == "online")
        continue;
      const auto forward = [&](std::int64_t slots) {
        return count(named.name, {.steps = steps, .slots = slots, .disk_slots = slots}).forward_steps;
      };
      for (const std::int64_t slots : {kMost, kMost - 1, kMost / 2})
        EXPECT_EQ(forward(slots), forward(steps)) << named.name << " " << steps << " " << slots;
    }
    EXPECT_EQ(revolve_forward_steps(steps, kMost), 2 * steps - 1);
  }
}

TEST(Registry, Refusals) {
  EXPECT_EQ(refusal("revolve", {.steps = 10}), "[revolve] slots 0 vs at least 1");
  EXPECT_EQ(refusal("revolve", {.steps = 0, .slots = 1}), "[revolve] steps 0 vs at least 1");
  EXPECT_EQ(refusal("store_all", {.steps = 2'000'000'000'000}),
            "[store_all] steps 2000000000000 vs at most 10^12");
  EXPECT_NE(refusal("revolver", {.steps = 1})
                .find("no schedule is named 'revolver'; there are store_all, periodic"),
            std::string::npos);
}

}  // namespace
}  // namespace tidemark::schedule
