// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack.h"

#include <gtest/gtest.h>

#include <atomic>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/pack_csv.h"
#include "tidemark/plan/pack_exact.h"
#include "tidemark/plan/pack_greedy.h"
#include "tidemark/plan/pack_orders.h"

namespace tidemark::plan {
namespace {

std::vector<Interval> random_intervals(Rng& rng, int n, int moments, int most_bytes, bool chains) {
  std::vector<Interval> out;
  while (static_cast<int>(out.size()) < n) {
    Interval a{.begin = rng.below(moments), .end = 0, .bytes = rng.below(most_bytes + 1)};
    a.end = a.begin + rng.below(moments / 2 + 1);
    out.push_back(a);
    if (chains && rng.below(3) == 0 && a.end > a.begin) {
      Interval b{.begin = a.end - (a.end > a.begin + 1 ? rng.below(2) : 0), .bytes = rng.below(a.bytes + 1)};
      b.end = a.end + rng.below(moments / 2 + 1);
      b.follows = static_cast<std::int32_t>(out.size()) - 1;
      out.push_back(b);
    }
  }
  return out;
}

TEST(Pack, EmptyAndNeverLive) {
  const Packing none = pack({});
  EXPECT_EQ(none.bytes, 0);
  EXPECT_EQ(check_packing({}, none), "");
  const std::vector<Interval> some{{0, 5, 0}, {3, 3, 100}, {0, 5, 0}};
  const Packing packing = pack(some);
  EXPECT_EQ(packing.bytes, 0);
  EXPECT_EQ(packing.lower_bound, 0);
  EXPECT_EQ(check_packing(some, packing), "");
}

TEST(Pack, RandomIntervalsPassTheCheck) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const Bytes align = round % 3 == 0 ? 7 : round % 3 == 1 ? 1 : 16;
    const auto intervals = random_intervals(rng, 1 + static_cast<int>(rng.below(40)), 20, 50, round % 2 == 1);
    const Packing packing = pack(intervals, {.align = align, .effort = 100});
    EXPECT_EQ(check_packing(intervals, packing, align), "");
    EXPECT_GE(packing.bytes, packing.lower_bound);
  }
}

// The least height: every order of the items, each put at the lowest place where it fits. An optimal packing
// pushed down as far as it goes and taken from the bottom up is one of them.
Bytes brute_force(const std::vector<Interval>& intervals, Bytes bound) {
  // A chain is its parts at one offset.
  std::vector<std::vector<std::size_t>> chains;
  std::vector<std::size_t> chain_of(intervals.size());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (intervals[i].follows < 0) {
      chain_of[i] = chains.size();
      chains.push_back({i});
    } else {
      chain_of[i] = chain_of[static_cast<std::size_t>(intervals[i].follows)];
      chains[chain_of[i]].push_back(i);
    }
  }
  const auto begin = [&](std::size_t i) {
    return intervals[i].follows < 0 ? intervals[i].begin
                                    : intervals[static_cast<std::size_t>(intervals[i].follows)].end;
  };
  const auto meet = [&](std::size_t a, std::size_t b) {
    return intervals[a].bytes > 0 && intervals[b].bytes > 0 && begin(a) < intervals[b].end &&
           begin(b) < intervals[a].end;
  };
  std::vector<Bytes> offset(chains.size(), -1);
  Bytes best = std::numeric_limits<Bytes>::max();
  const auto extend = [&](const auto& self, std::size_t left, Bytes height) -> void {
    if (height >= best || best == bound) return;
    if (left == 0) best = height;
    for (std::size_t c = 0; c < chains.size() && left > 0; ++c) {
      if (offset[c] >= 0) continue;
      Bytes at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t d = 0; d < chains.size(); ++d) {
          if (offset[d] < 0) continue;
          for (const std::size_t a : chains[c])
            for (const std::size_t b : chains[d])
              if (meet(a, b) && at < offset[d] + intervals[b].bytes && offset[d] < at + intervals[a].bytes) {
                at = offset[d] + intervals[b].bytes;
                moved = true;
              }
        }
      }
      Bytes top = height;
      for (const std::size_t a : chains[c])
        if (begin(a) < intervals[a].end && intervals[a].bytes > 0)
          top = std::max(top, at + intervals[a].bytes);
      offset[c] = at;
      self(self, left - 1, top);
      offset[c] = -1;
    }
  };
  extend(extend, chains.size(), 0);
  return best;
}

