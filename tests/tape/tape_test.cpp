// The tape: what is recorded, the sweep, several directions, external functions, regions, and every refusal but those of what was rewound (rewind_test.cpp).
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

template <typename F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::usage);
    return e.what();
  }
  return "no error";
}

TEST(Tape, TheExampleOfTheDocumentation) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(1.5), y = tape.input(2.0);
  const Var z = sin(x * y) + x;
  tape.reverse(z);
  EXPECT_DOUBLE_EQ(tape.adjoint(x), 2 * std::cos(3.0) + 1);
  EXPECT_DOUBLE_EQ(tape.adjoint(y), 1.5 * std::cos(3.0));
  EXPECT_EQ(tape.counts().statements, 1);
}

TEST(Tape, FloatsToo) {
  Tape32 tape;
  const Tape32::Recording recording(tape);
  const Var32 x = tape.input(1.5f);
  const Var32 z = x * x * x;
  tape.reverse(z);
  EXPECT_FLOAT_EQ(tape.adjoint(x), 3 * 1.5f * 1.5f);
}

TEST(Tape, PassiveValuesRecordNothing) {
  Tape tape;
  const Tape::Recording recording(tape);
  Var a = 2.0, b = 3.0;
  const Var c = a * b + sin(a);
  EXPECT_FALSE(c.active());
  EXPECT_EQ(tape.counts().statements, 0);
  const Var x = tape.input(1.0);
  const Var y = c * x + a * b;  // one active leaf among four
  tape.reverse(y);
  EXPECT_EQ(tape.adjoint(x), c.value());
  a = x;  // copies are free
  EXPECT_EQ(tape.counts().statements, 1);
  a = 4.0;
  EXPECT_FALSE(a.active());
}

TEST(Tape, TheSameVariableTwiceIsOneArgument) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(3.0), y = tape.input(4.0);
  const Bytes before = tape.counts().tape;
  const Var z = x * x + x * y + y * x - y;
  // One header, two indices, room for two strides, two partials.
  EXPECT_EQ(tape.counts().tape - before, 4 + 2 * 8 + 2 * 8);
  tape.reverse(z);
  EXPECT_EQ(tape.adjoint(x), 2 * 3 + 4 + 4);
  EXPECT_EQ(tape.adjoint(y), 3 + 3 - 1);
  // Known only when running: two names of one variable.
  std::vector<Var> v{x, x, y};
  const Var w = v[0] * v[1] * v[2];
  tape.reverse(w);
  EXPECT_EQ(tape.adjoint(x), 2 * 3 * 4);
  EXPECT_EQ(tape.adjoint(y), 9);
}

TEST(Tape, ALoopOverAnArrayIsOneRun) {
  Tape tape;
  const Tape::Recording recording(tape);
  std::vector<Var> u(1000);
  for (Var& v : u) v = tape.input(1.0);
  std::vector<Var> w(1000);
  for (std::size_t i = 1; i < u.size(); ++i) w[i] = 0.5 * (u[i] - u[i - 1]);
  EXPECT_EQ(tape.counts().runs, 2);  // the inputs and the loop
  EXPECT_LT(tape.counts().tape, 64);
  std::vector<Var> q(1000);
  for (std::size_t i = 0; i < u.size(); ++i) q[i] = u[i] * static_cast<double>(i);
  EXPECT_EQ(tape.counts().runs, 3);
}

// A reference that shares nothing with the tape: statements as they come, swept one by one in the same order.
struct Reference {
  struct Statement {
    std::size_t y;
    std::vector<std::pair<std::size_t, double>> arguments;
  };
  std::vector<Statement> statements;
  std::vector<double> sweep(std::size_t n, std::size_t y) const {
    std::vector<double> adjoint(n, 0.0);
    adjoint[y] = 1.0;
    for (auto s = statements.rbegin(); s != statements.rend(); ++s) {
      const double a = adjoint[s->y];
      if (a == 0) continue;
      for (const auto& [x, p] : s->arguments) adjoint[x] += p * a;
    }
    return adjoint;
  }
};

