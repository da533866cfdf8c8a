// The search's state against what it should be from scratch: profile, undo, order.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/timeline.h"

#include <gtest/gtest.h>

#include "random_problem.h"
#include "tidemark/plan/drops.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/reorder.h"

namespace tidemark::plan {
namespace {

TEST(Profile, AgreesWithAPlainArray) {
  Rng rng(1);
  Profile profile;
  constexpr std::int32_t kSlots = 37;
  profile.reset(kSlots);
  std::vector<Bytes> plain(static_cast<std::size_t>(profile.width()), 0);
  for (int k = 0; k < 2000; ++k) {
    auto a = static_cast<std::int32_t>(rng.below(kSlots)), b = static_cast<std::int32_t>(rng.below(kSlots));
    if (a > b) std::swap(a, b);
    const Bytes bytes = rng.below(100) - 40;
    profile.add(a, b, bytes);
    for (std::int32_t i = a; i <= b; ++i) plain[static_cast<std::size_t>(i)] += bytes;
    EXPECT_EQ(profile.most(), *std::max_element(plain.begin(), plain.end()));
    EXPECT_EQ(profile.most(a, b), *std::max_element(plain.begin() + a, plain.begin() + b + 1));
    EXPECT_EQ(profile.at(a), plain[static_cast<std::size_t>(a)]);
    EXPECT_EQ(plain[static_cast<std::size_t>(profile.where_most())], profile.most());
    const Bytes limit = rng.below(200);
    std::int32_t first = -1;
    for (std::int32_t i = profile.width() - 1; i >= a; --i)
      first = plain[static_cast<std::size_t>(i)] > limit ? i : first;
    EXPECT_EQ(profile.first_above(a, limit), first);
  }
}

RandomProblem without_tiers(int tasks) {
  RandomProblem shape;
  shape.tasks = tasks;
  shape.tiers = false;
  return shape;
}

TEST(Timeline, PeakAndSecondsAreThoseOfItsSteps) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem p = random_problem(seed, without_tiers(15));
    const Model model(p, {});
    Timeline line(model);
    line.assign(model.order, 3);
    Drops drops(line, line.peak() * 8 / 10);
    Rng rng(seed);
    drops.repair(1e300, 0.5, rng, 20, Drops::Failing::leave);
    Plan plan;
    plan.steps = steps_of(line);
    const Replay r = replay(p, plan);
    EXPECT_EQ(r.broken, "") << seed;
    EXPECT_EQ(r.live_peak, line.peak()) << seed;
    EXPECT_NEAR(r.seconds, line.seconds(), 1e-9) << seed;
    EXPECT_EQ(runs_of_steps(model, plan.steps), line.runs()) << seed;
  }
}

TEST(Timeline, UndoRestoresEverything) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem p = random_problem(seed, without_tiers(20));
    const Model model(p, {});
    Timeline line(model);
    line.assign(model.order, 3);
    const Bytes peak = line.peak();
    const auto runs = line.runs();
    std::vector<Bytes> bytes;
    for (std::int32_t s = 0; s < line.slots(); ++s) bytes.push_back(line.profile().at(s));
    Drops drops(line, peak * 7 / 10);
    Rng rng(seed);
    drops.repair(1e300, 0.5, rng, 20, Drops::Failing::leave);
    line.undo_to(0);
    EXPECT_EQ(line.peak(), peak) << seed;
    EXPECT_EQ(line.runs(), runs) << seed;
    for (std::int32_t s = 0; s < line.slots(); ++s)
      EXPECT_EQ(line.profile().at(s), bytes[static_cast<std::size_t>(s)]) << seed;
  }
}

TEST(Timeline, ARunGoesWithWhatWasMadeForItAlone) {
  Problem p;
  for (int b = 0; b < 4; ++b) p.buffers.push_back({.name = "b" + std::to_string(b), .bytes = 1});
  p.tasks = {{.name = "a", .writes = {0}, .seconds = 1},
             {.name = "b", .reads = {0}, .writes = {1}, .seconds = 1},
             {.name = "c", .reads = {1}, .writes = {2}, .seconds = 1},
             {.name = "d", .reads = {0, 2}, .writes = {3}, .seconds = 1}};
  p.outputs = {3};
  const Model model(p, {});
  Timeline line(model);
  line.assign({0, 1, 2, 0, 1, 2, 3}, 0);
  EXPECT_FALSE(line.remove_with_its_own(0));
  EXPECT_TRUE(
      line.remove_with_its_own(5));  // the second `c`, with its `b`; `d` reads what the second `a` makes
  EXPECT_EQ(line.runs(), (std::vector<TaskId>{0, 1, 2, 0, 3}));
  line.undo_to(0);
  EXPECT_EQ(line.runs(), (std::vector<TaskId>{0, 1, 2, 0, 1, 2, 3}));
}

TEST(Reorder, KeepsThePlanAndKnowsItsPeak) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomProblem shape = without_tiers(25);
    shape.in_place = seed % 2 == 0;
    const Problem p = random_problem(seed, shape);
    const Model model(p, {});
    Reorder reorder(model);
    reorder.load(model.order);
    const Bytes limit = reorder.peak() * 7 / 10;
    const double before = reorder.overflow({limit});
    Rng rng(seed);
    reorder.anneal({limit}, 50, 1, 3000, rng);
    Timeline line(model);
    line.assign(reorder.runs(), 0);
    Plan plan;
    plan.steps = steps_of(line);
    EXPECT_EQ(replay(p, plan).broken, "") << seed;
    EXPECT_LE(line.peak(), model.base + reorder.peak()) << seed;  // it counts in-place pairs strictly
    if (before == 0) {
      EXPECT_EQ(reorder.runs(), model.order) << seed;
    }
  }
}

}  // namespace
}  // namespace tidemark::plan
