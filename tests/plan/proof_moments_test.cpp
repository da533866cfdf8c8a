// Proofs from several moments: they prove more than one moment does, verify, and are never above a plan.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "mirror.h"
#include "random_problem.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/solve.h"
#include "tidemark/plan/stages.h"

namespace tidemark::plan {
namespace {

// Several moments: the chain's memory for recomputation itself is what a single moment does not see.
TEST(ProofOfMoments, several_moments_prove_more_than_one_where_recomputation_needs_memory) {
  int more = 0;
  for (int n = 6; n < 14; ++n) {
    Problem p = mirror(n);
    for (int i = 0; i < n; ++i) p.buffers[static_cast<std::size_t>(n + 1 + i)].bytes = 30 + 40 * (i % 4);
    for (const Bytes budget : {360, 420, 500}) {
      const BoundResult one =
          bound(p, {.budget = budget, .time_limit = 1e9, .effort = 3000, .branch = false, .stages = false});
      const BoundResult many =
          bound(p, {.budget = budget, .time_limit = 1e9, .effort = 3000, .branch = false});
      EXPECT_GE(many.seconds, one.seconds * (1 - 1e-12));
      more += many.moments.size() > 1 ? 1 : 0;
      EXPECT_EQ(verify_proof(p, claim(many, budget)), "") << n << " at " << budget << "\n" << many.proof.json;
    }
  }
  EXPECT_EQ(more > 0, stages_available());  // without HiGHS one moment is all there is, as sound
}

// A training step whose loss has three tensors of all logits at once, so that nothing of the layers has room beside them: the gradient of the head's weight needs the last
// layer's values again, either soon, and all layers once more after it, or late, beside the logits' gradient.
Problem layers_and_head(int layers) {
  Problem p;
  const auto buffer = [&](const char* name, Bytes bytes) {
    p.buffers.push_back({.name = name, .bytes = bytes});
    return static_cast<BufferId>(p.buffers.size() - 1);
  };
  const auto task = [&](const char* name, std::vector<BufferId> reads, const char* makes, Bytes bytes,
                        double seconds) {
    const BufferId made = buffer(makes, bytes);
    p.tasks.push_back({.name = name, .reads = std::move(reads), .writes = {made}, .seconds = seconds});
    return made;
  };
  const BufferId in = buffer("in", 1);
  p.buffers[0].resident = true;
  std::vector<BufferId> inner, outer{in};
  for (int i = 0; i < layers; ++i) {
    inner.push_back(task("widen", {outer.back()}, "inner", 96, 2));
    outer.push_back(task("narrow", {inner.back()}, "outer", 24, 2));
  }
  const BufferId logits = task("head", {outer.back()}, "logits", 900, 8);
  const BufferId likely = task("softmax", {logits}, "likely", 900, 3);
  const BufferId ones = task("ones", {task("loss", {likely}, "loss", 1, 1)}, "ones", 900, 2);
  const BufferId wrong = task("softmax_back", {likely, ones}, "wrong", 900, 4);
  BufferId back = task("head_back", {wrong}, "back", 24, 8);
  p.outputs = {task("head_weight", {outer.back(), wrong}, "of_head", 20, 8)};
  for (std::size_t i = inner.size(); i-- > 0;) {
    const BufferId wide = task("narrow_back", {inner[i], back}, "wide", 96, 2);
    p.outputs.push_back(task("weight", {inner[i], back}, "of_narrow", 4, 2));
    back = task("widen_back", {wide}, "back", 24, 2);
    p.outputs.push_back(task("weight", {outer[i], wide}, "of_widen", 4, 2));
  }
  return p;
}

TEST(ProofOfMoments, a_large_gradient_early_or_late_proves_more_by_cases) {
  const Problem p = layers_and_head(24);
  ASSERT_EQ(verify(p), "");
  const Bytes budget = 2720;
  BoundOptions options{.budget = budget, .time_limit = 1e9, .effort = 3000, .branch = false};
  const BoundResult whole = bound(p, options);
  options.branch = true;
  options.leaves = 1;
  const BoundResult cases = bound(p, options);
  EXPECT_EQ(whole.proof.json.find("\"order\""), std::string::npos);
  EXPECT_EQ(cases.proof.json.find("\"order\"") != std::string::npos, stages_available());
  EXPECT_EQ(verify_proof(p, claim(cases, budget)), "");
  EXPECT_EQ(cases.seconds > whole.seconds + 0.02 * cases.floor_seconds, stages_available());
  const Plan plan = solve(p, {.budget = budget, .time_limit = 1e9, .effort = 5, .offsets = false});
  ASSERT_TRUE(has_plan(plan));
  EXPECT_LE(cases.seconds, plan.seconds * (1 + 1e-9));
}

// Where the solution of a program would need more than the budget is where another moment proves more, at one of the first three places as a rule.
TEST(ProofOfMoments, a_moment_where_the_solution_is_over_the_budget_proves_more) {
  int programs = 0, better = 0;
  for (int n = 8; n < 14; ++n) {
    Problem p = mirror(n);
    for (int i = 0; i < n; ++i) p.buffers[static_cast<std::size_t>(n + 1 + i)].bytes = 30 + 40 * (i % 4);
    const Values values(p);
    for (const Bytes budget : {360, 420, 500}) {
      const TaskId first = bound(p, {.budget = budget, .branch = false, .stages = false}).moment;
      if (first < 0) continue;
      const StageBound one = bound_stages(values, {first}, budget, 10'000);
      if (one.over.empty()) continue;
      ++programs;
      double most = 0;
      for (std::size_t i = 0; i < std::min<std::size_t>(one.over.size(), 3); ++i) {
        const auto [bytes, t] = one.over[i];
        EXPECT_GT(bytes, 0);
        EXPECT_NE(t, first);
        most = std::max(
            most, bound_stages(values, {std::min(t, first), std::max(t, first)}, budget, 10'000).seconds);
      }
      better += most > one.seconds * (1 + 1e-6) ? 1 : 0;
    }
  }
  EXPECT_EQ(programs > 3, stages_available());
  EXPECT_EQ(2 * better > programs, stages_available());
}

TEST(ProofOfMoments, verifies_on_the_traced_problems) {
  const std::filesystem::path folder = std::filesystem::path(TIDEMARK_SOURCE_DIR) / "../shared/problems/h200";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const char* name : {"unet", "vgg16", "mobilenet_v2"}) {
    const Problem p = read_problem(read_file((folder / (std::string(name) + ".json")).string()));
    for (const double f : {0.8, 0.5, 0.3}) {
      const Bytes budget = budget_at(p, f);
      const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e9, .effort = 1500});
      EXPECT_EQ(verify_proof(p, claim(r, budget)), "") << name << " at " << f;
      EXPECT_TRUE(r.infeasible ? r.peak.bytes > budget : r.seconds > r.floor_seconds) << name << " at " << f;
    }
  }
}

TEST(ProofOfMoments, branches_over_several_moments_are_proven_and_never_above_a_plan) {
  int branched = 0, better = 0;
  for (const std::uint64_t seed : {1, 2, 8, 9, 10}) {
    RandomProblem shape;
    shape.tasks = 24;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    const Bytes budget = budget_at(p, 0.6);
    Options o{.budget = budget, .time_limit = 1e9, .effort = 100, .offsets = false, .bounds = false};
    const Plan found = solve(p, o);
    if (found.steps.empty()) continue;
    BoundOptions options{.budget = budget, .time_limit = 1e9, .effort = 800, .known_seconds = found.seconds};
    const BoundResult whole = bound(p, options);
    if (whole.moments.size() < 2 || whole.leaves < 2) continue;
    ++branched;
    options.branch = false;
    better += whole.seconds > bound(p, options).seconds * (1 + 1e-9) ? 1 : 0;
    EXPECT_LE(whole.seconds, found.seconds * (1 + 1e-9)) << seed;
    Plan stated;
    stated.budget = budget;
    stated.seconds_bound = whole.seconds;
    stated.proof = whole.proof;
    EXPECT_EQ(verify_proof(p, stated), "") << seed;
    stated.seconds_bound = 1.01 * whole.seconds;
    EXPECT_NE(verify_proof(p, stated), "") << seed;
  }
  EXPECT_EQ(branched > 2, stages_available());
  EXPECT_EQ(better > 1, stages_available());
}

}  // namespace
}  // namespace tidemark::plan
