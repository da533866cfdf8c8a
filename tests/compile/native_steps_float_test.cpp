// Compiled steps on floats: every operation rounds as on the tape of floats, comparisons are in the precision that C++ has for them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>

#include "tidemark/compile/native_steps.h"
#include "tidemark/tape/checkpointed.h"

namespace tidemark {
namespace {

template <typename T>
struct Cells {
  std::vector<T> u;
  T sum{};
};
template <typename T>
struct Rates {
  T rate{}, power{};
};

CompileSteps native() {
  return {.compiler = native_steps({.cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache"})};
}
Cells<float> start(std::size_t n) {
  Cells<float> s;
  for (std::size_t k = 0; k < n; ++k)
    s.u.push_back(static_cast<float>(0.4 + 0.3 * std::sin(0.7 * static_cast<double>(k))));
  return s;
}
const Rates<float> kRates{0.13f, 1.7f};
const auto loss = [](const auto& s, const auto& p) {
  std::remove_cvref_t<decltype(s.sum)> total = s.sum * p.rate;
  for (const auto& v : s.u) total += v * v;
  return total;
};

// Bit by bit; returns the report of the compiled run.
template <typename Step>
CheckpointReport need_same(const Step& step, std::size_t cells, std::int64_t n) {
  const auto taped = checkpointed(step, loss, start(cells), kRates, n, {.memory = 1_GiB});
  const auto g = checkpointed(compiled(step, native()), loss, start(cells), kRates, n, {.memory = 256_KiB});
  const auto same = [](float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); };
  EXPECT_EQ(g.value, taped.value);
  EXPECT_TRUE(same(g.parameters.rate, taped.parameters.rate)) << g.parameters.rate << " vs " << taped.parameters.rate;
  EXPECT_TRUE(same(g.parameters.power, taped.parameters.power));
  EXPECT_TRUE(same(g.state.sum, taped.state.sum));
  for (std::size_t k = 0; k < cells; ++k) EXPECT_TRUE(same(g.state.u[k], taped.state.u[k])) << k;
  EXPECT_NE(taped.parameters.rate, 0);
  EXPECT_EQ(g.report.peak, g.report.measured_peak);
  return g.report;
}

// All functions that a graph has; and a long sum, whose order and rounding is the tape's.
TEST(NativeStepsOnFloats, FunctionsAndSums) {
  const auto step = [](auto& s, const auto& p) {
    using T = std::remove_cvref_t<decltype(s.sum)>;
    using std::abs;
    using std::max;
    T total = 0;
    for (std::size_t k = 0; k < s.u.size(); ++k) {
      T& v = s.u[k];
      v = v + p.rate * (sin(v) * cos(2.1 * v) + tanh(v) / (1.5 + exp(-v)) - tan(0.1 * v));
      v = 0.9 * v + 0.1 * (log(1.1 + v * v) + sqrt(0.3 + v * v) * log1p(v * v) + expm1(0.1 * v) + erf(v));
      v = 0.5 * v + 0.3 * pow(0.2 + abs(v), p.power) - 0.07f * max(v, p.rate);
      total += v * p.rate;
    }
    s.sum = 0.9 * s.sum + total;
  };
  const CheckpointReport r = need_same(step, 700, 6);
  EXPECT_EQ(r.compiled_steps, 6) << r.not_compiled;
  EXPECT_EQ(r.paths, 1);
}

// 0.1 and 0.7 are no floats: what lies beside it is on the side where C++ puts it. Rounded numbers are floats, and computed with as such.
TEST(NativeStepsOnFloats, ComparisonsAndRoundings) {
  const auto step = [](auto& s, const auto& p) {
    using std::floor;
    for (auto& v : s.u) {
      if (v >= 0.7)
        v = v * v * p.power;
      else if (v > 0.6)
        v = v * p.rate;
      else if (v < 0.1)
        v = v + p.rate;
      else if (v <= 0.1)
        v = v * p.power;
      else if (0.3 <= v)
        v = v - 0.25 * p.rate * v;
      else if (v == 0.2)
        v = p.rate * 3;
      else
        v = v * p.rate + 0.1f * floor(v * 3);
    }
    s.sum += s.u[0] * p.power;
  };
  for (const float at : {0.1f, std::nextafter(0.1f, 0.0f), 0.3f, std::nextafter(0.3f, 0.0f), 0.2f, 0.25f, 0.7f,
                         std::nextafter(0.7f, 1.0f), 0.6f}) {
    SCOPED_TRACE(at);
    const auto one = [&](const auto& f) {
      return checkpointed(f, loss, Cells<float>{{at}, 0.5f}, kRates, 3, {.memory = 1_MiB});
    };
    const auto taped = one(step), g = one(compiled(step, native()));
    EXPECT_EQ(g.state.u[0], taped.state.u[0]);
    EXPECT_EQ(g.parameters.rate, taped.parameters.rate);
    EXPECT_EQ(g.parameters.power, taped.parameters.power);
    EXPECT_EQ(g.report.compiled_steps, 3) << g.report.not_compiled;
  }
  // One compiled path after the other, guarded on either side of 0.1.
  const auto shared = compiled(step, native());
  for (float at = std::nextafter(0.1f, 0.0f); at < 0.10000003f; at = std::nextafter(at, 1.0f)) {
    SCOPED_TRACE(at);
    const auto one = [&](const auto& f) {
      return checkpointed(f, loss, Cells<float>{{at}, 0.5f}, kRates, 1, {.memory = 1_MiB});
    };
    EXPECT_EQ(one(shared).state.u[0], one(step).state.u[0]);
  }
}

// The step's number as a float; plus a constant it would round, and is taped.
TEST(NativeStepsOnFloats, TheNumberOfTheStep) {
  const auto step = [](auto& s, const auto& p, auto i) {
    using T = std::remove_cvref_t<decltype(s.sum)>;
    for (auto& v : s.u) v = v + 0.01 * p.rate * T(i) * sin(v);
    if (i % 3 == 0) s.sum += s.u[1] * p.power;
  };
  EXPECT_EQ(need_same(step, 30, 20).compiled_steps, 20);
  const auto shifted = [](auto& s, const auto& p, auto i) {
    using T = std::remove_cvref_t<decltype(s.sum)>;
    for (auto& v : s.u) v = v + 0.01 * p.rate * T(i + 1) * sin(v);
  };
  const CheckpointReport r = need_same(shifted, 30, 20);
  EXPECT_EQ(r.taped_steps, 20);
  EXPECT_NE(r.not_compiled.find("as a float"), std::string::npos) << r.not_compiled;
}

// One step object for both precisions: code of one is never run for the other.
TEST(NativeStepsOnFloats, FloatsAndDoublesShareAStep) {
  const auto step = compiled(
      [](auto& s, const auto& p) {
        for (auto& v : s.u) v = v + p.rate * exp(-v) * p.power;
        s.sum += s.u[0];
      },
      native());
  Cells<double> wide;
  for (const float v : start(40).u) wide.u.push_back(v);
  const Rates<double> rates{kRates.rate, kRates.power};
  const auto d = checkpointed(step, loss, wide, rates, 10, {.memory = 1_MiB});
  const auto f = checkpointed(step, loss, start(40), kRates, 10, {.memory = 1_MiB});
  const auto d2 = checkpointed(step.step, loss, wide, rates, 10, {.memory = 1_MiB});
  const auto f2 = checkpointed(step.step, loss, start(40), kRates, 10, {.memory = 1_MiB});
  EXPECT_EQ(d.parameters.rate, d2.parameters.rate);
  EXPECT_EQ(f.parameters.rate, f2.parameters.rate);
  EXPECT_EQ(d.report.compiled_steps + f.report.compiled_steps, 20);
}

}  // namespace
}  // namespace tidemark
