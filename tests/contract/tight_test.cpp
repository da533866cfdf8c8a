// Budgets at the least that is found. (Minutes under ./test --slow.)
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/contract/setting.h"
#include "tidemark/plan/budget.h"

namespace tidemark {
namespace {

// Where only the search for few bytes finds a plan, that plan is where the search for little time begins.
TEST(SlowTight, TheLeastBudgetIsSearchedForTimeToo_Slow) {
  const Model model = make_model("mobilenet-v2", {.batch = 8, .size = 128});
  Init shapes({.abstract = true});
  const TrainState state = make_train_state(model, TrainOptions{}.optimizer, shapes);
  const Tensors batch = synthetic_batch(model, shapes);
  CompileOptions options{.memory = Budget::minimum(),
                         .device = cpu({.threads = 2}),
                         .state = 1,
                         .time_limit = 4,
                         .makers = false};
  auto least = compile(train_step(model), options);
  options.memory = least.plan_for(state, batch).plan().peak;
  auto f = compile(train_step(model), options);
  const Compiled& c = f.plan_for(state, batch);
  EXPECT_LT(c.plan().seconds, 1.6 * plan::floor_seconds(c.problem()));
}

}  // namespace
}  // namespace tidemark
