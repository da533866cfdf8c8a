// Call trees under every budget: the same bits, the promised peak, snapshots no larger than needed, effects kept together.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/call_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tidemark/base/random.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

template <typename T>
struct Fields {
  std::vector<T> u, v;
  std::array<T, 3> k{};  // read only
  std::int64_t calls = 0;
};

Fields<double> start(std::size_t n) {
  Fields<double> s{.u = {}, .v = {}, .k = {0.3, 1.1, -0.4}};
  for (std::size_t i = 0; i < n; ++i) {
    s.u.push_back(std::sin(0.7 * static_cast<double>(i)));
    s.v.push_back(std::cos(0.3 * static_cast<double>(i)));
  }
  return s;
}
const auto loss = [](const auto& s) {
  auto sum = s.u[0] * s.v[0];
  std::remove_cvref_t<decltype(s.u[0])> total = sum;
  for (std::size_t i = 1; i < s.u.size(); ++i) total += s.u[i] * s.v[i] + s.k[0];
  return total;
};
std::vector<double> bits(const CallGradient<Fields>& g) {
  std::vector<double> all{g.value};
  all.insert(all.end(), g.state.u.begin(), g.state.u.end());
  all.insert(all.end(), g.state.v.begin(), g.state.v.end());
  all.insert(all.end(), g.state.k.begin(), g.state.k.end());
  return all;
}
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// main calls four times a step, which calls two leaves.
CallTree<Fields> small_program() {
  CallTree<Fields> tree;
  tree.add("heat", [](auto&, auto& s) {
    for (int r = 0; r < 20; ++r)
      for (std::size_t i = 1; i + 1 < s.u.size(); ++i)
        s.u[i] = s.u[i] + 0.1 * s.k[0] * (s.u[i - 1] - 2.0 * s.u[i] + s.u[i + 1]);
  });
  tree.add("react", [](auto&, auto& s) {
    using std::exp;
    for (std::size_t i = 0; i < s.v.size(); ++i)
      if (s.v[i] > -2.0) s.v[i] = s.v[i] + 0.01 * exp(-s.k[1] * s.u[i] * s.u[i]);
    ++s.calls;
  });
  tree.add("step", [](auto& call, auto& s) {
    s.u[0] = s.u[0] + s.k[2] * s.v[0];
    call("heat", s);
    s.u[1] = s.u[1] * s.v[1];
    call("react", s);
  });
  tree.add("main", [](auto& call, auto& s) {
    for (int i = 0; i < 4; ++i) call("step", s);
  });
  return tree;
}

TEST(CallTree, AgreesWithDifferences) {
  const CallTree<Fields> tree = small_program();
  const Fields<double> s = start(8);
  const auto g = tree.gradient("main", loss, s, {.memory = 64_MiB});
  const auto value = [&](Fields<double> at) {
    return tree.gradient("main", loss, at, {.memory = 64_MiB}).value;
  };
  const double h = 1e-6;
  Fields<double> a = s, b = s;
  a.u[3] += h;
  b.u[3] -= h;
  EXPECT_NEAR(g.state.u[3], (value(a) - value(b)) / (2 * h), 1e-7);
  a = b = s;
  a.k[1] += h;
  b.k[1] -= h;
  EXPECT_NEAR(g.state.k[1], (value(a) - value(b)) / (2 * h), 1e-7);
}

TEST(CallTree, EveryBudgetGivesTheSameBitsAndThePromisedPeak) {
  const CallTree<Fields> tree = small_program();
  const auto all = tree.gradient("main", loss, start(40), {.memory = 1_GiB});
  EXPECT_EQ(all.report.peak, all.report.all_split);
  EXPECT_EQ(all.report.peak, all.report.measured_peak);
  Bytes least = 0;
  try {
    tree.gradient("main", loss, start(40), {.memory = 1});
    FAIL() << "a byte was enough";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
    EXPECT_THAT(e.what(), HasSubstr("vs at least"));
  }
  std::set<std::int64_t> kept;
  for (Bytes memory = all.report.peak; memory > 0; memory -= 48_KiB) {
    try {
      const auto g = tree.gradient("main", loss, start(40), {.memory = memory});
      EXPECT_TRUE(same_bits(bits(g), bits(all)));
      EXPECT_EQ(g.report.peak, g.report.measured_peak);
      EXPECT_LE(g.report.peak, memory);
      std::int64_t split = 0;
      for (const auto& f : g.report.functions) split += f.split;
      kept.insert(split);
      least = g.report.peak;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::infeasible);
      break;
    }
  }
  EXPECT_GT(kept.size(), 2u);
  EXPECT_LT(least, all.report.peak / 2);
}