// Random programs made of loops with strides of every kind; bit for bit the reference, whatever the chunk.
TEST(Tape, SweepsLikeTheReferenceBitForBit) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    Tape tape({.chunk = seed % 2 == 0 ? 8_KiB : 2_MiB});
    const Tape::Recording recording(tape);
    Reference reference;
    std::vector<Var> all;
    std::vector<std::size_t> number;
    const auto inputs = 20 + rng.below(200);
    for (std::int64_t i = 0; i < inputs; ++i) all.push_back(tape.input(rng.uniform() - 0.5));
    for (int loop = 0; loop < 30; ++loop) {
      const auto n = static_cast<std::size_t>(1 + rng.below(9));
      const auto length = 1 + rng.below(60);
      const bool constant = rng.below(3) == 0;
      std::vector<std::int64_t> base, stride;
      for (std::size_t j = 0; j < n; ++j) {
        base.push_back(rng.below(static_cast<std::int64_t>(all.size())));
        const std::int64_t kinds[] = {1, 1, 1, 0, 2, -1};
        stride.push_back(kinds[rng.below(6)]);
      }
      std::vector<double> p(n);
      for (double& v : p) v = rng.uniform() - 0.5;
      for (std::int64_t k = 0; k < length; ++k) {
        std::vector<Var> x;
        std::vector<std::pair<std::size_t, double>> merged;
        if (!constant)
          for (double& v : p) v = rng.below(20) == 0 ? 0.0 : rng.uniform() - 0.5;
        for (std::size_t j = 0; j < n; ++j) {
          const auto i = static_cast<std::size_t>(std::clamp<std::int64_t>(
              base[j] + k * stride[j], 0, static_cast<std::int64_t>(all.size()) - 1));
          x.push_back(all[i]);
          auto same = std::find_if(merged.begin(), merged.end(), [&](const auto& m) { return m.first == i; });
          if (same == merged.end())
            merged.push_back({i, p[j]});
          else
            same->second = same->second + p[j];
        }
        reference.statements.push_back({all.size(), merged});
        all.push_back(tape.statement(0.0, x, p));
      }
    }
    const std::vector<double> expected = reference.sweep(all.size(), all.size() - 1);
    tape.reverse(all.back());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(tape.adjoint(all[i]), expected[i]) << "seed " << seed << ", variable " << i;
    // Several directions in one sweep are the same bits again.
    const Var ys[] = {all[all.size() - 3], all.back(), all[all.size() - 2]};
    tape.reverse_each(ys);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(tape.adjoint(all[i], 1), expected[i]);
    tape.reverse(ys[0]);
    const double first = tape.adjoint(all[0]);
    tape.reverse_each(ys);
    ASSERT_EQ(tape.adjoint(all[0], 0), first);
  }
}

// Expressions of one to three terms over variables picked in loops, at random, and both in turns.
TEST(Tape, ScatteredStatementsAreSweptBitForBit) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    Tape tape({.chunk = seed % 2 == 0 ? 8_KiB : 2_MiB});
    const Tape::Recording recording(tape);
    Reference reference;
    std::vector<Var> all;
    for (int i = 0; i < 100; ++i) all.push_back(tape.input(rng.uniform() - 0.5));
    for (int loop = 0; loop < 60; ++loop) {
      const auto terms = 1 + rng.below(3);
      const bool scattered = rng.below(3) > 0;
      const auto length = 1 + rng.below(70);
      const auto most = static_cast<std::int64_t>(all.size()) - length;
      const std::int64_t base[3] = {rng.below(most), rng.below(most), rng.below(most)};
      for (std::int64_t k = 0; k < length; ++k) {
        std::size_t at[3];
        double p[3];
        for (std::size_t j = 0; j < 3; ++j) {
          at[j] = static_cast<std::size_t>(scattered ? rng.below(static_cast<std::int64_t>(all.size()))
                                                     : base[j] + k);
          p[j] = rng.below(10) == 0 ? 0.0 : rng.uniform() - 0.5;
        }
        Var y;
        if (terms == 1)
          y = p[0] * all[at[0]];
        else if (terms == 2)
          y = p[0] * all[at[0]] + p[1] * all[at[1]];
        else
          y = p[0] * all[at[0]] + p[1] * all[at[1]] + p[2] * all[at[2]];
        std::vector<std::pair<std::size_t, double>> merged;
        for (std::size_t j = 0; j < static_cast<std::size_t>(terms); ++j) {
          auto same =
              std::find_if(merged.begin(), merged.end(), [&](const auto& m) { return m.first == at[j]; });
          if (same == merged.end())
            merged.push_back({at[j], p[j]});
          else
            same->second = same->second + p[j];
        }
        reference.statements.push_back({all.size(), merged});
        all.push_back(y);
      }
    }
    const std::vector<double> expected = reference.sweep(all.size(), all.size() - 1);
    const Var ys[] = {all[all.size() - 2], all.back()};
    tape.reverse_each(ys);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(tape.adjoint(all[i], 1), expected[i]);
    tape.reverse(all.back());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(tape.adjoint(all[i]), expected[i]) << "seed " << seed << ", variable " << i;
  }
}

