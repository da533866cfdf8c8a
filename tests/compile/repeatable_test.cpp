// Ops that may not run again run once for every use in the program, whatever the budget, in loops and branches too.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compile/compare.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

int calls = 0;

std::unique_ptr<Kernel> noisy(const KernelSpec& s) {
  const std::int64_t n = s.out[0].type.shape.numel();
  return make_kernel(0, [=](const Operands& o) {
    const float factor = 1 + 0.01f * static_cast<float>(++calls);
    for (std::int64_t i = 0; i < n; ++i) o.output<float>(0)[i] = o.input<float>(0)[i] * factor;
  });
}

// Another factor each time it runs; its derivative is a function of the result, so that a second run would show.
const Op noise_op{.name = "noise",
                  .doc = "",
                  .infer = [](const InferArgs& a) { return std::vector<Type>{a.in[0]}; },
                  .vjp = [](const Rule& r) { return Tensors{r.ct() * r.y()}; },
                  .jvp = [](const Rule& r) { return Tensors{r.dx() * r.y()}; },
                  .facts = {.deterministic = false},
                  .reference = noisy};
Tensor noise(const Tensor& x) { return apply1(noise_op, {x}, {}, Where::current()); }

struct Weights {
  std::vector<Tensor> ws;
};

std::vector<float> numbers(const Tensor& t) {
  return {t.data<float>().begin(), t.data<float>().end()};
}

Weights weights(int n) {
  Weights p;
  for (int i = 0; i < n; ++i)
    p.ws.push_back(reshape(sin(cast(arange(32 * 32), DType::f32) * (i + 1.0)) * 0.2, {32, 32}));
  return p;
}
Tensor batch() { return reshape(cos(cast(arange(64 * 32), DType::f32)), {64, 32}); }

// The gradient of the first weight under each budget; every one calls the op as often as written.
template <typename F>
std::vector<float> same_under_every_budget(F f, int uses) {
  const Weights p = weights(6);
  const Tensor x = batch();
  calls = 0;
  const std::vector<float> eager = numbers(value_and_grad(f)(p, x).grad.ws[0]);
  EXPECT_EQ(calls, uses) << "eager";
  for (const Budget& memory : {Budget(), Budget(1.0), Budget::minimum()}) {
    auto step = compile(value_and_grad(f), {.memory = memory, .time_limit = 0.1, .correct = false});
    calls = 0;
    const auto r = step(p, x);
    EXPECT_EQ(calls, uses) << static_cast<int>(memory.kind);
    EXPECT_EQ(numbers(r.grad.ws[0]), eager) << static_cast<int>(memory.kind);
  }
  return eager;
}

Tensor written_out(const Weights& p, const Tensor& x) {
  Tensor h = x;
  for (int i = 0; i < 6; ++i) h = noise(tanh(matmul(h, p.ws[0])));
  return mean(square(h));
}

TEST(Repeatable, WhatMayNotRunAgainRunsOnce) {
  same_under_every_budget(
      [](const Weights& p, const Tensor& x) {
        Tensor h = x;
        for (const Tensor& w : p.ws) h = noise(tanh(matmul(h, w)));
        return mean(square(h));
      },
      6);
}

TEST(Repeatable, LoopsKeepWhatItMade) {
  const std::vector<float> plain = same_under_every_budget(written_out, 6);
  const auto near = [&](const std::vector<float>& other) {
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i], other[i], 1e-6);
  };
  near(same_under_every_budget(
      [](const Weights& p, const Tensor& x) {
        return mean(square(scan(6, x, [&](const Tensor& h) { return noise(tanh(matmul(h, p.ws[0]))); })));
      },
      6));
  near(same_under_every_budget(
      [](const Weights& p, const Tensor& x) {
        const auto two = [&](const Tensor& h) {
          return scan(2, h, [&](const Tensor& t) { return noise(tanh(matmul(t, p.ws[0]))); });
        };
        return mean(square(scan(3, x, two)));
      },
      6));
  near(same_under_every_budget(
      [](const Weights& p, const Tensor& x) {
        struct State {
          Tensor h, n;
        };
        const auto r = while_loop([](const State& s) { return s.n < 6.0; },
                                  [&](const State& s) {
                                    return State{noise(tanh(matmul(s.h, p.ws[0]))), s.n + 1.0};
                                  },
                                  State{x, full_beside(x, Type{Shape{}, DType::f32}, 0)}, {.max_trips = 9});
        return mean(square(r.state.h));
      },
      6));
}

TEST(Repeatable, BranchesAndCallsKeepWhatItMade) {
  const std::vector<float> plain = same_under_every_budget(written_out, 6);
  const auto in_cond = [](const Weights& p, const Tensor& x) {
    Tensor h = x;
    for (int i = 0; i < 6; ++i)
      h = cond(
          sum(square(h)) > 0.0, [&](const Tensor& t) { return noise(tanh(matmul(t, p.ws[0]))); },
          [&](const Tensor& t) { return noise(noise(t)); }, h);
    return mean(square(h));
  };
  EXPECT_EQ(same_under_every_budget(in_cond, 6), plain);
  const auto in_call = [](const Weights& p, const Tensor& x) {
    Tensor h = x;
    for (int i = 0; i < 6; ++i)
      h = call(
          "layer", [&](const Tensor& t) { return noise(tanh(matmul(t, p.ws[0]))); }, h);
    return mean(square(h));
  };
  EXPECT_EQ(same_under_every_budget(in_call, 6), plain);
}

