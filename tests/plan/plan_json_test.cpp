// Plan files: what is kept, what is refused, and a million steps.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {
namespace {

using testing::HasSubstr;

// x -> a -> b -> ... each of 64 bytes; the last is the output.
Problem chain(int length) {
  Problem p;
  p.name = "chain";
  p.buffers = {{"x", 64, true}};
  for (int i = 0; i < length; ++i) {
    p.buffers.push_back({"b" + std::to_string(i), 64});
    p.tasks.push_back({.name = "t" + std::to_string(i), .reads = {i}, .writes = {i + 1}, .seconds = 1});
  }
  p.outputs = {length};
  return p;
}

std::string refusal(const Problem& problem, const std::string& text) {
  try {
    read_plan(problem, text);
    return "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::data) << e.what();
    return e.what();
  }
}

std::string with(const std::string& rest) {
  return R"({"format": "tidemark-plan", "version": 1, "status": "feasible", )" + rest + "}";
}

TEST(ReadPlan, RefusesWhatIsNotOne) {
  const Problem p = chain(2);
  EXPECT_EQ(refusal(p, with(R"("steps": [])")), "accepted");
  const std::pair<std::string, std::string> cases[] = {
      {"{", "not JSON"},
      {R"({"format": "tidemark-problem", "version": 1, "status": "feasible", "steps": []})",
       "format: is \"tidemark-problem\", not \"tidemark-plan\""},
      {R"({"version": 1})", "format: is not \"tidemark-plan\""},
      {with(R"("peak": 1)"), "has no steps"},
      {with(R"("steps": [], "steps": [])"), "field 'steps' twice"},
      {with(R"("steps": [[]])"), "steps[0]: is not whole"},
      {with(R"("steps": [["run"]])"), "steps[0]: is not whole"},
      {with(R"("steps": [["run", 0], ["run", 0, {}, 1]])"), "steps[1]: has more than three"},
      {with(R"("steps": [["run", 0, {"at": 1}]])"), "unknown field 'at'"},
      {with(R"("steps": [["drop", 3]])"), "steps[0]: id 3"},
      {with(R"("steps": [], "seconds": -1)"), "seconds: -1 is negative"},
      {with(R"("steps": [], "budget": -1)"), "budget: -1 is negative"},
      {with(R"("steps": [], "bound_order": "any")"), "bound_order: is not"},
      {with(R"("steps": [], "arena": {"bytes": 0})"), "arena: has no at"},
      {with(R"("steps": [["run", 0]], "arena": {"at": [[0, "space", 0]], "bytes": 0})"),
       "arena.at[0]: is neither"},
      {with(R"("steps": [["run", 0]], "arena": {"at": [[0, 1]], "bytes": 0})"),
       "arena.at[0]: is not [step, buffer, offset]"},
      {with(R"("steps": [["run", 0]], "arena": {"at": [[0, 1, -64]], "bytes": 0})"),
       "arena.at[0]: -64 is negative"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(refusal(p, text), HasSubstr(message)) << text;
}

TEST(ReadPlan, KeepsTheProofAsItStands) {
  const Problem p = chain(1);
  const std::string proof = R"({"price":0.10000000000000000555, "flow" : [1,  2, {"é": "}\""}]})";
  // The arena stands after the proof, and before the steps that it refers to.
  const Plan plan = read_plan(
      p,
      with(R"("proof": )" + proof + R"(, "arena": {"at": [[0, 1, 0]], "bytes": 64}, "steps": [["run", 0]])"));
  EXPECT_EQ(plan.proof.json, proof);
  EXPECT_EQ(check(p, plan), "");
  EXPECT_EQ(read_plan(p, write_plan(p, plan)).proof.json, proof);
}

