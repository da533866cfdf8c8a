// The contract: whatever the model, the budget and the means, a training step uses what its plan says and no byte more, gives the
// bits of the step that keeps everything, allocates nothing while it runs, and does not grow. Counted by the device, by a guard page
// behind the arena and by every malloc of the process.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/contract/count.h"
#include "tests/contract/setting.h"
#include "tests/contract/zoo_cases.h"
#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/plan/solve.h"

namespace tidemark {
namespace {

using Case = ModelCase;
using Setting = TrainSetting;
enum class Means { recompute, makers, host, disk };
const char* word(Means m) {
  constexpr const char* words[] = {"recompute only", "makers", "host", "disk"};
  return words[static_cast<int>(m)];
}
void PrintTo(Means m, std::ostream* out) { *out << word(m); }

struct How {
  int steps = 6;
  double seconds = 0.2;  // for the planner
  int threads = 2;
};

CompileOptions options_for(const Budget& budget, Means means, const How& how) {
  CompileOptions o{.memory = budget, .device = cpu({.threads = how.threads}), .state = 1, .time_limit = how.seconds};
  o.makers = means == Means::makers;
  o.correct = false;  // the plan that is looked at is the one that ran
  TierSpec tier = means == Means::host ? host(1_GiB) : disk(TIDEMARK_BINARY_DIR, 1_GiB);
  // Fast enough to be used.
  tier.write_bytes_per_second = tier.read_bytes_per_second = 4e9;
  tier.latency_seconds = 1e-6;
  if (means == Means::host || means == Means::disk) o.tiers = {tier};
  o.atomic = means != Means::disk;  // the least without holding all gradients at once
  return o;
}

// One configuration: false where the budget is refused, which must come with a reason.
bool keeps_the_contract(const Setting& s, const Budget& budget, Means means, const std::vector<float>& wanted,
                        const How& how, Bytes* peak = nullptr) {
  SCOPED_TRACE(word(means));
  CompileOptions options = options_for(budget, means, how);
  const std::shared_ptr<Device> device = options.device;
  auto f = compile(s.step, options);
  try {
    f.plan_for(s.start(), s.batch);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible) << e.what();
    return false;
  }
  EXPECT_EQ(s.after(f, 2), wanted);
  Compiled& c = f.plan_for(s.start(), s.batch);
  if (peak != nullptr) *peak = c.plan().peak;
  EXPECT_EQ(plan::check(c.problem(), c.plan()), "");
  EXPECT_FALSE(c.plan().lossy);
  EXPECT_EQ(c.peak_measured(), c.plan().peak);
  EXPECT_LE(c.plan().peak, c.plan().budget);
  EXPECT_EQ(device->peak(), c.program().arena_bytes) << "arenas that the device gave";
  EXPECT_EQ(c.account().most_live, c.plan().live_peak);
  EXPECT_TRUE(options.tiers.empty() || c.tiers_measured()[0] <= options.tiers[0].bytes);