TEST(Tape, AZeroAdjointGivesNothingWhateverThePartial) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(0.0);
  const Var s = sqrt(x);  // infinite slope
  const Var y = x + 0.0 * s;
  tape.reverse(y);
  EXPECT_EQ(tape.adjoint(x), 1.0);
}

TEST(Tape, WideStatementsAreSplit) {
  Tape tape;
  const Tape::Recording recording(tape);
  std::vector<Var> x;
  std::vector<double> p;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(tape.input(1.0));
    p.push_back(i);
  }
  tape.reverse(tape.statement(7.0, x, p));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(tape.adjoint(x[static_cast<std::size_t>(i)]), i);
}

TEST(Tape, ExternalFunctionsHaveTheirOwnAdjoint) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var a = tape.input(2.0), b = tape.input(5.0);
  const Var square_of_a = a * a;
  const double values[] = {square_of_a.value() * b.value(), square_of_a.value() + b.value()};
  const auto out = tape.external(values, [=](std::span<const Var> y, tape::Adjoints<double>& adjoints) {
    const double y0 = adjoints.get(y[0]), y1 = adjoints.get(y[1]);
    adjoints.add(square_of_a, y0 * b.value() + y1);
    adjoints.add(b, y0 * square_of_a.value() + y1);
  });
  const Var z = out[0] + 3.0 * out[1];
  tape.reverse(z);
  EXPECT_EQ(tape.adjoint(a), (5 + 3) * 2 * 2);
  EXPECT_EQ(tape.adjoint(b), 4 + 3);
  const Var ys[] = {out[0], out[1]};
  tape.reverse_each(ys);
  EXPECT_EQ(tape.adjoint(b, 0), 4);
  EXPECT_EQ(tape.adjoint(b, 1), 1);
}

TEST(Tape, ARegionBecomesItsJacobian) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var in[] = {tape.input(0.4), tape.input(1.1)};
  const auto region = [&]() -> std::vector<Var> {
    Var s = in[0], c = in[1];
    for (int i = 0; i < 50; ++i) {
      s = sin(s) + 0.1 * c;
      c = cos(c) * s;
    }
    return {s, c};
  };
  const std::vector<Var> plain = region();
  const auto before = tape.counts();
  const std::vector<Var> out = tape.preaccumulate(in, region);
  EXPECT_EQ(tape.counts().statements - before.statements, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(out[i].value(), plain[i].value());
    tape.reverse(plain[i]);
    const double d0 = tape.adjoint(in[0]), d1 = tape.adjoint(in[1]);
    tape.reverse(out[i]);
    EXPECT_DOUBLE_EQ(tape.adjoint(in[0]), d0);
    EXPECT_DOUBLE_EQ(tape.adjoint(in[1]), d1);
  }
}

TEST(Tape, ARegionMustNameWhatItReads) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(2.0), w = tape.input(3.0);
  const Var twice[] = {x, x};
  const std::vector<Var> product = tape.preaccumulate(twice, [&] {
    return std::vector<Var>{x * x, Var(7.0)};
  });
  EXPECT_FALSE(product[1].active());
  tape.reverse(product[0]);
  EXPECT_EQ(tape.adjoint(x), 4.0);  // not once for each time that it is named
  const Var one[] = {x};
  const auto statements = tape.counts().statements;
  EXPECT_THAT(message_of([&] { tape.preaccumulate(one, [&] { return std::vector<Var>{x * w}; }); }),
              HasSubstr("[preaccumulate] a variable from before the region"));
  EXPECT_THAT(
      message_of([&] { tape.preaccumulate(one, [&] { return std::vector<Var>{x * tape.input(1.0)}; }); }),
      HasSubstr("[preaccumulate] 1 inputs made inside"));
  EXPECT_EQ(tape.counts().statements, statements);  // nothing of a refused region is left
  // What no output depends on may be read.
  const std::vector<Var> same = tape.preaccumulate(one, [&] {
    const Var unused = x * w;
    return std::vector<Var>{unused.value() * x};
  });
  tape.reverse(same[0]);
  EXPECT_EQ(tape.adjoint(x), 6.0);
}

