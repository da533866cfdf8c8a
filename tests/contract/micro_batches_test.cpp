// Micro-batches of whole training steps: the bits of the same parts with everything kept, refused where samples are coupled, chosen
// where they are the cheaper way to fit.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/contract/setting.h"
#include "tidemark/plan/budget.h"

namespace tidemark {
namespace {

using Case = ModelCase;
const Case kMlp{"mlp",
                {.batch = 480, .sizes = {{"inputs", 12}, {"hidden", 17}, {"depth", 3}, {"classes", 6}}}};
const Case kGpt{"gpt2-124m",
                {.batch = 4,
                 .seq = 11,
                 .dropout = 0.25,
                 .sizes = {{"vocab", 29}, {"positions", 16}, {"width", 24}, {"depth", 2}, {"heads", 3}}}};
const Case kVit{
    "vit-b-16",
    {.batch = 4,
     .size = 32,
     .sizes = {{"patch", 8}, {"width", 24}, {"depth", 2}, {"heads", 3}, {"hidden", 40}, {"classes", 7}}}};
const Case kLlama{
    "llama-1b",
    {.batch = 4,
     .seq = 9,
     .sizes = {{"vocab", 29}, {"width", 32}, {"depth", 2}, {"heads", 4}, {"groups", 2}, {"hidden", 48}}}};
const Case kBert{
    "bert-base",
    {.batch = 4,
     .seq = 11,
     .sizes = {{"vocab", 29}, {"positions", 16}, {"width", 24}, {"depth", 2}, {"heads", 3}, {"hidden", 40}}}};
const Case kVgg{"vgg16", {.batch = 4, .size = 32, .sizes = {{"width", 4}, {"hidden", 20}, {"classes", 7}}}};
const Case kLstm{
    "lstm", {.batch = 4, .seq = 5, .dropout = 0.25, .sizes = {{"vocab", 23}, {"hidden", 10}, {"depth", 2}}}};
const Case kResnet{
    "resnet18",
    {.batch = 4,
     .size = 32,
     .sizes = {
         {"width", 8}, {"classes", 5}, {"blocks1", 1}, {"blocks2", 1}, {"blocks3", 1}, {"blocks4", 1}}}};

struct Setting : TrainSetting {
  using TrainSetting::TrainSetting;
  CompileOptions options(MicroBatches parts, Budget memory = {}) const {
    CompileOptions o{.memory = memory,
                     .device = cpu({.threads = 2}),
                     .state = 1,
                     .time_limit = 0.3,
                     .micro_batches = parts};
    o.correct = false;
    return o;
  }
  std::vector<float> after(Function<TrainStep>& f) const { return TrainSetting::after(f, 2); }
  Compiled& planned(Function<TrainStep>& f) const { return f.plan_for(start(), batch); }
};

// The way back from a residual sum reads a bias that its optimizer updates as soon as the last part's gradient is there: it stands
// in front of that update, or it would begin from another bias.
TEST(MicroBatches, WaysBackReadParametersBeforeTheirUpdate) {
  const Setting s({"gpt2-124m",
                   {.batch = 8,
                    .seq = 32,
                    .sizes = {{"vocab", 64}, {"positions", 32}, {"width", 32}, {"depth", 2}, {"heads", 2}}}});
  auto all = compile(train_step(s.model), s.options(2));
  const std::vector<float> wanted = s.after(all);
  for (const Bytes memory : {724_KiB, 732_KiB}) {
    CompileOptions options = s.options(2, Budget(memory));
    options.time_limit = 0.6;
    options.device = cpu({.threads = 1});
    options.verify = true;  // whatever is made again is compared
    auto f = compile(train_step(s.model), options);
    EXPECT_EQ(s.after(f), wanted);
    const plan::Problem& p = s.planned(f).problem();
    std::vector<char> updated(p.buffers.size(), 0);
    for (const plan::Task& t : p.tasks) {
      for (const plan::BufferId b : t.reads) {
        if (t.kind == "inverse") {
          EXPECT_FALSE(updated[static_cast<std::size_t>(b)]) << t.name;
        }
        if (std::find(t.writes.begin(), t.writes.end(), b) != t.writes.end())
          updated[static_cast<std::size_t>(b)] = 1;
      }
    }
  }
}

class MicroBatchesOf : public testing::TestWithParam<Case> {};

TEST_P(MicroBatchesOf, GiveTheBitsOfTheSamePartsWithEverythingKept) {
  const Setting s(GetParam());
  auto lone = compile(s.step, s.options(1)), all = compile(s.step, s.options(2));
  const std::vector<float> whole = s.after(lone), wanted = s.after(all);
  EXPECT_EQ(s.planned(all).micro_batches(), 2);
  // Half way between the least that these parts can do with and all.
  const Bytes most = s.planned(all).plan().peak, least = s.planned(all).smallest(0.3).plan.peak;
  auto tight = compile(s.step, s.options(2, (most + least) / 2));
  EXPECT_EQ(s.after(tight), wanted);
  EXPECT_EQ(s.planned(tight).peak_measured(), s.planned(tight).plan().peak);
  // Another order of sums, the same masks: after one step the loss differs by what rounding does.
  EXPECT_NEAR(wanted[0], whole[0], 1e-5 * std::abs(whole[0]));
  EXPECT_NEAR(wanted[1], whole[1], 1e-3 * std::abs(whole[1]));
}
INSTANTIATE_TEST_SUITE_P(Zoo, MicroBatchesOf, testing::Values(kMlp, kGpt, kVit, kLlama, kBert, kVgg, kLstm),
                         [](const auto& info) {
                           return std::string(info.param.model).substr(0, 3) + std::to_string(info.index);
                         });

TEST(MicroBatches, AreRefusedWhereSamplesAreCoupled) {
  const Setting s(kResnet);
  auto f = compile(s.step, s.options(2));
  try {
    s.planned(f);
    FAIL() << "batch_norm was split";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::unsupported);
    EXPECT_NE(std::string(e.what()).find("batch_norm ("), std::string::npos) << e.what();
  }
  // May be split is not must: what cannot be is planned as a whole.
  auto lone = compile(s.step, s.options(1));
  auto whole = compile(s.step, s.options(may_split, s.planned(lone).plan().peak));
  EXPECT_EQ(s.planned(whole).micro_batches(), 1);
}

TEST(MicroBatches, WhereNothingFitsTheRefusalSaysWhatPartsNeed) {
  const Setting s(kBert);
  auto all = compile(s.step, s.options(1));
  const Bytes resident = plan::resident_bytes(s.planned(all).problem());
  const auto refused = [&](Bytes budget) -> std::string {
    auto f = compile(s.step, s.options(may_split, budget));
    try {
      s.planned(f);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::infeasible);
      return e.what();
    }
    return "";
  };
  const std::string tried = "; in 4 parts, the most that were tried: ";
  EXPECT_THAT(refused(resident + 1_KiB), testing::HasSubstr(tried));
  // What is resident does not fit in any number of parts.
  EXPECT_THAT(refused(1_KiB), testing::AllOf(testing::HasSubstr("does not fit 1.00 KiB"),
                                             testing::Not(testing::HasSubstr(tried))));
}

