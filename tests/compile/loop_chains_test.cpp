// Loops one behind the other: what the later ones held is the earlier ones' while these are reversed. The bits of eager code, the peak that was
// promised, native code alike.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
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

// Bodies of different cost; the third's state is twice as large, and it is short.
Tensor three(const Tensors& in) {
  const Tensor first = scan(150, in[0], [&](const Tensor& u) { return u + 0.01 * sin(in[1] * u); });
  const Tensor second = scan(140, first, [&](const Tensor& u) { return u + 0.01 * sin(in[1] + u); });
  const Tensor third =
      scan(5, concat(Tensors{second, in[1]}, 0), [&](const Tensor& u) { return u + 0.1 * sin(roll(u, 1, 0)); });
  return sum(square(third));
}

std::vector<double> bits(const Tensors& all) {
  std::vector<double> v;
  for (const Tensor& t : all) v.insert(v.end(), t.data<double>().begin(), t.data<double>().end());
  return v;
}

bool has_extra(const Compiled& c) {
  for (const Node& n : c.graph().nodes) {
    if (n.op == &scan_adjoint_op && n.attrs.find("extra") != nullptr) return true;
  }
  return false;
}

TEST(LoopChains, TheSameBitsThePromisedPeakAndNativeCodeAlike) {
  const Tensor x = sin(cast(arange(512), DType::f64) * 0.1);
  const Tensors in{x, 0.3 + 0.1 * cos(x)};
  const auto step = [](const Tensors& t) { return value_and_grad(three)(t); };
  const std::vector<double> wanted = bits(flatten(step(in)));
  int chained = 0;
  double last = 0;
  for (const Bytes budget : {160_KiB, 90_KiB}) {
    SCOPED_TRACE(budget);
    auto f = compile(step, {.memory = budget});
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::vector<double> got = bits(flatten(f(in)));
      EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(double)), 0);
    }
    Compiled& c = f.plan_for(in);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_LE(c.peak_measured(), budget);
    EXPECT_GE(c.plan().seconds, last);
    last = c.plan().seconds;
    const std::vector<std::string> lines = explain_loops(c.graph(), {});
    EXPECT_EQ(lines.size(), 3u);
    if (!has_extra(c)) continue;
    ++chained;
    const auto says = [](const std::string& line) { return line.find("states, and while it is reversed") != std::string::npos; };
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), says)) << lines[0];
    if (chained > 1) continue;
    auto native = compile(step, {.memory = budget, .native = true});
    const std::vector<double> got = bits(flatten(native(in)));
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(double)), 0);
    EXPECT_TRUE(has_extra(native.plan_for(in)));
  }
  EXPECT_GT(chained, 0);
}

// Two loops of steps whose values are worth keeping.
auto with_tapes(const Tensors& in) {
  return value_and_grad([](const Tensors& t) {
    const auto body = [](const Tensor& w) {
      return [w](const Tensor& u) { return tanh(matmul(u, w) + 0.1 * u); };
    };
    return sum(square(scan(60, scan(70, t[0], body(t[1])), body(t[2]))));
  })(in);
}
Tensors waves() {
  const auto wave = [](std::int64_t rows, std::int64_t columns, double rate) {
    return 0.3 * reshape(sin(cast(arange(rows * columns), DType::f64) * rate), {rows, columns});
  };
  return {wave(8, 16, 0.7), wave(16, 16, 0.3), wave(16, 16, 0.2)};
}

// Sizes of areas with nothing to gain lie below sizes with: at the second budget the search used to end among them, 2 % behind the first.
TEST(LoopChains, MoreBytesAreNotSlower) {
  const Tensors in = waves();
  double before = 1;
  for (const Bytes budget : {180930, 184930, 187930}) {
    auto f = compile(with_tapes, {.memory = budget, .device = cpu({.threads = 1}), .time_limit = 0.2});
    const double seconds = f.plan_for(in).plan().seconds;
    EXPECT_LE(seconds, before) << budget;
    before = seconds;
  }
}

// Tapes are laid out from its end. Which budgets leave room for one there depends on what tasks are said to take, so it is looked for.
TEST(LoopChains, WhatIsBesideAnAreaIsAligned) {
  const Tensors in = waves();
  const std::vector<double> wanted = bits(flatten(with_tapes(in)));
  int taped = 0;
  constexpr Bytes kFirst = 45955, kLast = 130000, kStep = 5003, kLikely = kFirst + 12 * kStep;
  for (Bytes tried = 0; tried < kLast - kFirst && taped == 0; tried += kStep) {
    const Bytes budget = kFirst + (kLikely - kFirst + tried) % (kLast - kFirst);
    auto f = compile(with_tapes, {.memory = budget, .time_limit = 0.2});
    for (const Node& n : f.plan_for(in).graph().nodes) {
      if (n.op != &scan_adjoint_op || n.attrs.find("extra") == nullptr) continue;
      EXPECT_EQ(n.attrs.integer("extra") % 64, 0) << budget;
      taped += n.attrs.integer("tape", 0) > 0;
    }
    const std::vector<double> got = bits(flatten(f(in)));
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(double)), 0) << budget;
  }
  EXPECT_GT(taped, 0);
}

}  // namespace
}  // namespace tidemark