// What an ordinary tape of the same code gives, for numbers that are constants when a call reads them and others later.
TEST(CallTree, ConstantsThatAreOverwrittenAreInTheSnapshot) {
  CallTree<Fields> tree;
  tree.add("advance", [](auto&, auto& s) {
    using std::sin;
    for (auto& x : s.u) x += s.k[1] * sin(x);
  });
  tree.add("main", [](auto& call, auto& s) {
    s.k[1] = 0.1;
    call("advance", s);
    s.k[1] = 0.7;
    call("advance", s);
  });
  const auto split = tree.gradient("main", loss, start(5), {.modes = {{"advance", CallMode::split}}});
  const auto joint = tree.gradient("main", loss, start(5), {.modes = {{"advance", CallMode::joint}}});
  EXPECT_TRUE(same_bits(bits(split), bits(joint)));
  const Fields<double> at = start(5);
  for (std::size_t i = 0; i < at.u.size(); ++i) {
    const double first = at.u[i] + 0.1 * std::sin(at.u[i]);
    const double slope = (1 + 0.7 * std::cos(first)) * (1 + 0.1 * std::cos(at.u[i]));
    EXPECT_NEAR(joint.state.u[i], slope * at.v[i], 1e-12);
  }
}

TEST(CallTree, CallsThatChangeNoNumberAreRunToo) {
  CallTree<Fields> tree;
  tree.add("count", [](auto&, auto& s) { s.calls += 3; });
  tree.add("scale", [](auto&, auto& s) {
    for (auto& x : s.u) x *= 1.0 + static_cast<double>(s.calls);
  });
  tree.add("main", [](auto& call, auto& s) {
    call("count", s);
    call("scale", s);
  });
  for (const CallMode mode : {CallMode::split, CallMode::joint}) {
    const auto g = tree.gradient("main", loss, start(5), {.modes = {{"scale", mode}}});
    for (std::size_t i = 0; i < 5; ++i) EXPECT_DOUBLE_EQ(g.state.u[i], 4 * start(5).v[i]);
  }
  EXPECT_THROW(tree.gradient("main", loss, start(5), {.modes = {{"scael", CallMode::joint}}}), Error);
}

TEST(CallTree, SnapshotsHoldWhatIsUsedAndOverwritten) {
  const CallTree<Fields> tree = small_program();
  const auto g =
      tree.gradient("main", loss, start(40),
                    {.memory = 1_GiB, .modes = {{"heat", CallMode::joint}, {"react", CallMode::joint}}});
  for (const auto& f : g.report.functions) {
    if (f.name == "heat") {
      EXPECT_EQ(f.snapshot, 38 * 8 + 8);  // u between its ends, which the call overwrites, and what is no T
      EXPECT_EQ(f.split, 0);
    }
    if (f.name == "react") {
      EXPECT_EQ(f.snapshot, 40 * 8 + 8);  // v; u is not overwritten before the step ends
    }
  }
  EXPECT_THAT(g.report.explain(), HasSubstr("heat: 4 calls"));
  EXPECT_THAT(g.report.explain(), HasSubstr("4 run again from 328 B of 664 B"));
}

TEST(CallTree, WhatIsRunAgainHoldsBothEndsOfAnEffect) {
  CallTree<Fields> tree;
  int opened = 0, closed = 0;
  tree.add("opens", [&](auto& call, auto& s) {
    call.begins("open", "log", [&] { ++opened; });
    for (auto& x : s.u) x = x * s.k[0];
  });
  tree.add("closes", [&](auto& call, auto& s) {
    for (auto& x : s.v) x = x * s.u[0];
    call.ends("close", "log", [&] { ++closed; });
  });
  tree.add("both", [](auto& call, auto& s) {
    call("opens", s);
    call("closes", s);
  });
  tree.add("main", [](auto& call, auto& s) {
    call("both", s);
    call("both", s);
  });
  // The one that holds the pair may be run again; those that would separate it may not, and keep their tapes.
  const auto g =
      tree.gradient("main", loss, start(10), {.memory = 1_GiB, .modes = {{"both", CallMode::joint}}});
  for (const auto& f : g.report.functions) {
    if (f.name == "both") {
      EXPECT_EQ(f.split, 0);
    }
    if (f.name == "opens" || f.name == "closes") {
      EXPECT_EQ(f.split, f.calls);
    }
  }
  // Once in the first run and once when the pair is run again; measuring does nothing.
  EXPECT_EQ(opened, 4);
  EXPECT_EQ(closed, 4);
  opened = closed = 0;
  tree.gradient("main", loss, start(10), {.memory = 1_GiB});
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(closed, 2);
  try {
    tree.gradient("main", loss, start(10), {.memory = 1_GiB, .modes = {{"opens", CallMode::joint}}});
    FAIL() << "a pair was separated";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::usage);
    EXPECT_THAT(e.what(), HasSubstr("open 'log' at call_tree_test.cpp:"));
    EXPECT_THAT(e.what(), HasSubstr("close 'log' at call_tree_test.cpp:"));
  }
}