TEST(Tape, ARegionMayHoldAnExternalFunction) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var in[] = {tape.input(2.0), tape.input(0.5)};
  const auto region = [&]() -> std::vector<Var> {
    const Var a = in[0] * in[1];
    const double cube = a.value() * a.value() * a.value();
    const std::vector<Var> y =
        tape.external(std::span(&cube, 1), [a](std::span<const Var> out, auto& adjoints) {
          adjoints.add(a, 3 * a.value() * a.value() * adjoints.get(out[0]));
        });
    return {y[0] + in[1], sin(y[0])};
  };
  const std::vector<Var> plain = region(), short_way = tape.preaccumulate(in, region);
  for (std::size_t i = 0; i < 2; ++i) {
    tape.reverse(plain[i]);
    const double d0 = tape.adjoint(in[0]), d1 = tape.adjoint(in[1]);
    tape.reverse(short_way[i]);
    EXPECT_DOUBLE_EQ(tape.adjoint(in[0]), d0);
    EXPECT_DOUBLE_EQ(tape.adjoint(in[1]), d1);
  }
}

TEST(Tape, TheRestOfCmath) {
  const auto all = [](auto x) {
    using T = decltype(x);
    using std::hypot, std::lerp;  // the rest is global for doubles
    int e = 0, q = 0;
    T whole{};
    const T y = 0.5 + x;
    const T m = frexp(x, &e), part = modf(3.0 * x, &whole), rest = remquo(5.3 * x, y, &q);
    return T(fma(x, y, 2.0) + hypot(x, y, 1.5) + lerp(x, y, x) + ldexp(x, 3) + scalbn(y, -2) + m + part +
             rest + nextafter(x, 10.0)) +
           whole + static_cast<double>(e + q + llround(x) + lrint(x) + ilogb(x)) + logb(x);
  };
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(1.3);
  const Var y = all(x);
  tape.reverse(y);
  const double h = 1e-6, slope = (all(1.3 + h) - all(1.3 - h)) / (2 * h);
  EXPECT_NEAR(tape.adjoint(x), slope, 1e-7);
  EXPECT_NEAR(all(Dual(1.3, {1.0})).tangent[0], slope, 1e-7);
  EXPECT_EQ(y.value(), all(1.3));
  int e = 0;
  EXPECT_EQ(frexp(Var(tape.input(48.0)), &e).value, 0.75);
  EXPECT_EQ(e, 6);
  EXPECT_EQ(Var(nextafter(x, 2.0)).value(), std::nextafter(1.3, 2.0));
  EXPECT_TRUE(isnormal(x) && isless(x, 2.0) && !isunordered(x, x) && isunordered(x, NAN));
}

TEST(Tape, HessianProducts) {
  // f = sum of x_i^2 x_{i+1}; H v by a tape over Dual.
  const std::vector<double> at{1.0, 2.0, -0.5}, v{0.3, -1.0, 2.0};
  DualTape tape;
  const DualTape::Recording recording(tape);
  std::vector<DualVar> x;
  for (std::size_t i = 0; i < 3; ++i) x.push_back(tape.input(Dual(at[i], {v[i]})));
  DualVar f = 0.0;
  for (std::size_t i = 0; i < 2; ++i) f += x[i] * x[i] * x[i + 1];
  tape.reverse(f);
  EXPECT_DOUBLE_EQ(tape.adjoint(x[0]).value, 2 * at[0] * at[1]);
  EXPECT_DOUBLE_EQ(tape.adjoint(x[0]).tangent[0], 2 * at[1] * v[0] + 2 * at[0] * v[1]);
  EXPECT_DOUBLE_EQ(tape.adjoint(x[1]).tangent[0], 2 * at[0] * v[0] + 2 * at[2] * v[1] + 2 * at[1] * v[2]);
  EXPECT_DOUBLE_EQ(tape.adjoint(x[2]).tangent[0], 2 * at[1] * v[1]);
}