TEST(WritePlan, ReadsBack) {
  Problem p = chain(2);
  p.tiers = {{"host", 10, 10, 0, 1000}};
  p.tasks[1].in_place = {{1, 2}};
  Plan plan{
      .status = Plan::Status::feasible, .planner = "by hand", .problem = p.name, .problem_hash = hash(p)};
  plan.steps = {{Step::Kind::run, 0},
                {Step::Kind::evict, 1, 0},
                {Step::Kind::wait, 1},
                {Step::Kind::fetch, 1, 0},
                {Step::Kind::wait, 1},
                {Step::Kind::discard, 1, 0},
                {Step::Kind::run, 1, -1, {{1, 2}}}};
  plan.has_arena = true;
  plan.placements = {{0, 1, 0}, {3, 1, 64}, {6, 2, 64}};
  plan.arena_bytes = 128;
  plan.budget = 200;
  plan.peak = 192;
  plan.live_peak = 128;
  plan.seconds = 2 + 6.4 + 6.4;
  plan.seconds_bound = 0.1;
  plan.peak_bound = 128;
  plan.solve_seconds = 0.25;
  plan.reason = "none";
  plan.bound_order_given = plan.lossy = true;
  EXPECT_EQ(check(p, plan), "");
  const std::string text = write_plan(p, plan);
  const Plan again = read_plan(p, text);
  EXPECT_EQ(write_plan(p, again), text);
  EXPECT_EQ(check(p, again), "");
  EXPECT_EQ(again.reason, "none");
}

TEST(WritePlan, InfeasibleReadsBack) {
  const Problem p = chain(1);
  const Plan plan{.status = Plan::Status::infeasible,
                  .problem = p.name,
                  .budget = 100,
                  .peak_bound = 128,
                  .reason = "x and b0 at t0"};
  EXPECT_EQ(check(p, plan), "");
  const Plan again = read_plan(p, write_plan(p, plan));
  EXPECT_EQ(again.status, Plan::Status::infeasible);
  EXPECT_EQ(check(p, again), "");
}

TEST(Check, GuardsAgainstIdsThatNoFileCanHold) {
  const Problem p = chain(1);
  Plan plan{.budget = -1, .peak = -1, .live_peak = -1, .seconds = -1};
  for (const Step& step : {Step{Step::Kind::run, 7}, Step{Step::Kind::run, -1}, Step{Step::Kind::drop, 2},
                           Step{Step::Kind::evict, 1, 0}, Step{Step::Kind::run, 0, -1, {{9, -4}}}}) {
    plan.steps = {step};
    EXPECT_NE(check(p, plan), "");
  }
  plan.steps = {{Step::Kind::run, 0}};
  EXPECT_EQ(check(p, plan), "");
  plan.has_arena = true;
  plan.arena_bytes = 64;
  for (const Placement& placement : {Placement{-1, 1, 0}, Placement{0, 9, 0}, Placement{5, 1, 0},
                                     Placement{0, 1, -64}, Placement{0, 1, INT64_MAX}}) {
    plan.placements = {placement};
    EXPECT_NE(check(p, plan), "");
    plan.placements = {{0, 1, 0}, placement, placement};
    EXPECT_NE(check(p, plan), "");
  }
}

// A random but valid plan of two hundred thousand steps, with an arena: written, read and checked in linear
// time.
TEST(Check, LongPlans) {
  constexpr int kTasks = 100'000;
  const Problem p = chain(kTasks);
  Plan plan{.problem = p.name, .budget = -1};
  Bytes offset = 0;
  for (int t = 0; t < kTasks; ++t) {
    plan.placements.push_back({static_cast<std::int32_t>(plan.steps.size()), t + 1, offset});
    plan.steps.push_back({Step::Kind::run, t});
    if (t > 0) plan.steps.push_back({Step::Kind::drop, t});
    offset = 64 - offset;
  }
  plan.has_arena = true;
  plan.arena_bytes = 128;
  plan.peak = plan.live_peak = 192;
  plan.seconds = kTasks;
  EXPECT_EQ(check(p, plan), "");
  const Problem q = read_problem(write_problem(p));
  EXPECT_EQ(check(q, read_plan(q, write_plan(p, plan))), "");
  plan.placements[kTasks / 2].offset ^= 64;
  EXPECT_THAT(check(p, plan), HasSubstr("never overlaps"));
}

}  // namespace
}  // namespace tidemark::plan