// 2^60 + 1 is no double; which way a function goes when it is run again depends on its last bit.
TEST(CallTree, SnapshotsKeepEveryBitOfIntegers) {
  CallTree<Fields> tree;
  tree.add("leaf", [](auto&, auto& s) {
    s.u[0] = (s.calls & 1) != 0 ? s.u[0] * s.k[0] : s.u[0] * s.k[1];
    ++s.calls;
  });
  tree.add("main", [](auto& call, auto& s) {
    for (int i = 0; i < 4; ++i) call("leaf", s);
  });
  Fields<double> from = start(2);
  from.calls = (std::int64_t{1} << 60) + 1;
  const auto split =
      tree.gradient("main", loss, from, {.memory = 1_GiB, .modes = {{"leaf", CallMode::split}}});
  const auto joint =
      tree.gradient("main", loss, from, {.memory = 1_GiB, .modes = {{"leaf", CallMode::joint}}});
  EXPECT_TRUE(same_bits(bits(joint), bits(split)));
}

// Tapes of a call and of those around it: no more than the run itself needs where every call is run again.
TEST(CallTree, MeasuringTakesNoMoreThanTheSmallestRun) {
  const CallTree<Fields> tree = small_program();
  std::map<std::string, CallMode> joint;
  for (const char* f : {"step", "heat", "react"}) joint[f] = CallMode::joint;
  for (const std::size_t n : {40u, 4000u}) {
    const auto g = tree.gradient("main", loss, start(n), {.memory = 1_GiB, .modes = joint});
    EXPECT_GT(g.report.measuring, 0);
    EXPECT_LE(g.report.measuring, g.report.peak);
  }
}