TEST(Pack, LeastHeightOfSmallSets) {
  Rng rng(2);
  for (int round = 0; round < 400; ++round) {
    auto intervals = random_intervals(rng, 2 + static_cast<int>(rng.below(6)), 7, 9, round % 2 == 1);
    const Packing packing = pack(intervals, {.time_limit = 1e9, .effort = 200000});
    EXPECT_EQ(check_packing(intervals, packing), "");
    EXPECT_EQ(packing.bytes, brute_force(intervals, packing.lower_bound)) << round;
  }
}

// Full at every moment: what ends is replaced by as many bytes. Few such sets can be packed without holes.
std::vector<Interval> full_intervals(Rng& rng, int most) {
  std::vector<Interval> out;
  std::vector<std::size_t> live;
  Bytes room = 60;
  for (std::int64_t t = 0; static_cast<int>(out.size()) < most; ++t) {
    for (std::size_t k = 0; k < live.size();) {
      if (rng.below(2) == 0) {
        room += out[live[k]].bytes;
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        ++out[live[k++]].end;
      }
    }
    while (room > 0 && static_cast<int>(out.size()) < most) {
      live.push_back(out.size());
      out.push_back({t, t + 1, 1 + rng.below(std::min<Bytes>(room, 40))});
      room -= out.back().bytes;
    }
  }
  return out;
}

// The exact search itself, without the greedy answers before it: it finds the least height and refuses the
// one below.
TEST(Pack, ExactSearchIsComplete) {
  Rng rng(7);
  for (int round = 0; round < 40; ++round) {
    const auto intervals = full_intervals(rng, 10);
    const packing::Items items = packing::make_items(intervals, 1);
    packing::Exact exact(items);
    const packing::Orders orders(items);
    const Bytes least = brute_force(intervals, items.lower_bound);
    std::vector<packing::Units> offsets;
    packing::Budget budget{.nodes = 1000000};
    const std::int64_t order = rng.below(40);
    EXPECT_EQ(exact.search(least, orders.rank(order), budget, offsets), packing::Answer::found) << round;
    EXPECT_EQ(packing::height_of(items, offsets), least);
    EXPECT_EQ(exact.search(least - 1, orders.rank(order), budget, offsets), packing::Answer::impossible)
        << round;
  }
}

// Where brute force does not reach: what one order proves impossible no other may find.
TEST(Pack, ExactSearchAgreesUnderEveryOrder) {
  Rng rng(9);
  int found = 0, impossible = 0;
  for (int round = 0; round < 300; ++round) {
    const auto intervals = full_intervals(rng, 14 + static_cast<int>(rng.below(10)));
    const packing::Items items = packing::make_items(intervals, 1);
    packing::Exact exact(items);
    const packing::Orders orders(items);
    std::vector<packing::Answer> answers;
    for (std::int64_t order = 0; order < 24; ++order) {
      packing::Budget budget{.nodes = 20000};
      std::vector<packing::Units> offsets;
      answers.push_back(exact.search(items.lower_bound, orders.rank(order), budget, offsets));
      if (answers.back() == packing::Answer::found) {
        EXPECT_EQ(packing::height_of(items, offsets), items.lower_bound);
      }
    }
    const auto has = [&](packing::Answer a) { return std::count(answers.begin(), answers.end(), a) > 0; };
    EXPECT_FALSE(has(packing::Answer::found) && has(packing::Answer::impossible)) << round;
    found += has(packing::Answer::found);
    impossible += has(packing::Answer::impossible);
  }
  EXPECT_GT(found, 10);
  EXPECT_GT(impossible, 0);
}

// Chains, alignment and many buffers at once: what the planner hands over.
TEST(Pack, ManyBuffers) {
  Rng rng(8);
  const auto intervals = random_intervals(rng, 3000, 4000, 1 << 20, true);
  const Packing packing = pack(intervals, {.align = 256, .time_limit = 1e9, .effort = 10000});
  EXPECT_EQ(check_packing(intervals, packing, 256), "");
  EXPECT_LE(static_cast<double>(packing.bytes), 1.15 * static_cast<double>(packing.lower_bound));
}

TEST(Pack, TheSameTwice) {
  Rng rng(3);
  for (int round = 0; round < 5; ++round) {
    const auto intervals = random_intervals(rng, 120, 60, 1000, true);
    const PackOptions options{.time_limit = 1e9, .effort = 20000};
    EXPECT_EQ(pack(intervals, options).offsets, pack(intervals, options).offsets);
  }
}

