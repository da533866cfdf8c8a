// States of loops in the host's memory and on disk: the bits of keeping everything, the bytes that were planned, and errors that say
// what happened.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tidemark/compile/compile.h"
#include "tidemark/compile/loops.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/loops.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Rod {
  Tensor start, rate;
};
Tensor energy(const Rod& rod) {
  const Tensor rate = rod.rate;
  const Tensor last = scan(101, rod.start, [&](const Tensor& u) {
    return u + rate * (roll(u, 1, 0) + roll(u, -1, 0) - 2.0 * u) + 0.01 * sin(u) * tanh(rate * u);
  });
  return sum(square(last));
}
const auto gradient = [](const Rod& rod) { return value_and_grad(energy)(rod); };

std::vector<double> bits(const Tensors& all) {
  std::vector<double> v;
  for (const Tensor& t : all) v.insert(v.end(), t.data<double>().begin(), t.data<double>().end());
  return v;
}
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

class LoopTiers : public ::testing::Test {
 protected:
  Rod rod{sin(cast(arange(512), DType::f64) * 0.1), 0.1 + 0.05 * cos(cast(arange(512), DType::f64) * 0.3)};
  std::vector<double> wanted = bits(flatten(gradient(rod)));
  // As fast as planning for them takes.
  TierSpec quick(TierSpec tier) {
    tier.write_bytes_per_second = tier.read_bytes_per_second = 1e13;
    tier.latency_seconds = 1e-9;
    return tier;
  }
  TierSpec on_disk() { return quick(disk(::testing::TempDir(), 8_MiB)); }
};

TEST_F(LoopTiers, TheSameBitsFromHostAndDisk) {
  for (const TierSpec& tier : {quick(host(8_MiB)), on_disk()}) {
    for (const Bytes budget : {80_KiB, 160_KiB, 300_KiB}) {
      SCOPED_TRACE(tier.name);
      SCOPED_TRACE(budget);
      auto f = compile(gradient, {.memory = budget, .tiers = {tier}});
      for (int repeat = 0; repeat < 2; ++repeat) EXPECT_TRUE(same(bits(flatten(f(rod))), wanted));
      Compiled& c = f.plan_for(rod);
      EXPECT_LE(c.peak_measured(), budget);
      EXPECT_EQ(c.peak_measured(), c.peak_predicted());
      const std::string line = explain_loops(c.graph(), {}).at(0);
      EXPECT_NE(line.find("states in tier 0"), std::string::npos) << line;
      EXPECT_EQ(c.tiers_measured().at(0), loop_bytes(c.graph(), 0));
      EXPECT_GT(loop_bytes(c.graph(), 0), 0);
      auto without = compile(gradient, {.memory = budget});
      EXPECT_LT(c.plan().seconds, without.plan_for(rod).plan().seconds);
    }
  }
}

TEST_F(LoopTiers, StatesLieOnlyWhereThatIsFaster) {
  TierSpec slow = host(8_MiB);
  slow.write_bytes_per_second = slow.read_bytes_per_second = 1e3;
  auto f = compile(gradient, {.memory = 160_KiB, .tiers = {slow}});
  EXPECT_TRUE(same(bits(flatten(f(rod))), wanted));
  EXPECT_EQ(loop_bytes(f.plan_for(rod).graph(), 0), 0);
  auto roomy = compile(gradient, {.memory = 64_MiB, .tiers = {quick(host(8_MiB))}});
  EXPECT_EQ(loop_bytes(roomy.plan_for(rod).graph(), 0), 0);
}

// Steps whose states a pair's tier gets, one after the other; a place is used again and again.
std::int64_t writes(const Compiled& c) {
  std::int64_t count = 0;
  for (const Node& n : c.graph().nodes) {
    if (n.op != &scan_adjoint_op || n.attrs.find("splits") == nullptr) continue;
    for (const std::int64_t x : n.attrs.integers("splits")) count += x > 0 ? 1 : 0;
  }
  return count;
}

