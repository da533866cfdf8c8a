// Budget::minimum(): no named budget below it has a plan that is found, other means never raise it, and it is as fast as that budget by its name.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compile/small_nets.h"
#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/plan/budget.h"

namespace tidemark {
namespace {

using small_nets::Net;

Net weights(int layers, std::int64_t width) {
  Net net;
  for (int i = 0; i < layers; ++i) net.w.push_back(full({width, width}, 0.01 + 0.003 * i));
  return net;
}

Tensor chain(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& w : p.w) h = gelu(matmul(h, w)) + 0.3 * h;
  return mean(square(h));
}

// The peak and time of a plan, without running it.
struct Reached {
  Bytes peak = 0, resident = 0, bound = 0;
  double seconds = 0;
};
using Plans = std::function<Reached(const CompileOptions&)>;

template <typename F, typename... Args>
Plans plans_of(F f, int state, const Args&... args) {
  return [=](CompileOptions options) {
    options.state = state;
    auto compiled = compile(f, options);
    const Compiled& c = compiled.plan_for(args...);
    return Reached{c.plan().peak, plan::resident_bytes(c.problem()), c.plan().peak_bound.value_or(0),
                   c.plan().seconds};
  };
}

Plans model(const std::string& name, std::int64_t batch = 48) {
  const Tensor x = full({batch, 24}, 0.3);
  if (name == "chain") return plans_of(value_and_grad(chain), 0, weights(8, 24), x);
  if (name == "residual") return plans_of(value_and_grad(small_nets::residual), 0, weights(8, 24), x);
  const auto step = [](const Net& p, const Tensor& x) {
    auto [value, g] = value_and_grad(small_nets::gated)(p, x);
    Net next;
    for (std::size_t i = 0; i < p.w.size(); ++i) next.w.push_back(p.w[i] - 0.1 * g.w[i]);
    return std::pair(next, value);
  };
  return plans_of(step, 1, weights(batch < 24 ? 16 : 6, 24), x);
}

CompileOptions by(const std::string& means, double time_limit = 0.1) {
  CompileOptions options{.memory = Budget::minimum(),
                         .device = cpu({.threads = 1}),
                         .time_limit = time_limit,
                         .makers = means == "makers",
                         .correct = false};
  TierSpec tier = means == "disk" ? disk(TIDEMARK_BINARY_DIR, 16_MiB) : host(16_MiB);
  tier.write_bytes_per_second = tier.read_bytes_per_second = 1e10;
  tier.latency_seconds = 1e-8;
  if (means == "disk" || means == "host") options.tiers = {tier};
  return options;
}

// Of the bytes beside the resident ones. Searches go by the clock, so that the last per cents are luck.
constexpr double kBelow = 0.9, kSlack = 1.06;

// How often one means raised the least budget, or a named budget below it was found.
int raised_or_found_below(const std::string& name, const std::vector<const char*>& all, double time_limit) {
  const Plans plans = model(name);
  Bytes alone = 0;
  int count = 0;
  for (const char* means : all) {
    SCOPED_TRACE(means);
    CompileOptions options = by(means, time_limit);
    const Reached least = plans(options);
    const auto arena = static_cast<double>(least.peak - least.resident);
    if (alone == 0) alone = least.peak;
    count += arena > kSlack * static_cast<double>(alone - least.resident) ? 1 : 0;
    // By its name it is not faster, where it is found again.
    options.memory = least.peak;
    try {
      EXPECT_LE(least.seconds, 3 * plans(options).seconds);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::infeasible) << e.what();
    }
    const auto below = least.resident + static_cast<Bytes>(kBelow * arena);
    options.memory = below;
    try {
      plans(options);
      ++count;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::infeasible) << e.what();
      // What is proven is said as that, what was not found as that; one that a copy which can fail behind an update would fit is refused
      // for that.
      const char* said = below < least.bound ? "needs at least" : "no plan is below";
      EXPECT_THAT(e.what(),
                  testing::AnyOf(testing::HasSubstr(said), testing::HasSubstr("only where a copy")));
    }
  }
  return count;
}
// What is so for want of time is not so with more of it.
void expect_least(const std::string& name, const std::vector<const char*>& all) {
  for (const double time_limit : {0.1, 0.4}) {
    if (raised_or_found_below(name, all, time_limit) == 0) return;
  }
  EXPECT_EQ(raised_or_found_below(name, all, 1.6), 0) << name;
}
TEST(Least, NoBudgetBelowItIsFoundAndNoMeansRaiseIt) { expect_least("residual", {"none", "host"}); }
TEST(SlowLeast, NoBudgetBelowItIsFoundByAnyMeans) {
  for (const char* name : {"residual", "chain", "updates"})
    expect_least(name, {"none", "makers", "host", "disk"});
}

// Copies to disk that may fail hold updates back, which takes more than doing without them: then that is the way.
TEST(Least, ADiskThatIsOfNoUseTakesNothing) {
  const Plans plans = model("updates", 8);  // gradients are larger than activations
  CompileOptions options = by("none");
  const Reached alone = plans(options);
  options = by("disk");
  const Bytes enough = alone.peak + (alone.peak - alone.resident) / 20;
  options.memory = enough;
  EXPECT_LE(plans(options).peak, enough);
}

}  // namespace
}  // namespace tidemark
