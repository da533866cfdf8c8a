// Ten thousand random loop nests: the bits of keeping everything, the peak that was predicted; and some with compiled code and states in tiers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "tests/front/random_body.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/loops.h"
#include "tidemark/front/grad.h"

namespace tidemark {
namespace {

// So fast that states go there.
TierSpec quick(TierSpec tier) {
  tier.write_bytes_per_second = tier.read_bytes_per_second = 1e13;
  tier.latency_seconds = 1e-9;
  return tier;
}

enum class Where : std::uint8_t { memory, now_and_then, host, disk };
struct Form {
  bool native = false;
  Where states = Where::now_and_then;  // where states may go
};
struct Met {
  int budgets = 0;   // that were met, of those tried
  int in_tiers = 0;  // of these, with states in a tier
};

Met nests(std::uint64_t first, std::uint64_t last, const Form& form = {}) {
  Met met;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(seed);
    testing_bodies::Dice dice(seed + 5);
    const testing_bodies::RandomLoop loop(seed, 1 + dice.below(2), 100, 8 + dice.below(40));
    // Every third is of the kind that must keep something; all are where states shall lie in a tier.
    const testing_bodies::DeepLoop deep_loop(seed, 60, 8 + dice.below(40));
    const bool deep = seed % 3 == 0 || form.states > Where::now_and_then;
    // Every other loop that can be one has an unknown length.
    const std::int64_t more = loop.can_be_open() && dice.below(2) == 0 ? dice.below(30) : -1;
    const auto step = [&](const Tensors& x) {
      return value_and_grad([&](const Tensors& y) {
        if (deep) return deep_loop.loss(y);
        return more < 0 ? loop.loss(y, true) : loop.open_loss(y, more);
      })(x);
    };
    const Tensors in = deep ? deep_loop.inputs() : loop.inputs();
    auto all = compile(step, {.device = cpu({.threads = 1})});
    const auto kept = all(in);
    EXPECT_EQ(all.plan_for(in).peak_measured(), all.plan_for(in).peak_predicted());
    // Between what everything takes and about as little as there is.
    Budget budget(0.5 + 0.1 * dice.below(6));
    if (deep) {
      const Bytes least = compile(step, {.memory = Budget::minimum(), .device = cpu({.threads = 1}), .time_limit = 0.05}).plan_for(in).peak_predicted(),
                  most = all.plan_for(in).peak_predicted();
      budget = Budget(least + std::max<Bytes>(0, most - least) * (1 + dice.below(60)) / 100);
    }
    CompileOptions options{.memory = budget, .device = cpu({.threads = 1}), .time_limit = 0.05};
    const bool now = dice.below(3) == 0 && form.states == Where::now_and_then;
    if (now || form.states == Where::host) options.tiers = {quick(host(1_MiB))};
    if (form.states == Where::disk) options.tiers = {quick(disk(::testing::TempDir(), 1_MiB))};
    if (form.native) {
      options.native = true;
      options.native_cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache";
    }
    auto tight = compile(step, options);
    try {
      const Tensors a = flatten(kept);
      // What a run leaves in a tier, or in a place of the arena, is nothing to the next one.
      for (int run = 0; run < (options.tiers.empty() ? 1 : 2); ++run) {
        const Tensors b = flatten(tight(in));
        EXPECT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i)
          EXPECT_EQ(std::memcmp(a[i].storage()->data(), b[i].storage()->data(),
                                static_cast<std::size_t>(a[i].type().bytes())),
                    0)
              << i << " of run " << run;
      }
      const Compiled& c = tight.plan_for(in);
      EXPECT_EQ(c.peak_measured(), c.peak_predicted());
      EXPECT_TRUE(budget.kind != Budget::Kind::bytes || c.peak_measured() <= budget.bytes);
      ++met.budgets;
      if (!options.tiers.empty()) met.in_tiers += loop_bytes(c.graph(), 0) > 0 ? 1 : 0;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::infeasible) << e.what();
    }
    if (::testing::Test::HasFailure()) break;
  }
  return met;
}

TEST(LoopNests, SomeAtRandom) { EXPECT_GT(nests(20'000, 20'025).budgets, 5); }

// Compiled steps between states that the executor brings from elsewhere; the first run of these calls the compiler.
class CompiledLoopNests : public ::testing::TestWithParam<int> {};
TEST_P(CompiledLoopNests, SomeWithStatesInTiers) {
  const auto first = 21'000 + static_cast<std::uint64_t>(GetParam()) * 5;
  const Met met =
      nests(first, first + 5, {.native = true, .states = GetParam() % 2 == 0 ? Where::host : Where::disk});
  EXPECT_GT(met.in_tiers, 0);
}
INSTANTIATE_TEST_SUITE_P(Sixths, CompiledLoopNests, ::testing::Range(0, 6));

// A twentieth at a time: each takes about half a minute on one core.
class SlowLoopNests : public ::testing::TestWithParam<int> {};
TEST_P(SlowLoopNests, FiveHundred_Slow) {
  const auto first = static_cast<std::uint64_t>(GetParam()) * 500;
  EXPECT_GT(nests(first, first + 500).budgets, 100);
}
INSTANTIATE_TEST_SUITE_P(SlowTwentieths, SlowLoopNests, ::testing::Range(0, 20));

class SlowCompiledLoopNests : public ::testing::TestWithParam<int> {};
TEST_P(SlowCompiledLoopNests, TwentyOfEach_Slow) {
  const auto first = 22'000 + static_cast<std::uint64_t>(GetParam()) * 60;
  EXPECT_GT(nests(first, first + 20, {.native = true, .states = Where::memory}).budgets, 5);
  EXPECT_GT(nests(first + 20, first + 40, {.native = true, .states = Where::host}).in_tiers, 5);
  EXPECT_GT(nests(first + 40, first + 60, {.native = true, .states = Where::disk}).in_tiers, 5);
}
INSTANTIATE_TEST_SUITE_P(SlowFifteenths, SlowCompiledLoopNests, ::testing::Range(0, 15));

}  // namespace
}  // namespace tidemark