TEST_F(LoopTiers, ASmallTierIsUsedAgainAndAgain) {
  bool again = false;
  for (const Bytes room : {4_KiB, 13_KiB, 40_KiB}) {
    for (TierSpec tier : {quick(host(room)), quick(disk(::testing::TempDir(), room))}) {
      for (const Bytes budget : {70_KiB, 110_KiB, 160_KiB}) {
        SCOPED_TRACE(fmt::format("{} of {} beside {}", tier.name, room, budget));
        auto f = compile(gradient, {.memory = budget, .tiers = {tier}});
        for (int repeat = 0; repeat < 2; ++repeat) EXPECT_TRUE(same(bits(flatten(f(rod))), wanted));
        Compiled& c = f.plan_for(rod);
        EXPECT_EQ(c.peak_measured(), c.peak_predicted());
        EXPECT_LE(c.peak_measured(), budget);
        EXPECT_LE(loop_bytes(c.graph(), 0), room);
        EXPECT_EQ(c.tiers_measured().at(0), loop_bytes(c.graph(), 0));
        again = again || writes(c) * 4_KiB > loop_bytes(c.graph(), 0);
      }
    }
  }
  EXPECT_TRUE(again);
}

void expect_io(const std::function<void()>& f, const char* what) {
  try {
    f();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::io);
    EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("a state of a loop"), std::string::npos) << e.what();
  }
}

TEST_F(LoopTiers, AFullDiskOrADamagedStateIsAnErrorAndTheNextRunIsWhole) {
  int fault = 0;  // 0: none, 1: disk full, 2: damaged, 3: cut short
  TierSpec tier = on_disk();
  tier.fault = [&](FileOp op, std::byte* data, Bytes) {
    if (fault == 1 && op == FileOp::write) return ENOSPC;
    if (fault == 2 && op == FileOp::read) data[0] ^= std::byte{1};
    return fault == 3 && op == FileOp::read ? kShortCopy : 0;
  };
  for (const Bytes room : {8_MiB, 13_KiB}) {
    tier.bytes = room;
    auto f = compile(gradient, {.memory = room > 1_MiB ? 160_KiB : 80_KiB, .tiers = {tier}});
    EXPECT_TRUE(same(bits(flatten(f(rod))), wanted));
    EXPECT_GT(writes(f.plan_for(rod)), 3);
    const char* const said[] = {"", "No space left on device", "wrong checksum", "ended in the middle"};
    for (const int kind : {1, 2, 3}) {
      fault = kind;
      expect_io([&] { f(rod); }, said[kind]);
      fault = 0;
      EXPECT_TRUE(same(bits(flatten(f(rod))), wanted));
    }
  }
}

// Steps that are loops themselves.
Tensor nested_energy(const Rod& rod) {
  const Tensor rate = rod.rate;
  const Tensor last = scan(6, rod.start, [&](const Tensor& s) {
    return 0.5 * rate + scan(80, s, [&](const Tensor& u) { return u + rate * (roll(u, 1, 0) - u) + 0.01 * sin(u) * tanh(rate * u); });
  });
  return sum(square(last));
}
const auto nested_gradient = [](const Rod& rod) { return value_and_grad(nested_energy)(rod); };

TEST_F(LoopTiers, LoopsInsideStepsHaveAreasAndTiers) {
  const std::vector<double> nested = bits(flatten(nested_gradient(rod)));
  bool inside = false;
  for (const Bytes budget : {110_KiB, 160_KiB}) {
    SCOPED_TRACE(budget);
    auto without = compile(nested_gradient, {.memory = budget});
    EXPECT_TRUE(same(bits(flatten(without(rod))), nested));
    EXPECT_EQ(without.plan_for(rod).peak_measured(), without.plan_for(rod).peak_predicted());
    // An inner loop with no state but its first would run each of its steps forty times.
    EXPECT_LT(without.plan_for(rod).plan().seconds, 8 * compile(nested_gradient).plan_for(rod).plan().seconds);
    for (const TierSpec& tier : {quick(host(8_MiB)), on_disk()}) {
      auto f = compile(nested_gradient, {.memory = budget, .tiers = {tier}});
      for (int repeat = 0; repeat < 2; ++repeat) EXPECT_TRUE(same(bits(flatten(f(rod))), nested));
      Compiled& c = f.plan_for(rod);
      EXPECT_EQ(c.peak_measured(), c.peak_predicted());
      EXPECT_LE(c.peak_measured(), budget);
      EXPECT_EQ(c.tiers_measured().at(0), loop_bytes(c.graph(), 0));
      EXPECT_LE(loop_bytes(c.graph(), 0), 8_MiB);
      EXPECT_LE(c.plan().seconds, without.plan_for(rod).plan().seconds);
      for (const Node& n : c.graph().nodes) inside = inside || n.attrs.find("inner_tiers") != nullptr;
    }
  }
  EXPECT_TRUE(inside);
}

