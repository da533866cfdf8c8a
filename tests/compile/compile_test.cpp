// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/compile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Mlp {
  std::vector<Tensor> w;
};

Mlp deep_mlp(int layers, std::int64_t width) {
  Mlp p;
  for (int i = 0; i < layers; ++i) {
    std::vector<float> data(static_cast<std::size_t>(width * width));
    for (std::size_t j = 0; j < data.size(); ++j) data[j] = static_cast<float>((static_cast<int>(j * 37 + static_cast<std::size_t>(i) * 11) % 101) - 50) / 400.0f;
    p.w.push_back(tensor(data, {width, width}));
  }
  return p;
}

Tensor loss(const Mlp& p, const Tensor& x) {
  Tensor h = x;
  for (std::size_t i = 0; i < p.w.size(); ++i) {
    const Scope scope("layer", static_cast<std::int64_t>(i));
    h = name(tanh(matmul(h, p.w[i])), "h");
  }
  return mean(square(h));
}

std::vector<float> bits(const Tensor& t) { return {t.data<float>().begin(), t.data<float>().end()}; }

TEST(Compile, GivesTheSameNumbersAsEager) {
  const Mlp p = deep_mlp(4, 16);
  const Tensor x = full({8, 16}, 0.5);
  const auto eager = value_and_grad(loss)(p, x);
  auto step = compile(value_and_grad(loss));
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto compiled = step(p, x);
    EXPECT_EQ(bits(compiled.value), bits(eager.value));
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 256; ++j) EXPECT_NEAR(bits(compiled.grad.w[i])[j], bits(eager.grad.w[i])[j], 1e-6);
    }
  }
}

TEST(Compile, WhatIsCapturedIsAsItWasWhenTraced) {
  Tensor w = full({4}, 2.0);
  const Tensor x = full({4}, 1.0);
  auto f = compile([&](const Tensor& t) { return sum(w * t); });
  EXPECT_EQ(f(x).item<float>(), 8);
  w = full({4}, 3.0);
  EXPECT_EQ(f(x).item<float>(), 8);
  EXPECT_EQ(f(full({2, 4}, 1.0)).item<float>(), 24);  // another shape is traced now
}

