// From runs to plans: drops, tiers, in-place pairs and offsets come out as the checker wants them; budgets in
// words.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/finish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"

namespace tidemark::plan {
namespace {

std::vector<Step> runs(std::initializer_list<TaskId> tasks) {
  std::vector<Step> steps;
  for (const TaskId t : tasks) steps.push_back({Step::Kind::run, t, -1, {}});
  return steps;
}

// The chain of the format's goldens: x a b gb ga gx.
Problem chain() {
  Problem p;
  p.name = "chain";
  p.buffers = {{"x", 10, true}, {"a", 100}, {"b", 60}, {"gb", 60}, {"ga", 100}, {"gx", 10}};
  p.tasks = {{.name = "a", .reads = {0}, .writes = {1}, .seconds = 2},
             {.name = "b", .reads = {1}, .writes = {2}, .seconds = 3, .workspace = 30},
             {.name = "gb", .reads = {2}, .writes = {3}, .in_place = {{2, 3}}, .seconds = 1},
             {.name = "ga", .reads = {1, 3}, .writes = {4}, .seconds = 2},
             {.name = "gx", .reads = {0, 4}, .writes = {5}, .seconds = 1}};
  p.outputs = {5};
  return p;
}

TEST(Finish, DropsAfterTheLastUse) {
  const Problem p = chain();
  const Plan plan = finish(p, runs({0, 1, 2, 3, 4}), {});
  EXPECT_EQ(plan.status, Plan::Status::optimal);
  EXPECT_EQ(plan.live_peak, 270);
  EXPECT_EQ(plan.live_peak, store_all_live_peak(p));
  EXPECT_GE(plan.peak, 270);
  EXPECT_EQ(plan.seconds, 9);
  EXPECT_EQ(plan.steps.size(), 9u);
  EXPECT_EQ(resident_bytes(p), 10);
}

TEST(Finish, DropsWhatIsMadeAgain) {
  const Plan plan = finish(chain(), runs({0, 1, 2, 0, 3, 4}), {.offsets = false});
  EXPECT_EQ(plan.status, Plan::Status::feasible);
  EXPECT_EQ(plan.seconds, 11);
  EXPECT_EQ(plan.steps[2].kind, Step::Kind::drop);
  EXPECT_EQ(plan.steps[2].id, 1);
}

TEST(Finish, UsesTheInPlacePairsGiven) {
  std::vector<Step> steps = runs({0, 1, 2, 3, 4});
  steps[2].in_place = {{2, 3}};
  const Plan plan = finish(chain(), steps, {});
  EXPECT_EQ(plan.steps.size(), 8u);
  EXPECT_EQ(plan.live_peak, 270);
}

TEST(Finish, OverBudgetSaysWhatItNeeds) {
  const Problem p = chain();
  const Plan plan = finish(p, runs({0, 1, 2, 3, 4}), {.budget = 269});
  EXPECT_EQ(plan.status, Plan::Status::infeasible);
  EXPECT_EQ(plan.smallest_peak, 270);
  EXPECT_EQ(check(p, plan), "");
}

TEST(Finish, RunsThatMakeNoPlanAreABug) {
  EXPECT_THROW(finish(chain(), runs({0, 2}), {}), Error);
  EXPECT_THROW(finish(chain(), {{Step::Kind::drop, 0, -1, {}}}, {}), Error);
}

TEST(Finish, StartAndEndTiers) {
  Problem p;
  p.tiers = {{"host", 100, 50, 0.5, 1000}, {"disk", 10, 10, 0, 1000}};
  // m is updated, s only read, q changes its tier untouched, o comes out and stays, e is made and leaves.
  p.buffers = {{"w", 10, true},        {"m", 100, false, 0, 0}, {"s", 50, false, 0, 0},
               {"q", 10, false, 0, 1}, {"o", 20, false, 0, 1},  {"e", 30, false, -1, 1}};
  p.tasks = {{.name = "e", .reads = {0, 2}, .writes = {5}, .seconds = 1},
             {.name = "update", .reads = {1, 5}, .writes = {1}, .seconds = 1, .once = true},
             {.name = "read", .reads = {4, 1}, .seconds = 1}};
  p.outputs = {4};
  ASSERT_EQ(verify(p), "");
  for (const bool offsets : {false, true}) {
    const Plan plan = run_planner(*find_planner("store_all"), p, {.offsets = offsets});
    EXPECT_EQ(check(p, plan), "");
    const double copies_in = 4 * 0.5 + (100 + 50 + 10 + 20) / 50.0, to_host = 0.5 + 100 / 100.0,
                 disk = (10 + 20 + 30) / 10.0 + 20 / 10.0;
    EXPECT_DOUBLE_EQ(plan.seconds, 3 + copies_in + to_host + disk);
  }
}

TEST(Finish, ATierThatIsTooSmallIsNoBug) {
  Problem p;
  p.tiers = {{"host", 100, 50, 0, 100}};
  p.buffers = {{"s", 80, false, 0, -1}, {"e", 90, false, -1, 0}};
  p.tasks = {{.name = "e", .reads = {0}, .writes = {1}, .seconds = 1}};
  ASSERT_EQ(verify(p), "");
  // s is not needed any more, so its copy makes room.
  EXPECT_EQ(check(p, finish(p, runs({0}), {})), "");
  p.buffers.push_back({"t", 20, false, 0, 0});
  const Plan none = finish(p, runs({0}), {});
  EXPECT_EQ(none.status, Plan::Status::timed_out);
  EXPECT_NE(none.reason.find("host"), std::string::npos);
}

TEST(Finish, EverySharedProblem) {
  const std::filesystem::path folder = TIDEMARK_SOURCE_DIR "/../shared/problems";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int problems = 0;
  for (const char* part : {"published", "h200"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder / part)) {
      const Problem p = read_problem(read_file(entry.path().string()));
      const Plan plan = run_planner(*find_planner("store_all"), p, {.time_limit = 0.1});
      EXPECT_EQ(plan.live_peak, store_all_live_peak(p)) << entry.path();
      EXPECT_EQ(plan.status, Plan::Status::optimal) << entry.path();
      ++problems;
    }
  }
  EXPECT_GE(problems, 20);
}

TEST(StoreAll, RunsInPlaceWhereTheReadHasItsLastUse) {
  // x -> a -> b (in place over a) -> c (in place over b, which is read again) -> d (in place over x, which stays).
  Problem p;
  p.name = "in place";
  p.buffers = {{"x", 60, true}, {"a", 60}, {"b", 60}, {"c", 60}, {"d", 60}};
  p.tasks = {
      {.name = "a", .reads = {0}, .writes = {1}, .seconds = 1},
      {.name = "b", .reads = {1}, .writes = {2}, .in_place = {{1, 2}}, .seconds = 1},
      {.name = "c", .reads = {2}, .writes = {3}, .in_place = {{2, 3}}, .seconds = 1},
      {.name = "d", .reads = {0, 2, 3}, .writes = {4}, .in_place = {{0, 4}, {2, 4}, {3, 4}}, .seconds = 1}};
  p.outputs = {4};
  ASSERT_EQ(verify(p), "");
  const Plan plan = run_planner(*find_planner("store_all"), p, {});
  std::vector<std::vector<std::pair<BufferId, BufferId>>> pairs;
  for (const Step& s : plan.steps) {
    if (s.kind == Step::Kind::run) pairs.push_back(s.in_place);
  }
  const std::vector<std::vector<std::pair<BufferId, BufferId>>> wanted{{}, {{1, 2}}, {}, {{2, 4}}};
  EXPECT_EQ(pairs, wanted);
  EXPECT_EQ(plan.live_peak, 180);
  EXPECT_EQ(store_all_live_peak(p), 240);
  EXPECT_EQ(run_planner(*find_planner("store_all"), p, {.in_place = false}).live_peak, 240);
  // A value that is asked for is not written over.
  p.outputs = {4, 2, 3};
  EXPECT_EQ(run_planner(*find_planner("store_all"), p, {}).live_peak, 240);
}

TEST(Budget, InWords) {
  const Problem p = chain();
  EXPECT_EQ(parse_budget(p, "4KiB"), 4096);
  EXPECT_EQ(parse_budget(p, "100%"), 270);
  EXPECT_EQ(parse_budget(p, " 60% "), 10 + 156);
  EXPECT_EQ(parse_budget(p, "0%"), 10);
  EXPECT_EQ(parse_budget(p, "33.5%"), 10 + 87);
  for (const char* text : {"", "%", "-5%", "nan%", "inf%", "1e9%", "x%", "60%%", "8 bananas"}) {
    EXPECT_THROW(parse_budget(p, text), Error) << text;
  }
}

TEST(Floor, CountsTheCheapestWay) {
  Problem p = chain();
  EXPECT_EQ(floor_seconds(p), 9);
  p.tasks.push_back({.reads = {1}, .writes = {2}, .seconds = 0.5, .optional = true, .instead_of = 1});
  p.tasks.push_back({.reads = {1}, .writes = {2}, .seconds = 0.25, .optional = true});
  EXPECT_EQ(floor_seconds(p), 6.5);
}

TEST(Planners, AreFoundByName) {
  ASSERT_NE(find_planner("store_all"), nullptr);
  EXPECT_EQ(find_planner("store_none"), nullptr);
  for (const Planner& planner : planners()) EXPECT_EQ(find_planner(planner.name), &planner);
}

}  // namespace
}  // namespace tidemark::plan
