// Loops of unknown length with tapes and tiers: one compiled function, run for every length from none to the most.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tidemark/compile/compile.h"
#include "tidemark/compile/loops.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/loops.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

constexpr std::int64_t kMost = 90;

struct Moving {
  Tensor u, n;
};
struct Inputs {
  Tensor start, weight, until;
};
// `dear`: a step whose product is worth a tape; else one whose tape is smaller than its state.
template <bool dear>
Tensor energy(const Inputs& in) {
  const auto last = while_loop([&](const Moving& s) { return s.n < in.until; },
                               [&](const Moving& s) {
                                 const Tensor next = dear ? tanh(matmul(s.u, in.weight) + 0.1 * s.u)
                                                          : s.u + 0.1 * (roll(s.u, 1, 0) - s.u) +
                                                                0.01 * in.weight * tanh(s.u);
                                 return Moving{next, s.n + 1.0};
                               },
                               Moving{in.start, full({}, 0.0, DType::f64)}, {.max_trips = kMost});
  return sum(square(last.state.u));
}
template <bool dear>
struct Gradient {
  auto operator()(const Inputs& in) const {
    return value_and_grad([&](const Tensors& x) {
      return energy<dear>({x[0], x[1], in.until});
    })(Tensors{in.start, in.weight});
  }
};

Inputs inputs(bool dear, std::int64_t steps) {
  const Tensor until = full({}, static_cast<double>(steps), DType::f64);
  const auto wave = [](std::vector<std::int64_t> sizes, double rate) {
    return 0.3 * reshape(sin(cast(arange(Shape(sizes).numel()), DType::f64) * rate), sizes);
  };
  if (dear) return {wave({16, 24}, 0.7), wave({24, 24}, 0.31), until};
  return {wave({16, 24}, 0.7), wave({16, 24}, 0.31), until};
}

std::vector<double> bits(const Tensors& all) {
  std::vector<double> v;
  for (const Tensor& t : all) v.insert(v.end(), t.data<double>().begin(), t.data<double>().end());
  return v;
}

template <bool dear>
const std::vector<double>& wanted(std::int64_t steps) {
  static std::vector<std::vector<double>> known(kMost + 1);
  std::vector<double>& w = known[static_cast<std::size_t>(steps)];
  if (w.empty()) w = bits(flatten(Gradient<dear>()(inputs(dear, steps))));
  return w;
}

// Every length has the bits of keeping all, in the peak that was predicted. Gives the line that explains the loop.
template <bool dear>
std::string check(const CompileOptions& options) {
  auto f = compile(Gradient<dear>(), options);
  for (std::int64_t steps = 0; steps <= kMost; steps += steps < 12 ? 1 : 7) {
    SCOPED_TRACE(steps);
    const Inputs in = inputs(dear, steps);
    const std::vector<double> got = bits(flatten(f(in)));
    EXPECT_EQ(got.size(), wanted<dear>(steps).size());
    EXPECT_EQ(std::memcmp(got.data(), wanted<dear>(steps).data(), got.size() * sizeof(double)), 0);
    const Compiled& c = f.plan_for(in);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    for (std::size_t k = 0; k < options.tiers.size() && !options.native; ++k)
      EXPECT_EQ(c.tiers_measured().at(k), steps > 0 ? loop_bytes(c.graph(), k) : c.tiers_measured().at(k));
    if (::testing::Test::HasFailure()) break;
  }
  const Compiled& c = f.plan_for(inputs(dear, 1));
  if (options.memory.kind == Budget::Kind::bytes) {
    EXPECT_LE(c.peak_measured(), options.memory.bytes);
  }
  return explain_loops(c.graph(), {}).at(0);
}

TEST(While, KeepsTheTapesOfAllStepsWhereTheyFit) {
  for (const std::string& line : {check<true>({}), check<false>({})}) {
    EXPECT_EQ(line.rfind("at most 90 steps of 3.0", 0), 0u) << line;
    EXPECT_NE(line.find(": the tapes of all steps, "), std::string::npos) << line;
    EXPECT_NE(line.find("; 1 forward runs a step (at least 1);"), std::string::npos) << line;
  }
}