TEST(Compile, ResultsOfNoBytesStandBesideOthers) {
  const auto f = [](const Tensors& z) { return sum(matmul(z[0], z[1])); };
  const Tensors g = compile([&](const Tensors& z) { return grad(f)(z); })(Tensors{zeros({0, 3}), full({3, 4}, 1)});
  EXPECT_EQ(g[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(bits(g[1]), std::vector<float>(12, 0.0f));
}

TEST(Compile, ACompiledFunctionIsNotTransformedAgain) {
  auto inner = compile([](const Tensor& x) { return sum(x * x); });
  try {
    grad([&](const Tensor& x) { return inner(x); })(full({3}, 1));
    FAIL() << "a gradient through a compiled function";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("transform the function first, then compile"), std::string::npos) << e.what();
  }
}

TEST(Compile, HeldOutputsSurviveTheNextRun) {
  auto f = compile([](const Tensor& x) { return x * 2.0; });
  const Tensor a = f(full({100}, 1));
  const Tensor b = f(full({100}, 5));
  EXPECT_EQ(bits(a)[99], 2);
  EXPECT_EQ(bits(b)[99], 10);
}

TEST(Compile, OtherNumbersAndStructuresTraceAnew) {
  auto f = compile([](const Tensor& x, double k) { return x * k; });
  EXPECT_EQ(bits(f(ones({2}), 2.0))[0], 2);
  EXPECT_EQ(bits(f(ones({2}), 5.0))[0], 5);
  struct Maybe {
    std::optional<Tensor> a, b;
  };
  auto g = compile([](const Maybe& m) { return m.a ? *m.a * 2.0 : *m.b * 3.0; });
  EXPECT_EQ(bits(g(Maybe{ones({1}), {}}))[0], 2);
  EXPECT_EQ(bits(g(Maybe{{}, ones({1})}))[0], 3);
  auto copy = f;
  EXPECT_EQ(bits(copy(ones({2}), 7.0))[0], 7);
  EXPECT_EQ(bits(f(ones({2}), 7.0))[0], 7);
  // Numbers that stand side by side are not read as one.
  enum class Kind : std::uint8_t {};
  struct Two {
    Kind a, b;
    std::vector<char> c, d;
  };
  auto h = compile([](const Tensor& x, const Two& t) {
    return x * static_cast<double>(t.a) + 1000.0 * static_cast<double>(t.c.size());
  });
  EXPECT_EQ(bits(h(ones({1}), Two{Kind{1}, Kind{11}, {}, {}}))[0], 1);
  EXPECT_EQ(bits(h(ones({1}), Two{Kind{11}, Kind{1}, {}, {}}))[0], 11);
  const auto chars = [](std::string_view text) { return std::vector<char>(text.begin(), text.end()); };
  EXPECT_EQ(bits(h(ones({1}), Two{Kind{1}, Kind{1}, chars("0"), chars("aaaaaaa[1z")}))[0], 1001);
  EXPECT_EQ(bits(h(ones({1}), Two{Kind{1}, Kind{1}, chars("[10aaaaaaa"), chars("z")}))[0], 10001);
}

TEST(Compile, OldVersionsThatAreReturnedStayOld) {
  auto next = compile([](const Tensor& a) { return std::make_pair(a + 1.0, a); }, {.state = 1});
  const auto [b, old] = next(full({3}, 1.0));
  EXPECT_EQ(bits(b)[0], 2);
  EXPECT_EQ(bits(old)[0], 1);
  // A leapfrog step: the new current value becomes the previous one.
  struct Pair {
    Tensor previous, current;
  };
  auto step = compile([](const Pair& s) { return std::make_pair(Pair{s.current, 2.0 * s.current - s.previous}, sum(s.current)); }, {.state = 1});
  Pair s{full({2}, 1.0), full({2}, 3.0)};
  Tensor total;
  for (int i = 0; i < 3; ++i) std::tie(s, total) = step(std::move(s));
  EXPECT_EQ(bits(s.previous)[0], 7);
  EXPECT_EQ(bits(s.current)[0], 9);
  auto swap = compile([](const Pair& p) { return std::make_pair(Pair{p.current, p.previous}, p.current); }, {.state = 1});
  std::tie(s, total) = swap(std::move(s));
  EXPECT_EQ(bits(s.previous)[0], 9);
  EXPECT_EQ(bits(s.current)[0], 7);
  EXPECT_EQ(bits(total)[0], 9);
}

TEST(Compile, ResultsInOneBufferAreNotUpdatedTogether) {
  auto init = compile([](const Tensor& w) { return std::make_pair(w * 0.0, w * 0.0); });
  struct Two {
    Tensor m, v;
  };
  auto [m, v] = init(ones({4}));
  auto step = compile([](const Two& s) { return std::make_pair(Two{s.m + 1.0, s.v + 2.0}, sum(s.m)); }, {.state = 1});
  Two s{std::move(m), std::move(v)};
  Tensor total;
  std::tie(s, total) = step(std::move(s));
  EXPECT_EQ(bits(s.m)[0], 1);
  EXPECT_EQ(bits(s.v)[0], 2);
}

TEST(Compile, WhatOthersHoldIsNotUpdatedInItsPlace) {
  auto update = compile([](const Tensor& s) { return s * 2.0 + 1.0; }, {.state = 1});
  auto f = compile([](const Tensor& x) {
    const Tensor y = sin(x);
    return Tensors{y, reshape(y, {-1}), x};
  });
  const Tensor x = full({2, 3}, 0.5);
  const std::vector<float> x_before = bits(x), y_before = bits(f(x)[0]);
  for (std::size_t k = 0; k < 3; ++k) {
    Tensors r = f(x);
    Tensor taken = std::exchange(r[k], Tensor());
    const Tensor next = update(std::move(taken));
    EXPECT_EQ(bits(next)[0], (k == 2 ? x_before[0] : y_before[0]) * 2 + 1);
    EXPECT_EQ(bits(x), x_before) << "an argument that is a result too, " << k;
    for (std::size_t j = 0; j < 2; ++j) {
      if (j == k) continue;
      EXPECT_EQ(bits(r[j]), y_before) << "another view of one buffer, " << k;
    }
  }
}

TEST(Compile, StateThatWasGivenUpIsGone) {
  auto step = compile(
      [](const Tensors& s, const Tensor& x) {
        return Tensors{s[0] + x, s[1] * 2.0};
      },
      {.state = 1});
  Tensors first{ones({4}), ones({4})};
  Tensor x = ones({4});
  const void* at = first[0].storage()->data();
  Tensors second = step(std::move(first), std::move(x));
  EXPECT_FALSE(first[0].defined() ||
               first[1].defined());        // NOLINT(bugprone-use-after-move): what is left of it
  EXPECT_TRUE(x.defined()) << "no state";  // NOLINT(bugprone-use-after-move)
  // Nobody else holds it now, whatever became of the handles that it was given up by.
  const Tensors third = step(std::move(second), x);
  EXPECT_EQ(third[0].storage()->data(), at) << "updated in place";
  EXPECT_EQ(bits(third[0])[0], 3);
  const Tensors fourth = step(third, x);
  EXPECT_EQ(bits(third[0])[0], 3) << "kept by the caller";
  EXPECT_EQ(bits(fourth[0])[0], 4);
}

TEST(Compile, SenselessBudgetsAreRefused) {
  for (const Budget& budget : {Budget(-1.0), Budget(std::nan("")), Budget(5e9), Budget(-5)}) {
    auto f = compile([](const Tensor& x) { return x * 2.0; }, {.memory = budget});
    EXPECT_THROW(f(ones({2})), Error);
  }
}

template <typename F, typename... Args>
std::string refused(F f, const CompileOptions& options, const Args&... args) {
  try {
    compile(f, options).plan_for(args...);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::usage) << e.what();
    return e.what();
  }
  return "";
}