TEST(MicroBatches, MaySplitSplitsWhereTheWholeDoesNotFit) {
  const Setting s(kMlp);
  auto lone = compile(s.step, s.options(1));
  const plan::SmallestPeak least = s.planned(lone).smallest(0.5);
  auto fits = compile(s.step, s.options(may_split, s.planned(lone).plan().peak));
  EXPECT_EQ(s.planned(fits).micro_batches(), 1);
  EXPECT_TRUE(s.planned(fits).notes().empty());
  auto tight = compile(s.step, s.options(may_split, least.bound - 64));
  const Compiled& c = s.planned(tight);
  ASSERT_GT(c.micro_batches(), 1);
  EXPECT_LE(c.plan().peak, least.bound - 64);
  ASSERT_EQ(c.notes().size(), 1u);
  EXPECT_NE(c.notes()[0].find("does not fit"), std::string::npos) << c.notes()[0];
  auto same = compile(s.step, s.options(c.micro_batches()));
  EXPECT_LT(s.planned(same).plan().peak, s.planned(lone).plan().peak);
  EXPECT_EQ(s.after(tight), s.after(same));
  // Never slower than the whole, where that fits.
  const Bytes most = s.planned(lone).plan().peak;
  for (const Bytes budget : {least.plan.peak, (least.plan.peak + most) / 2}) {
    auto may = compile(s.step, s.options(may_split, budget)),
         must_not = compile(s.step, s.options(1, budget));
    EXPECT_LE(s.planned(may).plan().seconds, s.planned(must_not).plan().seconds * 1.001);
  }
}

}  // namespace
}  // namespace tidemark