TEST(While, TapesMakeWayForStates) {
  int both = 0;
  for (const Bytes budget : {200_KiB, 120_KiB, 80_KiB, 60_KiB}) {
    SCOPED_TRACE(budget);
    for (const std::string& line : {check<true>({.memory = budget}), check<false>({.memory = budget})})
      both += line.find("snapshots or") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(both, 4);
}

TEST(While, TapesAreNeverSlowerThanStatesAlone) {
  const Inputs in = inputs(true, 1);
  double last = 0;
  for (const Bytes budget : {600_KiB, 200_KiB, 100_KiB, 60_KiB}) {
    auto f = compile(Gradient<true>(), {.memory = budget});
    const Compiled& c = f.plan_for(in);
    EXPECT_GE(c.plan().seconds, last * (1 - 1e-9));
    last = c.plan().seconds;
    for (const Node& n : c.graph().nodes) {
      if (n.op != &scan_adjoint_op) continue;
      const AdjointShape s = adjoint_shape(n.attrs, n.regions);
      const LoopCosts states{
          .trips = s.trips, .state = s.state, .body = 1, .advance = 1, .adjoint = 1, .online = true};
      const LoopCosts mixed{.trips = s.trips,
                            .state = s.state,
                            .tape = s.tape,
                            .body = 1,
                            .advance = 1,
                            .adjoint = 1,
                            .body_taping = 1,
                            .taping = 1,
                            .online = true,
                            .places = n.attrs.integer("places", 0)};
      EXPECT_LE(mixed.forward_runs(s.bytes), states.forward_runs(s.bytes)) << budget;
    }
  }
}

TEST(While, NativeCodeKeepsTapesToo) {
  const std::string cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache";
  const auto line = [&](const Budget& budget) {
    return check<false>({.memory = budget, .native = true, .native_cache = cache});
  };
  EXPECT_NE(line(Budget()).find("the tapes of all steps"), std::string::npos);
  EXPECT_NE(line(Budget(120_KiB)).find("snapshots or"), std::string::npos);
  line(Budget(46_KiB));
}

TierSpec quick(TierSpec tier) {
  tier.write_bytes_per_second = tier.read_bytes_per_second = 1e13;
  tier.latency_seconds = 1e-9;
  return tier;
}

TEST(While, StatesGoToHostAndDisk) {
  for (const Bytes room : {1_MiB, 40_KiB, 38_KiB, 13_KiB}) {
    for (const TierSpec& tier : {quick(host(room)), quick(disk(::testing::TempDir(), room))}) {
      for (const Bytes budget : {72_KiB, 90_KiB}) {
        SCOPED_TRACE(fmt::format("{} of {} beside {}", tier.name, room, budget));
        const CompileOptions options{.memory = budget, .tiers = {tier}};
        for (const std::string& line : {check<true>(options), check<false>(options)}) {
          const bool there = line.find("states in tier 0") != std::string::npos;
          EXPECT_TRUE(there || room < 1_MiB) << line;
        }
      }
    }
  }
}

// Steps that are compiled, between states that the executor brings.
TEST(While, StatesInTiersStandBetweenNativeSteps) {
  CompileOptions options{
      .memory = 72_KiB, .native = true, .native_cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache"};
  for (const TierSpec& tier : {quick(host(1_MiB)), quick(disk(::testing::TempDir(), 1_MiB))}) {
    options.tiers = {tier};
    const std::string line = check<false>(options);
    EXPECT_NE(line.find("states in tier 0"), std::string::npos) << line;
  }
}

// What a state in the tier comes back as is what the reverse sweep goes on from: one that cannot be written, is damaged or cut short is an error at
// every length that has one there, and the next run is whole.
TEST(While, StatesInATierAreThoseThatAreUsed) {
  enum class Fault : std::uint8_t { none, full, damaged, cut } fault = Fault::none;
  std::atomic<int> writes = 0, reads = 0;
  TierSpec tier = quick(disk(::testing::TempDir(), 40_KiB));
  tier.fault = [&](FileOp op, std::byte* data, Bytes) {
    ++(op == FileOp::write ? writes : reads);
    if (fault == Fault::full && op == FileOp::write) return ENOSPC;
    if (fault == Fault::damaged && op == FileOp::read) data[8] ^= std::byte{1};
    return fault == Fault::cut && op == FileOp::read ? kShortCopy : 0;
  };
  auto f = compile(Gradient<true>(), {.memory = 80_KiB, .tiers = {tier}});
  int used = 0;
  for (const std::int64_t steps : {1, 9, 30, 64, 77, 90}) {
    SCOPED_TRACE(steps);
    const Inputs in = inputs(true, steps);
    writes = reads = 0;
    EXPECT_EQ(bits(flatten(f(in))), wanted<true>(steps));
    const bool wrote = writes > 0, read = reads > 0;
    used += wrote && read ? 1 : 0;
    for (const auto& [kind, meets] :
         {std::pair{Fault::full, wrote}, {Fault::damaged, read}, {Fault::cut, read}}) {
      fault = kind;
      if (meets)
        EXPECT_THROW(f(in), Error);
      else
        EXPECT_EQ(bits(flatten(f(in))), wanted<true>(steps));
      fault = Fault::none;
      EXPECT_EQ(bits(flatten(f(in))), wanted<true>(steps));
    }
  }
  EXPECT_GE(used, 3);
}

// The places in a tier, for every number of them.
TEST(While, TheTierKeepsStatesAtEqualDistances) {
  for (std::int64_t places = 1; places < 9; ++places) {
    for (const std::int64_t start : {1, 3}) {
      std::vector<std::int64_t> memory(static_cast<std::size_t>(places + 2)),
          held(static_cast<std::size_t>(places), -1);
      OnlineTier tier(places, memory.data());
      tier.begin(start);
      for (std::int64_t n = 1; n < 400; ++n) {
        if (tier.next() == n) {
          const bool keeps = tier.keeps_next();
          const std::int64_t place = tier.take();
          EXPECT_EQ(place >= 0, keeps);
          if (place >= 0) held[static_cast<std::size_t>(place)] = n;
        }
        EXPECT_EQ(tier.period(), OnlineTier::last_period(start, places, n + 1)) << places << " " << n;
        for (std::int64_t k = 1; k <= tier.count(); ++k)
          ASSERT_EQ(held[static_cast<std::size_t>(tier.place(k))], k * tier.period());
        EXPECT_LE(n - tier.count() * tier.period(), tier.period());
      }
    }
  }
}

// A fraction is one of what the same program takes without a budget, also where loops in loops keep their tapes then.
TEST(While, AFractionOfANestIsOfWhatItTakesWithoutABudget) {
  const auto f = [](const Tensor& w, const Tensor& x) {
    const Tensor s = scan(20, x, [&](const Tensor& u) {
      const auto inner = while_loop([](const Tensor& v) { return sum(square(v)) > 1.0; },
                                    [&](const Tensor& v) { return 0.7 * tanh(v * w); }, u, {.max_trips = 10});
      return inner.state + 0.2;
    });
    return sum(square(s));
  };
  const Tensor w = full({64}, 1.3), x = full({64}, 0.4);
  auto all = compile(value_and_grad(f), {.correct = false});
  const Bytes most = all.plan_for(w, x).peak_predicted();
  for (const double part : {1.0, 0.5}) {
    auto c = compile(value_and_grad(f), {.memory = part, .correct = false});
    // Arguments are there whatever the part.
    const Bytes resident = w.type().bytes() + x.type().bytes();
    const Bytes budget = resident + static_cast<Bytes>(part * static_cast<double>(most - resident));
    EXPECT_LE(c.plan_for(w, x).peak_predicted(), budget);
    EXPECT_GE(c.plan_for(w, x).peak_predicted(), budget / 2) << part;
  }
}

}  // namespace
}  // namespace tidemark