TEST(Compile, SenselessOptionsAreRefusedByName) {
  const auto twice = [](const Tensor& x) { return x * 2.0; };
  EXPECT_EQ(refused(twice, {.state = 1}, ones({2})), "");
  for (const int state : {-1, 2})
    EXPECT_NE(refused(twice, {.state = state}, ones({2})).find(".state = " + std::to_string(state) + " vs 1 arguments"), std::string::npos);
  EXPECT_THROW(posed_problem(twice, {.state = 2}, ones({2})), Error);
  for (const double limit : {-1.0, std::nan("")})
    EXPECT_NE(refused(twice, {.time_limit = limit}, ones({2})).find(".time_limit = "), std::string::npos);
  EXPECT_EQ(refused(twice, {.time_limit = 0}, ones({2})), "");
}

TEST(Compile, AShapeThatCannotBePlannedIsNamed) {
  const Type fits{{4, 3}, DType::f32}, other{{4, 5}, DType::f32};
  const auto product = [](const Tensor& w, const Tensor& x) { return matmul(x, w); };
  const std::string text = refused(product, {.shapes = {{fits}, {other}}}, ones({3, 3}), ones({2, 3}));
  EXPECT_NE(text.find("[shapes] number 1 (f32(4,5)): "), std::string::npos) << text;
  EXPECT_NE(text.find("[matmul]"), std::string::npos) << text;
  EXPECT_NE(refused(product, {.shapes = {{fits, fits, fits}}}, ones({3, 3}), ones({2, 3})).find("[shapes] number 0 has 3 types vs 2 tensors"),
            std::string::npos);
}

TEST(Compile, NamesGiveNoOrdersToATerminal) {
  auto f = compile([](const Tensor& x) { return name(tanh(x), "a\x1b[31mb\n") * 2.0 + name(exp(x), "ok"); },
                   {.name = "p\r", .passes = {.fuse = false}});
  const Compiled& c = f.plan_for(ones({2}));
  EXPECT_EQ(c.problem().name, "p?");
  const std::string text = c.explain("a*");
  EXPECT_NE(text.find("a?[31mb?: "), std::string::npos) << text;
}

TEST(Compile, AnotherShapeIsAnotherPlan) {
  auto f = compile([](const Tensor& x) { return sum(x); });
  EXPECT_EQ(bits(f(ones({10})))[0], 10);
  EXPECT_EQ(bits(f(ones({3, 5})))[0], 15);
  EXPECT_EQ(bits(f(ones({10})))[0], 10);
}

struct State {
  Mlp params;
  Tensor steps;
};
std::pair<State, Tensor> sgd_step(const State& s, const Tensor& x) {
  const auto [value, g] = value_and_grad(loss)(s.params, x);
  State next = s;
  for (std::size_t i = 0; i < g.w.size(); ++i) next.params.w[i] = s.params.w[i] - 0.1 * g.w[i];
  next.steps = s.steps + 1.0;
  return {next, value};
}

TEST(Compile, StateTakesItsOwnStorageAndNothingElse) {
  State state{deep_mlp(3, 16), scalar(0.0f)};
  const Tensor x = full({4, 16}, 0.5);
  State eager = state;
  auto step = compile(sgd_step, {.state = 1});
  const void* storage = state.params.w[0].storage()->data();
  state.params = deep_mlp(3, 16);
  storage = state.params.w[0].storage()->data();
  Tensor value;
  float first = 0;
  for (int i = 0; i < 5; ++i) {
    std::tie(state, value) = step(std::move(state), x);
    if (i == 0) first = bits(value)[0];
    eager = sgd_step(eager, x).first;
  }
  EXPECT_EQ(state.params.w[0].storage()->data(), storage) << "updated in place";
  EXPECT_LT(bits(value)[0], first);
  EXPECT_EQ(bits(state.steps)[0], 5);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 256; ++j) EXPECT_NEAR(bits(state.params.w[i])[j], bits(eager.params.w[i])[j], 1e-6);
  }
}

