// A flow that is cut off proves what it carries: never more than the whole one, and by the same certificate.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/cut.h"

#include <gtest/gtest.h>

#include "random_problem.h"
#include "tidemark/plan/bound.h"

namespace tidemark::plan {
namespace {

TEST(Cut, AFlowThatEndsEarlyIsAProofOfLess) {
  int less = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomProblem shape;
    shape.tasks = 40;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    const Values values(p);
    const Bytes budget = budget_at(p, 0.6);
    const BoundResult whole = bound(values, {.budget = budget, .branch = false, .stages = false});
    if (whole.infeasible || whole.moment < 0) continue;
    const Evaluation facts(values, {whole.moment}, unit_exponent_for(values.floor_seconds), budget);
    for (const std::int64_t arcs : {1, 40, 160, 1 << 20}) {
      CutModel model(values, whole.moment);
      model.limit_work(arcs);
      const Cut cut = model.cut(whole.price, budget);
      EXPECT_LE(cut.seconds, whole.seconds * (1 + 1e-9)) << seed;
      EXPECT_GE(facts.seconds(model.leaf(whole.price)), cut.seconds * (1 - 1e-9)) << seed;
      less += model.complete() ? 0 : 1;
    }
  }
  EXPECT_GT(less, 20);
}

}  // namespace
}  // namespace tidemark::plan