// The executor moves states, between steps that are compiled.
TEST_F(LoopTiers, StepsBetweenStatesInTiersAreNative) {
  CompileOptions options{.native = true, .native_cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache"};
  options.tiers = {on_disk()};
  const auto check = [&](const auto& f, Bytes budget, const std::vector<double>& expected) {
    options.memory = budget;
    auto native = compile(f, options);
    for (int repeat = 0; repeat < 2; ++repeat) EXPECT_TRUE(same(bits(flatten(native(rod))), expected));
    Compiled& c = native.plan_for(rod);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_GT(loop_bytes(c.graph(), 0), 0);
    EXPECT_EQ(c.tiers_measured().at(0), loop_bytes(c.graph(), 0));
    // Their kernels are not those that were planned, which run tasks one by one.
    for (const Instr& instr : c.program().instrs) {
      const std::int32_t n = instr.task < 0 ? -1 : c.binding().node_of_task[static_cast<std::size_t>(instr.task)];
      if (n < 0 || c.graph().nodes[static_cast<std::size_t>(n)].attrs.find("tier") == nullptr) continue;
      EXPECT_NE(instr.kernel, c.binding().kernel_of_task[static_cast<std::size_t>(instr.task)].get());
    }
  };
  check(gradient, 160_KiB, wanted);
  check(nested_gradient, 110_KiB, bits(flatten(nested_gradient(rod))));
}

// A step whose loop is its first layer: its adjoint, which reads states back, runs behind the gradients of all others.
struct Layers {
  Rod rod;
  Tensors scale;
};
Tensor last_layer(const Layers& net) {
  const Tensor rate = net.rod.rate;
  Tensor h = scan(101, net.rod.start, [&](const Tensor& u) {
    return u + rate * (roll(u, 1, 0) + roll(u, -1, 0) - 2.0 * u) + 0.01 * sin(u) * tanh(rate * u);
  });
  for (const Tensor& s : net.scale) h = tanh(h * s + 0.01 * cumsum(s, 0));
  return sum(square(h));
}
const auto descend = [](const Layers& net) {
  const auto v = value_and_grad(last_layer)(net);
  Layers next = net;
  next.rod.start = net.rod.start - 0.01 * v.grad.rod.start;
  next.rod.rate = net.rod.rate - 1e-4 * v.grad.rod.rate;
  for (std::size_t i = 0; i < next.scale.size(); ++i) next.scale[i] = net.scale[i] - 0.01 * v.grad.scale[i];
  return next;
};

// Updates wait for copies of states too, at every budget; where that does not fit, states are not on disk.
TEST_F(LoopTiers, ACopyOfAStateThatFailsLeavesParametersAsTheyWere) {
  int copies = 0, fail_at = -1, on_disk_at = 0;
  TierSpec tier = on_disk();
  tier.fault = [&](FileOp, std::byte*, Bytes) { return ++copies >= fail_at && fail_at > 0 ? EIO : 0; };
  const auto start = [&] {
    Layers net{{rod.start * 1.0, rod.rate * 1.0}, {}};
    for (int i = 0; i < 16; ++i) net.scale.push_back(cos(cast(arange(512), DType::f64) * (0.1 * i)));
    return net;
  };
  const std::vector<double> next = bits(flatten(descend(start())));
  for (const Bytes budget : {130_KiB, 150_KiB, 180_KiB, 220_KiB}) {
    SCOPED_TRACE(budget);
    fail_at = -1;
    auto f = compile(descend, {.memory = budget, .state = 1, .time_limit = 0.2, .tiers = {tier}});
    Layers net = start();
    copies = 0;
    EXPECT_TRUE(same(bits(flatten(f(std::move(net)))), next));
    EXPECT_LE(f.plan_for(start()).peak_measured(), budget);
    if (loop_bytes(f.plan_for(start()).graph(), 0) > 0) ++on_disk_at;
    if (copies == 0) continue;
    fail_at = copies;  // the last
    copies = 0;
    net = start();
    const std::vector<double> before = bits(flatten(net));
    EXPECT_THROW(f(std::move(net)), Error);
    EXPECT_TRUE(
        same(bits(flatten(net)), before));  // NOLINT(bugprone-use-after-move): an error gives nothing up
  }
  EXPECT_GT(on_disk_at, 0);
}

}  // namespace
}  // namespace tidemark