TEST(Tape, RefusesWithBothFacts) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(1.0);
  const Var y = x * 2.0;
  EXPECT_THAT(message_of([&] { tape.adjoint(x); }), HasSubstr("[adjoint] no sweep since"));
  tape.reverse(y);
  const Var later = y + x;
  EXPECT_THAT(message_of([&] { tape.adjoint(later); }), HasSubstr("[adjoint] no sweep since"));
  EXPECT_THAT(message_of([&] { tape.adjoint(Var(3.0)); }), HasSubstr("[adjoint] the variable is passive"));
  EXPECT_THAT(message_of([&] { tape.reverse(Var(3.0)); }), HasSubstr("[reverse] the variable is passive"));
  EXPECT_THAT(message_of([&] { tape.adjoint(x, 1); }), HasSubstr("direction 1 vs 1 swept"));
  const Var three[] = {2.0 * x, 3.0 * x, 4.0 * x};
  tape.reverse_each(three);
  EXPECT_EQ(tape.adjoint(x, 2), 4.0);
  EXPECT_THAT(message_of([&] { tape.adjoint(x, 3); }), HasSubstr("direction 3 vs 3 swept"));
}

TEST(Tape, RefusesTwoTapesMixed) {
  Tape one, two;
  const Tape::Recording recording(one);
  const Var x = one.input(1.0);
  Var y;
  {
    const Tape::Recording other(two);
    y = two.input(2.0);
    EXPECT_THAT(message_of([&] { static_cast<void>(Var(x * y)); }),
                HasSubstr("a variable of one tape vs a recording on another"));
  }
  EXPECT_THAT(message_of([&] { static_cast<void>(Var(x * y)); }),
              HasSubstr("a variable of one tape vs a recording on another"));
  EXPECT_THAT(message_of([&] { two.reverse(x); }), HasSubstr("a variable of one tape"));
}