TEST(Compile, StateThatIsStillHeldIsCopied) {
  const State state{deep_mlp(2, 8), scalar(0.0f)};
  const std::vector<float> before = bits(state.params.w[0]);
  auto step = compile(sgd_step, {.state = 1});
  const auto [next, value] = step(state, full({4, 8}, 0.5));
  EXPECT_EQ(bits(state.params.w[0]), before);
  EXPECT_NE(bits(next.params.w[0]), before);
}

TEST(Compile, AnErrorInAStepLosesNoState) {
  struct Table {
    Tensor rows;
  };
  auto step = compile(
      [](const Table& s, const Tensor& i) {
        const auto loss = [&](const Table& t) { return sum(square(embedding(t.rows, i))); };
        const auto [value, g] = value_and_grad(loss)(s);
        return std::make_pair(Table{s.rows - 0.1 * g.rows}, value);
      },
      {.state = 1});
  Table state{full({4, 3}, 1.0)};
  Tensor value;
  std::tie(state, value) = step(std::move(state), tensor<std::int64_t>({0, 1}, {2}));
  const std::vector<float> before = bits(state.rows);
  EXPECT_THROW(std::tie(state, value) = step(std::move(state), tensor<std::int64_t>({0, 9}, {2})), Error);
  ASSERT_TRUE(state.rows.defined());
  EXPECT_EQ(bits(state.rows), before);
}

TEST(Compile, PeakIsPredictedAndCountedAndTheNullDeviceAgrees) {
  const Mlp p = deep_mlp(6, 32);
  const Tensor x = full({64, 32}, 0.5);
  auto step = compile(value_and_grad(loss));
  step(p, x);
  const Compiled& c = step.plan_for(p, x);
  EXPECT_EQ(c.peak_measured(), c.peak_predicted());
  const Account account = c.account();
  EXPECT_EQ(account.most_live, c.plan().live_peak);
  EXPECT_LE(account.arena_high_water, c.program().arena_bytes);
  EXPECT_GE(account.arena_high_water, c.program().arena_bytes - 64);
  EXPECT_EQ(account.launches, static_cast<std::int64_t>(c.program().instrs.size()));
  Bytes rows = 0;
  for (const MemoryRow& row : c.memory()) rows += row.bytes;
  EXPECT_EQ(rows, c.peak_predicted());
}

TEST(Compile, EveryBudgetGivesTheSameBits) {
  const Mlp p = deep_mlp(10, 32);
  const Tensor x = full({256, 32}, 0.5);
  // Workspaces grow with threads, and with them the least budget.
  const std::shared_ptr<Device> device = cpu({.threads = 2});
  auto all = compile(value_and_grad(loss), {.device = device});
  const auto expected = all(p, x);
  for (const double fraction : {0.9, 0.7, 0.5}) {
    auto step = compile(value_and_grad(loss), {.memory = fraction, .device = device});
    const auto got = step(p, x);
    const Compiled& c = step.plan_for(p, x);
    EXPECT_LE(c.peak_measured(), c.plan().budget);
    EXPECT_LT(c.peak_measured(), all.plan_for(p, x).peak_measured());
    EXPECT_EQ(bits(got.value), bits(expected.value));
    for (std::size_t i = 0; i < p.w.size(); ++i) EXPECT_EQ(bits(got.grad.w[i]), bits(expected.grad.w[i])) << "at " << fraction << " layer " << i;
  }
}

TEST(Compile, ABudgetThatCannotBeMetIsRefusedBeforeAnythingRuns) {
  const Mlp p = deep_mlp(4, 32);
  auto step = compile(value_and_grad(loss), {.memory = 1_KiB});
  try {
    step(p, full({64, 32}, 0.5));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
    EXPECT_NE(std::string(e.what()).find("1.00 KiB"), std::string::npos) << e.what();
  }
}

TEST(Compile, AHundredGigabyteStepIsPlannedWithoutAllocatingIt) {
  Mlp p;
  for (int i = 0; i < 12; ++i) p.w.push_back(abstract({{8192, 8192}, DType::f32}));
  auto step = compile(value_and_grad(loss));
  const Compiled& c = step.plan_for(p, abstract({{262144, 8192}, DType::f32}));
  EXPECT_GT(c.peak_predicted(), 100_GiB);
  EXPECT_EQ(c.account().most_live, c.plan().live_peak);
}

TEST(Compile, TimelineCoversEveryTask) {
  const Mlp p = deep_mlp(3, 16);
  const Tensor x = full({4, 16}, 0.5);
  auto step = compile(value_and_grad(loss));
  Timeline timeline = step.plan_for(p, x).timeline();
  step.record_timeline(&timeline);
  step(p, x);
  ASSERT_FALSE(timeline.entries.empty());
  for (std::size_t i = 1; i < timeline.entries.size(); ++i) EXPECT_LE(timeline.entries[i - 1].end_ns, timeline.entries[i].begin_ns);
}

}  // namespace
}  // namespace tidemark