// What fits one capacity is found under every larger one with the same effort.
TEST(Pack, MonotoneInCapacity) {
  Rng rng(4);
  for (int round = 0; round < 5; ++round) {
    const auto intervals = random_intervals(rng, 60, 40, 1000, round % 2 == 0);
    const Bytes bound = pack(intervals, {.effort = 0}).lower_bound;
    bool fitted = false;
    for (Bytes capacity = bound; capacity < bound * 3 / 2; capacity += bound / 100 + 1) {
      const Packing packing = pack(intervals, {.capacity = capacity, .time_limit = 1e9, .effort = 3000});
      EXPECT_EQ(check_packing(intervals, packing), "");
      const bool fits = packing.bytes <= capacity;
      EXPECT_TRUE(fits || !fitted) << capacity;
      fitted = fitted || fits;
    }
    EXPECT_TRUE(fitted);
  }
}

TEST(Pack, AimsAtTheCapacityAloneAndEndsWhereThatIsImpossible) {
  Rng rng(17);
  for (int round = 0; round < 60; ++round) {
    const auto intervals = random_intervals(rng, 60, 30, 50, round % 2 == 1);
    const Bytes least = pack(intervals, {.effort = 20'000}).bytes;
    const Packing found =
        pack(intervals, {.capacity = least, .aim = true, .time_limit = 20, .effort = 400'000});
    EXPECT_EQ(check_packing(intervals, found), "");
    EXPECT_LE(found.bytes, least) << round;
  }
  // Less than is live at once: ends by itself, whatever the time.
  const std::vector<Interval> tight{{0, 2, 2}, {1, 4, 2}, {3, 5, 4}};
  const Packing answer = pack(tight, {.capacity = 1, .aim = true, .time_limit = 1e9});
  EXPECT_EQ(check_packing(tight, answer), "");
  EXPECT_GT(answer.bytes, 1);
}

TEST(Pack, CheckCatchesEveryFault) {
  const std::vector<Interval> intervals{{0, 4, 8}, {2, 6, 8}, {4, 8, 8, 0}};
  EXPECT_EQ(check_packing(intervals, {{0, 8, 0}, 16, 16}, 4), "");
  EXPECT_NE(check_packing(intervals, {{0, 7, 0}, 15, 16}), "");      // overlap
  EXPECT_NE(check_packing(intervals, {{0, 0, 0}, 8, 16}), "");       // the same place
  EXPECT_NE(check_packing(intervals, {{0, 8, 16}, 24, 16}), "");     // does not take over
  EXPECT_NE(check_packing(intervals, {{0, 8, 0}, 24, 16}), "");      // states another height
  EXPECT_NE(check_packing(intervals, {{0, 8}, 16, 16}), "");         // an offset is missing
  EXPECT_NE(check_packing(intervals, {{0, 10, 0}, 18, 16}, 4), "");  // not aligned
  EXPECT_NE(check_packing(intervals, {{0, -8, 0}, 8, 16}), "");
  const std::vector<Interval> twice{{0, 4, 8}, {4, 8, 8, 0}, {4, 8, 8, 0}};
  EXPECT_NE(check_packing(twice, {{0, 0, 0}, 8, 8}), "");
}

TEST(Pack, RefusesWhatMakesNoSense) {
  const auto refused = [](std::vector<Interval> intervals, PackOptions options = {}) {
    EXPECT_THROW(pack(intervals, options), Error);
  };
  constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
  refused({{0, 1, -1}});
  refused({{1, 0, 1}});
  refused({{0, 1, kMost}});
  refused({{0, 1, kMost / 3}, {0, 1, kMost / 3}});
  refused({{0, 1, 1}}, {.align = 0});
  refused({{0, 1, 1}, {0, 1, 1}}, {.align = kMost / 2});
  refused({{0, 1, 1, 7}});
  refused({{0, 2, 1, 1}, {0, 2, 1, 0}});
  refused({{0, 2, 1}, {1, 3, 2, 0}});
  const std::vector<Interval> far{{std::numeric_limits<std::int64_t>::min(), kMost, Bytes{1} << 61},
                                  {0, 1, 5}};
  const Packing packing = pack(far);
  EXPECT_EQ(check_packing(far, packing), "");
  EXPECT_EQ(packing.bytes, packing.lower_bound);
}

TEST(PackCsv, ReadsWritesAndRefuses) {
  const PackInstance instance = read_pack_csv("size,id,lower,upper\n10,a,0,3\r\n\n20,b,2,5\n");
  ASSERT_EQ(instance.intervals.size(), 2u);
  EXPECT_EQ(instance.ids[1], "b");
  EXPECT_EQ(instance.intervals[1].begin, 2);
  EXPECT_EQ(instance.intervals[1].end, 5);
  EXPECT_EQ(instance.intervals[1].bytes, 20);
  EXPECT_EQ(write_pack_csv(instance, {{20, 0}, 30, 30}),
            "id,lower,upper,size,offset\na,0,3,10,20\nb,2,5,20,0\n");
  for (const char* bad :
       {"", "id,lower,upper\n", "id,lower,upper,size\na,0,1\n", "id,lower,upper,size\na,0,1,x\n",
        "id,lower,upper,size\na,0,1,99999999999999999999\n", "id,lower,upper,size\na,3,1,1\n",
        "id,lower,upper,size\na,0,1,-4\n", "id,lower,upper,size\na,0,1,\n",
        "id,lower,upper,size,size\na,0,1,4,5\n"})
    EXPECT_THROW(read_pack_csv(bad), Error) << bad;
  try {
    read_pack_csv("id,lower,upper,size\na,0,1,4\nb,0,1,4\na,2,3,4\n");
    FAIL() << "an id twice";
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("line 4: id 'a' is that of line 2"), std::string::npos) << what;
  }
}

// Thousands live at each moment: in one order alone, each where it fits best, they take seconds.
TEST(Pack, DenseSetsHearTheLimit) {
  constexpr double kLimit = 0.1;
  Rng rng(1);
  std::vector<Interval> intervals;
  for (int i = 0; i < 30'000; ++i) {
    const std::int64_t begin = rng.below(30'000);
    intervals.push_back({begin, begin + 1 + rng.below(8000), 1 + rng.below(1'000'000), -1});
  }
  const double begin = cpu_seconds();
  const Packing packing = pack(intervals, {.time_limit = kLimit});
  EXPECT_LT(cpu_seconds() - begin, kLimit + 0.7);
  EXPECT_EQ(check_packing(intervals, packing), "");
  EXPECT_LE(static_cast<double>(packing.bytes), 1.1 * static_cast<double>(packing.lower_bound));
}

TEST(Pack, FittingInTurnPassesTheCheck) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const auto intervals = random_intervals(rng, 1 + static_cast<int>(rng.below(60)), 20, 100, seed % 2 == 0);
    const packing::Items items = packing::make_items(intervals, 1);
    const packing::Layout layout = packing::fit_in_turn(items);
    Packing packing{.offsets = std::vector<Bytes>(intervals.size(), 0), .bytes = layout.height};
    for (std::size_t i = 0; i < intervals.size(); ++i)
      if (items.item_of[i] >= 0)
        packing.offsets[i] = layout.offsets[static_cast<std::size_t>(items.item_of[i])];
    packing.lower_bound = items.lower_bound;
    EXPECT_EQ(check_packing(intervals, packing), "") << seed;
    EXPECT_EQ(layout.height, packing::height_of(items, layout.offsets)) << seed;
  }
}

// Published sets, by effort instead of time: solved at the published capacity and at every larger one.
TEST(Pack, AFlagThatIsSetEndsItWithWhatThereIs) {
  std::vector<Interval> intervals;
  for (int i = 0; i < 60; ++i) intervals.push_back({i % 13, i % 13 + 2 + i % 7, 10 + (i * 37) % 91, -1});
  const std::atomic<bool> stop = true;
  const Packing packing = pack(intervals, {.time_limit = 1e9, .stop = &stop});
  EXPECT_EQ(check_packing(intervals, packing), "");
}

TEST(Pack, AQuestionThatIsAnsweredNoEndsItWithWhatThereIs) {
  // Too many for the bound to be met: only the answer ends it.
  Rng rng(4);
  std::vector<Interval> intervals;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t begin = rng.below(200);
    intervals.push_back({begin, begin + 1 + rng.below(40), 1 + rng.below(1000), -1});
  }
  int asked = 0;
  const Packing packing = pack(intervals, {.time_limit = 1e9, .go_on = [&] { return ++asked < 3; }});
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(check_packing(intervals, packing), "");
}

TEST(SlowPack, ChallengingSetsAtEveryCapacity_Slow) {
  const std::string folder = TIDEMARK_SOURCE_DIR "/../shared/packing/challenging";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no " << folder << ": published packing sets not tested";
  for (const char set : std::string("ABCDEFGHJK")) {
    const auto intervals = read_pack_csv(read_file(fmt::format("{}/{}.1048576.csv", folder, set))).intervals;
    for (const double more : {0.0, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2}) {
      const auto capacity = static_cast<Bytes>(1048576 * (1 + more));
      const Packing packing = pack(intervals, {.capacity = capacity, .time_limit = 1e9, .effort = 2000000});
      EXPECT_EQ(check_packing(intervals, packing), "");
      EXPECT_LE(packing.bytes, capacity) << set << " at +" << more;
    }
  }
}

}  // namespace
}  // namespace tidemark::plan