  // The step by itself: what it allocates, and whether that grows.
  TrainState state = s.start();
  Tensors inputs = flatten(state);
  inputs.insert(inputs.end(), s.batch.begin(), s.batch.end());
  std::vector<void*> residents;
  for (const Tensor& t : inputs) residents.push_back(t.storage()->data());
  if (residents.size() != c.program().residents.size()) return true;  // the function closed over something
  Executor executor(std::make_shared<const Program>(c.program()), cpu({.threads = how.threads}), nullptr,
                    options.tiers);
  for (int i = 0; i < 2; ++i) executor.run(residents);
  const Allocations first = count_allocations([&] { executor.run(residents); });
  EXPECT_LE(first.largest, 4096) << "ours are none; a library's are small";
  Bytes in_use = bytes_in_use();
  for (int i = 3; i < how.steps; ++i) executor.run(residents);
  EXPECT_LE(bytes_in_use() - in_use, 4096) << "grows";
  return true;
}

// What fits below the smallest peak found is refused; where that is proven, the proof holds.
void refuses_less(const Setting& s) {
  auto f = compile(s.step, options_for({}, Means::recompute, {}));
  const plan::Problem problem = f.plan_for(s.start(), s.batch).problem();
  const plan::SmallestPeak smallest = plan::smallest_peak(problem, {.time_limit = 0.2});
  ASSERT_GT(smallest.bound, 0);
  const plan::Plan refused =
      plan::solve(problem, {.budget = smallest.bound - problem.align, .time_limit = 0.2});
  EXPECT_EQ(refused.status, plan::Plan::Status::infeasible);
  ASSERT_TRUE(refused.peak_bound);
  EXPECT_GT(*refused.peak_bound, refused.budget);
  EXPECT_EQ(plan::check(problem, refused), "");
  EXPECT_EQ(plan::verify_proof(problem, refused), "");
  auto g = compile(s.step, options_for(Budget(smallest.bound - problem.align), Means::recompute, {}));
  EXPECT_THROW(g.plan_for(s.start(), s.batch), Error);
}

class Contract : public testing::TestWithParam<Case> {};

// A part that every change is tested with: half way between the least and everything, by all means.
TEST_P(Contract, HoldsHalfWayAndAtTheLeast) {
  const Setting s(GetParam());
  auto all = compile(s.step, {.device = cpu({.threads = 2}), .state = 1, .correct = false});
  const std::vector<float> wanted = s.after(all, 2);
  const Bytes most = all.plan_for(s.start(), s.batch).plan().peak;
  Bytes least = 0;
  ASSERT_TRUE(keeps_the_contract(s, Budget::minimum(), Means::recompute, wanted, {}, &least));
  ASSERT_LT(least, most);
  for (const Means means : {Means::makers, Means::host, Means::disk})
    EXPECT_TRUE(keeps_the_contract(s, Budget((least + most) / 2), means, wanted, {}));
}
std::vector<Case> few() {
  return {
      {"mlp", {.batch = 64, .sizes = {{"inputs", 7}, {"hidden", 12}, {"classes", 5}}}},
      {"resnet18",
       {.batch = 4,
        .size = 32,
        .sizes =
            {{"width", 8}, {"classes", 5}, {"blocks1", 1}, {"blocks2", 1}, {"blocks3", 1}, {"blocks4", 1}}}},
      {"gpt2-124m",
       {.batch = 4,
        .seq = 12,
        .sizes = {{"vocab", 19}, {"positions", 12}, {"width", 16}, {"depth", 2}, {"heads", 2}}}}};
}
INSTANTIATE_TEST_SUITE_P(Zoo, Contract, testing::ValuesIn(few()), case_name);

TEST(Contract, LessThanTheLeastIsRefusedWithAProof) { refuses_less(Setting(few().back())); }

// The search for the smallest peak orders tasks in other ways than that for the least time; what it finds counts where it fits.
TEST(Contract, NoPlanIsSlowerThanTheSmallestThatFits) {
  const Model model = make_model("vgg16", {.batch = 8, .size = 128});
  Init shapes({.abstract = true});
  const TrainState state = make_train_state(model, TrainOptions{}.optimizer, shapes);
  const Tensors batch = synthetic_batch(model, shapes);
  auto all = compile(train_step(model), options_for({}, Means::recompute, {}));
  const Compiled& c = all.plan_for(state, batch);
  const plan::SmallestPeak smallest = plan::smallest_peak(c.problem(), {.time_limit = 0.1});
  const Bytes budget = smallest.budget + (c.plan().peak - smallest.budget) / 5;
  auto f = compile(train_step(model), options_for(budget, Means::recompute, {.seconds = 2}));
  const plan::Plan& plan = f.plan_for(state, batch).plan();
  EXPECT_LE(plan.peak, budget);
  EXPECT_LE(plan.seconds, smallest.plan.seconds * (1 + 1e-12));
}

class SlowContract : public testing::TestWithParam<std::tuple<Case, Means>> {};

TEST_P(SlowContract, HoldsForEveryBudget) {
  const auto& [model, means] = GetParam();
  const Setting s(model);
  // One thread: two that wait for each other take many times as long where other programs run.
  const How how{.steps = 100, .seconds = 1, .threads = 1};
  auto all = compile(s.step, {.device = cpu({.threads = how.threads}), .state = 1});
  const std::vector<float> wanted = s.after(all, 2);
  const plan::Problem problem = all.plan_for(s.start(), s.batch).problem();
  Bytes least = 0;
  EXPECT_TRUE(keeps_the_contract(s, Budget::minimum(), means, wanted, how, &least));
  for (const int percent : {100, 80, 60, 50, 40, 30}) {
    SCOPED_TRACE(std::to_string(percent) + " %");
    const Bytes budget = plan::budget_at(problem, percent / 100.0);
    const bool fits = keeps_the_contract(s, Budget(budget), means, wanted, how);
    EXPECT_TRUE(fits || budget < least) << "refused, though " << least << " bytes are enough";
  }
  if (means == Means::recompute) refuses_less(s);
}
INSTANTIATE_TEST_SUITE_P(Slow, SlowContract,
                         testing::Combine(testing::ValuesIn(zoo_cases()),
                                          testing::Values(Means::recompute, Means::makers, Means::host,
                                                          Means::disk)),
                         [](const auto& info) {
                           std::string name = std::string(std::get<0>(info.param).model) + "_" +
                                              word(std::get<1>(info.param));
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace tidemark
