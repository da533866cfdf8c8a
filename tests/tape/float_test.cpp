// States of floats in every driver: the same bits under every budget, though a float in C++ becomes a double beside a double and the tape's
// functions on floats are its own. Fields of other types keep every bit.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/tape/flow.h"
#include "tidemark/base/random.h"
#include "tidemark/tape/call_tree.h"
#include "tidemark/tape/checkpointed.h"
#include "tidemark/tape/implicit.h"

namespace tidemark {
namespace {

// Floats that are differentiated beside fields of every other kind.
template <typename T>
struct Mixed {
  std::vector<T> u;
  std::array<T, 2> c{};
  float width = 0.1f;
  double time = 0;
  std::int64_t count = (std::int64_t{1} << 60) + 1;
  bool odd = false;
};
template <typename T>
struct Rates {
  T rate{};
};
const auto mixed_step = [](auto& s, const auto& p, std::int64_t i) {
  using std::exp;
  using std::max;
  using std::sin;
  const std::size_t n = s.u.size();
  for (std::size_t k = 1; k + 1 < n; ++k)
    s.u[k] = s.u[k] + 0.1 * s.width * (exp(-s.u[k - 1] * s.u[k - 1]) - p.rate * sin(s.u[k + 1])) / 3;
  s.c[0] += max(s.u[1], s.u[2]) * 0.3;
  if ((s.count & 1) != 0) s.c[1] = s.c[1] * 0.9 + static_cast<double>(i) * s.u[3];
  s.odd = !s.odd;
  s.count += 1;
  s.time += 0.1;
};
const auto mixed_loss = [](const auto& s, const auto& p) {
  auto sum = s.c[0] * s.c[1] * p.rate;
  std::remove_cvref_t<decltype(s.c[0])> total = sum;
  for (const auto& v : s.u) total += v * v;
  return total;
};
template <typename Real>
Mixed<Real> mixed_start() {
  Mixed<Real> s;
  for (int i = 0; i < 20; ++i) s.u.push_back(static_cast<Real>(std::sin(0.4 * i)));
  s.c = {Real(0.25), Real(-0.5)};
  return s;
}
std::vector<float> numbers(const CheckpointGradient<Mixed<float>, Rates<float>>& g) {
  std::vector<float> all{static_cast<float>(g.value), g.parameters.rate, g.state.c[0], g.state.c[1]};
  all.insert(all.end(), g.state.u.begin(), g.state.u.end());
  return all;
}

TEST(Floats, EveryBudgetGivesTheSameBits) {
  const Rates<float> rates{0.7f};
  const auto all = checkpointed(mixed_step, mixed_loss, mixed_start<float>(), rates, 60, {.memory = 1_GiB});
  EXPECT_EQ(all.report.schedule, "store_all");
  const Bytes least = all.report.beside + all.report.state + all.report.tape;
  for (const Bytes more : {0_B, 500_B, 20_KiB, 200_KiB}) {
    const auto g =
        checkpointed(mixed_step, mixed_loss, mixed_start<float>(), rates, 60, {.memory = least + more});
    EXPECT_EQ(numbers(g), numbers(all));
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    EXPECT_LE(g.report.peak, least + more);
    const While ends{[](const Mixed<float>& s, std::int64_t) { return s.time < 5.95; }};
    const auto w =
        checkpointed(mixed_step, mixed_loss, mixed_start<float>(), rates, ends, {.memory = least + more});
    EXPECT_EQ(w.report.steps, 60);
    EXPECT_EQ(numbers(w), numbers(all));
    EXPECT_EQ(w.report.peak, w.report.measured_peak);
  }
  // A state of floats takes half the bytes of one of doubles, and the gradient is near that of doubles.
  const Rates<double> exact{0.7f};
  const auto d = checkpointed(mixed_step, mixed_loss, mixed_start<double>(), exact, 60, {.memory = 1_GiB});
  EXPECT_EQ(d.report.state - all.report.state, 22 * 4);
  EXPECT_NEAR(all.value, d.value, 1e-4 * std::abs(d.value));
  EXPECT_NEAR(all.parameters.rate, d.parameters.rate, 1e-3 * std::abs(d.parameters.rate));
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_NEAR(all.state.u[i], d.state.u[i], 1e-3 * (1 + std::abs(d.state.u[i])));
  EXPECT_EQ(measure_steps(mixed_step, mixed_start<float>(), rates, 3)[1].state, all.report.state);
}

TEST(Floats, CallTreesRunAgainWithTheSameBits) {
  CallTree<Mixed, float> tree;
  tree.add("move", [](auto&, auto& s) {
    for (std::int64_t i = 0; i < 5; ++i) mixed_step(s, Rates<double>{0.7}, i);
  });
  tree.add("main", [](auto& call, auto& s) {
    for (int i = 0; i < 4; ++i) call("move", s);
  });
  const auto loss = [](const auto& s) { return mixed_loss(s, Rates<double>{1.5}); };
  const auto bits = [&](CallMode mode) {
    const auto g = tree.gradient("main", loss, mixed_start<float>(), {.modes = {{"move", mode}}});
    EXPECT_EQ(g.report.peak, g.report.measured_peak);
    std::vector<float> all{g.value, g.state.c[0], g.state.c[1]};
    all.insert(all.end(), g.state.u.begin(), g.state.u.end());
    return all;
  };
  const std::vector<float> split = bits(CallMode::split);
  EXPECT_EQ(split, bits(CallMode::joint));
  CallTree<Mixed> doubles;
  doubles.add("main", [](auto&, auto& s) {
    for (int i = 0; i < 20; ++i) mixed_step(s, Rates<double>{0.7}, i % 5);
  });
  EXPECT_NEAR(split[0], doubles.gradient("main", loss, mixed_start<double>()).value, 1e-4);
}

// Numbers that record nothing have the tape's values.
TEST(Floats, PlainNumbersHaveTheBitsOfTheTape) {
  Rng rng(4);
  Tape32 tape;
  const Tape32::Recording recording(tape);
  const auto same = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  };
  for (int i = 0; i < 3000; ++i) {
    tape.reset();
    const auto a = static_cast<float>(6 * rng.uniform() - 3), b = static_cast<float>(6 * rng.uniform() - 3);
    const Var32 x = tape.input(a), y = tape.input(b);
    const tape::Number<float> u(a), v(b);
    const auto check = [&](const char* name, const auto& f) {
      EXPECT_TRUE(same(Var32(f(x, y)).value(), tape::Number<float>(f(u, v)).value))
          << name << " of " << a << ", " << b;
    };
#define SAME_1(name) check(#name, [](const auto& p, const auto&) { return name(p); });
#define SAME_2(name) check(#name, [](const auto& p, const auto& q) { return name(p, q); });
    SAME_1(abs)
    SAME_1(sqrt)
    SAME_1(cbrt) SAME_1(exp) SAME_1(expm1) SAME_1(log) SAME_1(log1p) SAME_1(sin) SAME_1(cos) SAME_1(tan)
        SAME_1(atan) SAME_1(tanh) SAME_1(erf) SAME_1(sigmoid) SAME_1(floor) SAME_2(min) SAME_2(max)
            SAME_2(pow) SAME_2(atan2) SAME_2(hypot) SAME_2(fmod)
                check("constants", [](const auto& p, const auto& q) { return 0.1 * p + q / 3 - 2.5f * q; });
    check("of three",
          [](const auto& p, const auto& q) { return fma(p, q, 0.1) + lerp(p, q, 0.3) + hypot(p, q, p); });
    check("shifted", [](const auto& p, const auto& q) { return nextafter(p, q) + scalbn(q, 3); });
  }
}

TEST(Floats, LinearSystemsAndFixedPoints) {
  Tape32 tape;
  const Tape32::Recording recording(tape);
  const std::vector<Var32> a{tape.input(4.0f), tape.input(1.0f), tape.input(2.0f), tape.input(3.0f)};
  const std::vector<Var32> b{tape.input(1.0f), tape.input(2.0f)};
  const std::vector<Var32> y = solve_linear(tape, a, b);
  EXPECT_NEAR(y[0].value(), 0.1f, 1e-6f);
  tape.reverse(y[0]);
  EXPECT_NEAR(tape.adjoint(b[0]), 0.3f, 1e-6f);    // of the inverse
  EXPECT_NEAR(tape.adjoint(a[1]), -0.18f, 1e-6f);  // -0.3 * 0.6
  const Var32 p = tape.input(0.6f);
  const auto f = [](const auto& at, const auto& of) {
    using std::cos;
    using T = std::remove_cvref_t<decltype(at[0])>;
    return std::vector<T>{T(cos(of[0] * at[0]))};
  };
  const std::vector<Var32> z = fixed_point(tape, f, {0.5f}, {p});
  tape.reverse(z[0]);
  const float s = std::sin(0.6f * z[0].value());
  EXPECT_NEAR(z[0].value(), std::cos(0.6f * z[0].value()), 1e-5f);
  EXPECT_NEAR(tape.adjoint(p), -z[0].value() * s / (1 + 0.6f * s), 1e-4f);
}

}  // namespace
}  // namespace tidemark