// In the sweep too: adjoints of another tape lie elsewhere.
TEST(Tape, ExternalFunctionsReachNoOtherTape) {
  Tape other;
  for (int i = 0; i < 100'000; ++i) other.input(1.0);
  const Var far = other.input(2.0);
  for (const bool reads : {true, false}) {
    Tape tape;
    const Tape::Recording recording(tape);
    const Var x = tape.input(3.0);
    const std::vector<double> values{9.0};
    const std::vector<Var> y =
        tape.external(values, [&](std::span<const Var> out, tape::Adjoints<double>& adjoints) {
          adjoints.add(reads ? x : far, 6.0 * adjoints.get(reads ? far : out[0]));
        });
    EXPECT_THROW(tape.reverse(y[0]), Error);
    EXPECT_THROW(tape.preaccumulate(std::vector<Var>{x},
                                    [&] {
                                      return tape.external(values, [&](std::span<const Var>,
                                                                       tape::Adjoints<double>& adjoints) {
                                        adjoints.add(far, 1.0);
                                      });
                                    }),
                 Error);
  }
}

TEST(Tape, RefusesAVarThatOutlivedItsTape) {
  Var x;
  {
    Tape gone;
    x = gone.input(1.0);
  }
  Tape tape;
  const Tape::Recording recording(tape);
  tape.input(1.0);
  EXPECT_THAT(message_of([&] { static_cast<void>(Var(sin(x))); }), HasSubstr("a recording that has ended"));
  const Var y = tape.input(1.0);
  tape.reset();
  EXPECT_THAT(message_of([&] { static_cast<void>(Var(sin(y))); }), HasSubstr("a recording that has ended"));
}

TEST(Tape, RefusesASecondThread) {
  Tape tape;
  const Tape::Recording recording(tape);
  const Var x = tape.input(1.0);
  std::string without, recording_there, input_there;
  std::thread([&] {
    without = message_of([&] { static_cast<void>(Var(sin(x))); });
    recording_there = message_of([&] { const Tape::Recording other(tape); });
    input_there = message_of([&] { tape.input(1.0); });
  }).join();
  EXPECT_THAT(without, HasSubstr("no recording on this thread"));
  EXPECT_THAT(recording_there, HasSubstr("vs one under way on another"));
  EXPECT_THAT(input_there, HasSubstr("vs a recording under way on another"));
}

// A program whose runs do not fold: some 30 bytes a statement.
Var long_program(Tape& tape, std::vector<Var>& inputs, int statements) {
  Rng rng(11);
  std::vector<Var> x;
  for (int i = 0; i < 50; ++i) x.push_back(tape.input(rng.uniform()));
  inputs = x;
  for (int i = 0; i < statements; ++i) {
    Var& y = x[static_cast<std::size_t>(rng.below(50))];
    y = 0.5 * y +
        sin(x[static_cast<std::size_t>(rng.below(50))]) * x[static_cast<std::size_t>(rng.below(50))];
  }
  Var sum = 0.0;
  for (const Var& v : x) sum += v;
  return sum;
}

// Large steps have chunks of their size, and runs longer than the word that describes one can say.
template <typename Real>
void multiply_often(int statements) {
  tape::BasicTape<Real> tape({.chunk = 128_MiB});
  const typename tape::BasicTape<Real>::Recording recording(tape);
  const tape::Active<Real> x = tape.input(Real(3));
  tape::Active<Real> y = x;
  for (int i = 0; i < statements; ++i) y = y * Real(i % 2 == 0 ? 2 : 0.5);
  EXPECT_EQ(y.value(), 3);
  tape.reverse(y);
  EXPECT_EQ(tape.adjoint(x), 1);
}
TEST(Tape, RunsEndWhereTheirDescriptionsDo) {
  multiply_often<double>(10'000'000);
  multiply_often<float>(10'000'000);
}

TEST(Tape, SpillsToDiskAndComesBackWithTheSameBits) {
  std::vector<double> expected;
  for (const bool spilled : {false, true}) {
    Tape tape(spilled ? tape::TapeOptions{.chunk = 16_KiB,
                                          .memory = 64_KiB,
                                          .folder = ::testing::TempDir(),
                                          .disk = 16_MiB}
                      : tape::TapeOptions{.chunk = 16_KiB});
    const Tape::Recording recording(tape);
    std::vector<Var> inputs;
    for (int round = 0; round < 2; ++round) {
      tape.reset();
      const Var y = long_program(tape, inputs, 20'000);
      tape.reverse(y);
      // Again, and recording goes on behind a sweep.
      const Var z = y * 2.0 + inputs[0];
      tape.reverse(y);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!spilled && round == 0) expected.push_back(tape.adjoint(inputs[i]));
        ASSERT_EQ(tape.adjoint(inputs[i]), expected[i]);
      }
      tape.reverse(z);
      ASSERT_EQ(tape.adjoint(inputs[1]), 2 * expected[1]);
      const auto counts = tape.counts();
      EXPECT_GT(counts.tape, 500'000);
      if (spilled) {
        EXPECT_GT(counts.on_disk, 500'000);
        EXPECT_LE(counts.held - 30'000 * 8, 64_KiB);  // the adjoints are beside
      }
    }
  }
}

TEST(Tape, SaysWhatIsWrongWithItsDisk) {
  EXPECT_THAT(message_of([] { Tape tape({.memory = 8_MiB}); }),
              HasSubstr("[tape] memory 8.00 MiB vs no folder"));
  const auto message = [](tape::TapeOptions options) {
    options.chunk = 16_KiB;
    options.memory = 64_KiB;
    try {
      Tape tape(options);
      const Tape::Recording recording(tape);
      std::vector<Var> inputs;
      tape.reverse(long_program(tape, inputs, 20'000));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::io);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::string here = ::testing::TempDir();
  EXPECT_THAT(message({.folder = here, .disk = 128_KiB}), HasSubstr("of tape vs 128.00 KiB of disk"));
  EXPECT_THAT(message({.folder = here + "/nowhere", .disk = 16_MiB}), HasSubstr("nowhere"));
  EXPECT_THAT(
      message({.folder = here,
               .disk = 16_MiB,
               .fault = [](FileOp op, std::byte*, Bytes) { return op == FileOp::write ? ENOSPC : 0; }}),
      HasSubstr("No space left on device"));
  EXPECT_THAT(message({.folder = here,
                       .disk = 16_MiB,
                       .fault =
                           [](FileOp op, std::byte* data, Bytes) {
                             if (op == FileOp::read) data[1000] ^= std::byte{1};
                             return 0;
                           }}),
              HasSubstr("wrong checksum"));
}

}  // namespace
}  // namespace tidemark
