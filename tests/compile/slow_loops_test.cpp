// Ten thousand random loop nests: the bits of keeping everything, the peak that was predicted.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "tests/front/random_body.h"
#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"

namespace tidemark {
namespace {

// How many budgets were met, of those tried.
int nests(std::uint64_t first, std::uint64_t last) {
  int met = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(seed);
    testing_bodies::Dice dice(seed + 5);
    const testing_bodies::RandomLoop loop(seed, 1 + dice.below(2), 100, 8 + dice.below(40));
    // Every third is of the kind that must keep something.
    const testing_bodies::DeepLoop deep_loop(seed, 60, 8 + dice.below(40));
    const bool deep = seed % 3 == 0;
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
    // Now and then with room elsewhere, so fast that states go there.
    if (dice.below(3) == 0) {
      options.tiers = {host(1_MiB)};
      options.tiers[0].write_bytes_per_second = options.tiers[0].read_bytes_per_second = 1e13;
      options.tiers[0].latency_seconds = 1e-9;
    }
    auto tight = compile(step, options);
    try {
      const auto got = tight(in);
      const Tensors a = flatten(kept), b = flatten(got);
      EXPECT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(std::memcmp(a[i].storage()->data(), b[i].storage()->data(),
                              static_cast<std::size_t>(a[i].type().bytes())),
                  0)
            << i;
      EXPECT_EQ(tight.plan_for(in).peak_measured(), tight.plan_for(in).peak_predicted());
      ++met;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::infeasible) << e.what();
    }
    if (::testing::Test::HasFailure()) break;
  }
  return met;
}

TEST(LoopNests, SomeAtRandom) { EXPECT_GT(nests(20'000, 20'025), 5); }

// A twentieth at a time: each takes about half a minute on one core.
class SlowLoopNests : public ::testing::TestWithParam<int> {};
TEST_P(SlowLoopNests, FiveHundred_Slow) {
  const auto first = static_cast<std::uint64_t>(GetParam()) * 500;
  EXPECT_GT(nests(first, first + 500), 100);
}
INSTANTIATE_TEST_SUITE_P(SlowTwentieths, SlowLoopNests, ::testing::Range(0, 20));

}  // namespace
}  // namespace tidemark