// A call that changes no number is never taped, also not to be measured.
TEST(CallTree, MeasuringTapesNoCallWithoutAnAdjoint) {
  CallTree<Fields> tree;
  tree.add("norm", [](auto&, auto& s) {
    std::remove_cvref_t<decltype(s.u[0])> sum = s.u[0];
    for (int i = 0; i < 20'000; ++i) sum = sum * 0.5 + s.u[1] * s.u[1];
    if (sum > 1.0) s.calls += 1;
  });
  tree.add("main", [](auto& call, auto& s) {
    call("norm", s);
    s.u[0] = s.u[0] * s.k[0];
  });
  const auto g = tree.gradient("main", loss, start(3));
  EXPECT_LE(g.report.measuring, g.report.peak);
  EXPECT_EQ(g.report.peak, g.report.measured_peak);
  EXPECT_EQ(g.report.smallest, g.report.peak);
  EXPECT_EQ(tree.gradient("main", loss, start(3), {.memory = g.report.smallest}).report.peak, g.report.peak);
}

TEST(CallTree, EveryFunctionRunsTwiceToBeMeasured) {
  int runs = 0;
  bool was_measuring = true;
  CallTree<Fields> tree;
  tree.add("leaf", [&](auto& call, auto& s) {
    runs += call.measuring() ? 1 : 0;
    was_measuring = call.measuring();
    s.u[0] = s.u[0] * s.k[0];
  });
  tree.add("inner", [](auto& call, auto& s) { call("leaf", s); });
  tree.add("main", [](auto& call, auto& s) { call("inner", s); });
  tree.gradient("main", loss, start(3));
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(was_measuring);
}

TEST(CallTree, NumbersThatMoveAreReadAndReadersOfCallsReadThem) {
  CallTree<Fields> tree;
  tree.add("rotate", [](auto&, auto& s) { std::rotate(s.u.begin(), s.u.begin() + 1, s.u.end()); });
  tree.add("branch", [](auto& call, auto& s) {
    if (s.v[2] > 0.5) call("rotate", s);  // read by a comparison alone
    s.k[2] = 0.25;
  });
  tree.add("main", [](auto& call, auto& s) {
    call("branch", s);
    s.v[2] = s.v[2] - 1.0;
    call("branch", s);
    s.u[1] = s.u[1] * s.k[2];
  });
  Fields<double> from = start(5);
  from.v[2] = 0.75;
  const auto split = tree.gradient("main", loss, from,
                                   {.modes = {{"branch", CallMode::split}, {"rotate", CallMode::split}}});
  const auto joint = tree.gradient("main", loss, from,
                                   {.modes = {{"branch", CallMode::joint}, {"rotate", CallMode::joint}}});
  EXPECT_TRUE(same_bits(bits(split), bits(joint)));
  for (const auto& f : joint.report.functions) {
    if (f.name == "branch") {
      EXPECT_EQ(f.snapshot, (5 + 1) * 8 + 8);  // u, v[2], and what is no T
    }
  }
}

TEST(CallTree, UnknownFunctionsAreNamed) {
  CallTree<Fields> tree;
  tree.add("main", [](auto& call, auto& s) { call("nothing", s); });
  EXPECT_THROW(tree.gradient("main", loss, start(3)), Error);
}

// A random program: functions call later ones, in loops and behind branches on the state, and do random arithmetic between.
CallTree<Fields> random_program(std::uint64_t seed) {
  CallTree<Fields> tree;
  Rng rng(seed);
  const auto below = [&](int n) { return static_cast<int>(rng.below(n)); };
  const auto cell = [&](int n) { return static_cast<std::size_t>(below(n)); };
  const int functions = 2 + below(5);
  for (int f = 0; f < functions; ++f) {
    struct Item {
      int kind, target;
      std::size_t a, b, c;
      int loops;
      double factor;
    };
    std::vector<Item> items;
    const int count = 1 + below(5);
    for (int i = 0; i < count; ++i)
      items.push_back({below(f + 1 < functions ? 6 : 4), f + 1 + below(std::max(1, functions - f - 1)),
                       cell(6), cell(6), cell(3), 1 + below(3), rng.uniform() - 0.5});
    tree.add("f" + std::to_string(f), [items](auto& call, auto& s) {
      using std::sin;
      for (const Item& i : items) {
        switch (i.kind) {
          case 0:
            for (int r = 0; r < 40 * i.loops; ++r) s.u[i.a] = s.u[i.a] + 0.01 * sin(s.v[i.b] * s.k[i.c]);
            break;
          case 1:
            s.v[i.a] = i.factor * s.u[i.b] * s.v[i.a];
            break;
          case 2:
            if (s.u[i.a] > i.factor)
              s.v[i.b] = s.v[i.b] + s.u[i.a];
            else
              s.u[i.b] = s.k[i.c] * s.v[i.b];
            break;
          case 3:
            s.u[i.a] = s.v[i.a];
            ++s.calls;
            break;
          default:
            for (int r = 0; r < i.loops; ++r)
              if (i.kind == 4 || s.v[i.a] > i.factor) call("f" + std::to_string(i.target), s);
        }
      }
    });
  }
  return tree;
}
void check_random_programs(std::uint64_t from, std::uint64_t to) {
  int budgets = 0;
  for (std::uint64_t seed = from; seed < to; ++seed) {
    SCOPED_TRACE(seed);
    const CallTree<Fields> tree = random_program(seed);
    const auto all = tree.gradient("f0", loss, start(6), {.memory = 1_GiB});
    ASSERT_EQ(all.report.peak, all.report.measured_peak);
    for (const double part : {0.75, 0.5, 0.25}) {
      try {
        const auto g =
            tree.gradient("f0", loss, start(6),
                          {.memory = static_cast<Bytes>(part * static_cast<double>(all.report.peak))});
        ASSERT_TRUE(same_bits(bits(g), bits(all)));
        ASSERT_EQ(g.report.peak, g.report.measured_peak);
        ++budgets;
      } catch (const Error& e) {
        ASSERT_EQ(e.kind(), Error::Kind::infeasible) << e.what();
        break;
      }
    }
  }
  EXPECT_GT(budgets, static_cast<int>(to - from) / 4);
}
TEST(CallTree, RandomPrograms) { check_random_programs(0, 200); }
TEST(SlowCallTree, RandomPrograms1_Slow) { check_random_programs(200, 5'000); }
TEST(SlowCallTree, RandomPrograms2_Slow) { check_random_programs(5'000, 10'200); }

}  // namespace
}  // namespace tidemark