TEST(Repeatable, ForwardModeRunsItOnce) {
  const auto f = [](const Tensor& x) {
    return sum(scan(4, x, [](const Tensor& h) { return noise(tanh(h)); }));
  };
  const auto g = [](const Tensor& x) {
    Tensor h = x;
    for (int i = 0; i < 4; ++i) h = noise(tanh(h));
    return sum(h);
  };
  const Tensor x = batch(), dx = ones_like(x);
  calls = 0;
  const auto loop = jvp(f, x, dx);
  EXPECT_EQ(calls, 4);
  calls = 0;
  const auto plain = jvp(g, x, dx);
  EXPECT_EQ(numbers(loop.second), numbers(plain.second));
}

int prints = 0;

// Has an effect: a step that starts over must not have it twice.
const Op print_op{.name = "print",
                  .doc = "",
                  .infer =
                      [](const InferArgs&) {
                        return std::vector<Type>{Type{Shape{}, DType::f32}};
                      },
                  .facts = {.zero_derivative = true, .effect = true},
                  .reference =
                      [](const KernelSpec&) {
                        return make_kernel(0, [](const Operands& o) {
                          ++prints;
                          o.output<float>(0)[0] = static_cast<float>(prints);
                        });
                      }};

constexpr std::int64_t kWide = 256, kRows = 1030;  // products that take longer than codecs
Weights wide(bool positive) {
  Weights p;
  for (int i = 0; i < 8; ++i)
    p.ws.push_back(
        positive ? full({kWide, kWide}, 0.005)
                 : reshape(sin(cast(arange(kWide * kWide), DType::f32) * (i + 1.3)) * 0.1, {kWide, kWide}));
  return p;
}
Tensor wide_batch(bool positive) {
  return positive ? full({kRows, kWide}, 1.0)
                  : reshape(cos(cast(arange(kRows * kWide), DType::f32)), {kRows, kWide});
}
// Half of what relu gives is zero for the first call, nothing of it for the second: then slots of codecs for zeros are too small. Each
// step counts `count` up once, whichever plan it runs under in the end.
template <typename F>
void counts_once_a_step(F f, int& count, bool coded) {
  const auto device = cpu({.threads = 2});  // what pays depends on how many there are
  auto all = compile(value_and_grad(f), {.device = device});
  const Compiled& most = all.plan_for(wide(false), wide_batch(false));
  const Bytes budget = (most.smallest(0.3).plan.peak + most.plan().peak) / 2;
  auto step =
      compile(value_and_grad(f), {.memory = budget, .device = device, .time_limit = 0.6, .correct = false});
  const Compiled& c = step.plan_for(wide(false), wide_batch(false));
  if (coded)
    ASSERT_GT(encodes(c), 0);
  else
    EXPECT_EQ(encodes(c), 0);
  for (const bool positive : {false, true}) {
    count = 0;
    const auto wanted = all(wide(positive), wide_batch(positive));
    count = 0;
    const auto got = step(wide(positive), wide_batch(positive));
    EXPECT_EQ(count, 1);
    for (std::size_t i = 0; i < wanted.grad.ws.size(); ++i)
      EXPECT_EQ(numbers(got.grad.ws[i]), numbers(wanted.grad.ws[i])) << i;
  }
  EXPECT_EQ(c.notes().size(), coded ? 1u : 0u);
}

TEST(Repeatable, AStepThatStartsOverHasItsEffectsOnce) {
  const auto f = [](const Weights& p, const Tensor& x) {
    apply1(print_op, {sum(x)}, {}, Where::current());
    Tensor h = x;
    for (const Tensor& w : p.ws) h = relu(matmul(h, w));
    return mean(square(h));
  };
  counts_once_a_step(f, prints, true);
}

// Codes of what is made from it can only be too large when it has run.
TEST(Repeatable, NothingThatCanStartTheStepOverFollowsWhatMayNotRunAgain) {
  const auto f = [](const Weights& p, const Tensor& x) {
    Tensor h = noise(x);
    for (const Tensor& w : p.ws) h = relu(matmul(h, w));
    return mean(square(h));
  };
  counts_once_a_step(f, calls, false);
}

TEST(Repeatable, APinToMakeItAgainIsRefused) {
  const auto f = [](const Weights& p, const Tensor& x) {
    Tensor h = x;
    for (const Tensor& w : p.ws) h = tanh(matmul(name(noise(h), "n"), w));
    return mean(square(h));
  };
  auto step = compile(value_and_grad(f), {.memory = 0.9, .pins = {{"n", recompute}}});
  EXPECT_THAT([&] { step(weights(3), batch()); },
              testing::ThrowsMessage<Error>(
                  testing::HasSubstr("'n' cannot be recomputed: what makes it, noise, may not run again")));
}

}  // namespace
}  // namespace tidemark
