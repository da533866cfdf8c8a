// A compiled training step is the eager one, whatever its budget; its peak is the one that was promised.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ostream>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

struct Case {
  const char* model;
  ModelOptions options;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.model; }
const Case kCases[] = {
    {"mlp", {.batch = 6, .sizes = {{"inputs", 7}, {"hidden", 12}, {"classes", 5}}}},
    {"resnet18",
     {.batch = 4,
      .size = 64,
      .sizes =
          {{"width", 8}, {"classes", 5}, {"blocks1", 1}, {"blocks2", 1}, {"blocks3", 1}, {"blocks4", 1}}}},
    {"unet", {.batch = 2, .size = 16, .sizes = {{"width", 8}, {"depth", 2}, {"classes", 3}}}},
    {"gpt2-124m",
     {.batch = 2,
      .seq = 10,
      .sizes = {{"vocab", 19}, {"positions", 12}, {"width", 16}, {"depth", 2}, {"heads", 2}}}},
    {"lstm", {.batch = 3, .seq = 5, .sizes = {{"vocab", 13}, {"hidden", 8}}}},
};

TrainState start(const Model& model, const TrainOptions& options) {
  Init init({.seed = 9});
  return make_train_state(model, options.optimizer, init);
}

Tensors batch_of(const Model& model) {
  Init init({.seed = 10});
  return synthetic_batch(model, init);
}

std::vector<float> numbers(const Trained& r) {
  std::vector<float> all{r.loss.item<float>()};
  for (const Tensor& t : flatten(r.next)) {
    const auto d = t.data<float>();
    all.insert(all.end(), d.begin(), d.end());
  }
  return all;
}

class TrainCompiled : public testing::TestWithParam<Case> {};

TEST_P(TrainCompiled, IsTheEagerStepWithinRoundingAndTheSameBitsForEveryBudget) {
  const Model model = make_model(GetParam().model, GetParam().options);
  const TrainOptions options{.rate = constant_rate(1e-3)};
  const TrainStep eager = train_step(model, options);
  const Tensors batch = batch_of(model);
  // Three steps, so that updated state is read again.
  const auto three = [&](auto& step) {
    TrainState state = start(model, options);
    Trained r;
    for (int i = 0; i < 3; ++i) {
      r = step(std::move(state), batch);
      state = r.next;
    }
    return numbers(r);
  };
  const std::vector<float> expected = three(eager);
  std::vector<float> kept;
  const auto peak_with = [&](const Budget& budget) {
    auto compiled = compile(train_step(model, options), {.memory = budget, .state = 1});
    const std::vector<float> got = three(compiled);
    // Adam divides by the root of small squares: rounding differences of layouts show.
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 5e-3) << i;
    if (kept.empty()) kept = got;
    EXPECT_EQ(got, kept);
    const Compiled& plan = compiled.plan_for(start(model, options), batch);
    EXPECT_EQ(plan.peak_measured(), plan.peak_predicted());
    return plan.peak_measured();
  };
  const Bytes most = peak_with({}), least = peak_with(Budget::minimum());
  EXPECT_LE(least, most);
  EXPECT_LE(peak_with((most + least) / 2), (most + least) / 2);
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.model;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Zoo, TrainCompiled, testing::ValuesIn(kCases), name_of);

class SlowNativeTraining : public testing::TestWithParam<Case> {};

// Products and their kin stay the executor's kernels, all else is emitted and compiled: the same bits.
TEST_P(SlowNativeTraining, HasTheExecutorsBits_Slow) {
  const Model model = make_model(GetParam().model, GetParam().options);
  const TrainOptions options{.rate = constant_rate(1e-3)};
  const Tensors batch = batch_of(model);
  for (const Budget& budget : {Budget(), Budget::minimum()}) {
    auto kernels = compile(train_step(model, options), {.memory = budget, .state = 1, .correct = false});
    auto native =
        compile(train_step(model, options), {.memory = budget,
                                             .state = 1,
                                             .native = true,
                                             .native_cache = TIDEMARK_BINARY_DIR "/native_cache",
                                             .correct = false});
    TrainState a = start(model, options), b = start(model, options);
    for (int i = 0; i < 2; ++i) {
      const Trained wanted = kernels(std::move(a), batch), got = native(std::move(b), batch);
      EXPECT_EQ(numbers(got), numbers(wanted));
      a = wanted.next;
      b = got.next;
    }
    const Compiled& plan = native.plan_for(start(model, options), batch);
    EXPECT_EQ(plan.peak_measured(), plan.peak_predicted());
    const std::vector<std::string>& names = plan.program().task_names;
    EXPECT_GT(std::count(names.begin(), names.end(), "native"), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Slow, SlowNativeTraining, testing::ValuesIn(kCases), name_of);

// Tens of gigabytes, planned and accounted for without being allocated.
TEST(PlanOnly, StepsLargerThanThisMachineAreTracedAndAccounted) {
  const Model model = make_model("gpt2-1.5b", {.batch = 4, .seq = 1024, .sizes = {{"depth", 4}}});
  const TrainOptions options;
  Init shapes({.abstract = true});
  const TrainState state = make_train_state(model, options.optimizer, shapes);
  auto step = compile(train_step(model, options), {.state = 1});
  const Compiled& plan = step.plan_for(state, synthetic_batch(model, shapes));
  EXPECT_GT(plan.peak_predicted(), 4_GiB);
  const Account account = plan.account();
  EXPECT_LE(account.arena_high_water, plan.program().arena_bytes);
  EXPECT_EQ(account.most_live, plan.plan().live_peak);
}

}  // namespace
}  // namespace tidemark
