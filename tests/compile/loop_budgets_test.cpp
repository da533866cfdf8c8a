// Budgets from the least to all, in small steps, for programs with loops of many kinds: what is met at one is met at every larger one, with the bits of keeping
// everything and the peak that was predicted, and more bytes never make a step slower.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tests/compile/compare.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/loops.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/random.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"
#include "tidemark/plan/plan.h"

namespace tidemark {
namespace {

// In: a state, two parameters, a key. Each has a first axis of 8 samples.
using Loss = Tensor (*)(const Tensors&);

Tensor advanced(const Tensor& u, const Tensors& in) {
  return u + 0.2 * (roll(u, 1, 1) - u) + 0.01 * in[1] * u - in[2] * tanh(u);
}
Tensor run(std::int64_t n, const Tensor& from, const Tensors& in) {
  return scan(n, from, [&](const Tensor& u) { return advanced(u, in); });
}
Tensor one_step(const Tensors& in) { return sum(square(run(1, in[0], in) * in[1])); }
Tensor no_step(const Tensors& in) { return sum(square(run(0, in[0], in) * in[1]) * in[2]); }
// Loops of different lengths in one step, with the parameters of the outer one.
Tensor uneven(const Tensors& in) {
  return sum(square(
      scan(7, in[0], [&](const Tensor& s) { return 0.5 * run(3, s, in) + 0.5 * sin(run(11, s, in)); })));
}
// One behind the other, with the same parameters.
Tensor in_sequence(const Tensors& in) { return sum(square(run(30, tanh(run(20, in[0], in)), in))); }
Tensor side_by_side(const Tensors& in) { return sum(run(25, in[0], in) * run(15, sin(in[0]), in)); }
Tensor with_dropout(const Tensors& in) {
  return sum(square(scan(20, in[0], [&](const Tensor& u) { return dropout(advanced(u, in), 0.2, in[3]); })));
}
// Values updated in the step as written, and slices of them.
Tensor with_updates(const Tensors& in) {
  return sum(square(scan(24, in[0], [&](const Tensor& u) {
    Tensor x = advanced(u, in);
    const Tensor before = x;
    x += 0.1 * sin(before);
    x *= 1.0 + 0.01 * in[2];
    return x + 0.01 * before * u;
  })));
}
struct Counted {
  Tensor u, count, seen;
};
// A state of whole numbers beside one that has a gradient.
Tensor with_whole_numbers(const Tensors& in) {
  const Counted last = scan(22, Counted{in[0], cast(0.0 * in[0], DType::i32), cast(0.0 * in[0], DType::i64)},
                            [&](const Counted& s) {
                              const Tensor up = cast(s.u > 0.0, DType::i32);
                              return Counted{advanced(s.u, in) + 0.001 * cast(s.count, DType::f64) * s.u,
                                             s.count + up, s.seen + cast(s.count, DType::i64)};
                            });
  return sum(square(last.u) * cast(last.seen, DType::f64));
}
Tensor nested(const Tensors& in) {
  return sum(square(scan(7, in[0], [&](const Tensor& s) { return 0.5 * run(9, s, in) + 0.1 * s; })));
}
Tensor nothing_inside(const Tensors& in) {
  return sum(square(scan(12, in[0], [&](const Tensor& s) { return 0.5 * run(0, s, in) + advanced(s, in); })));
}
Tensor while_in_scan(const Tensors& in) {
  return sum(square(scan(6, in[0], [&](const Tensor& s) {
    return 0.1 * in[1] + while_loop([&](const Tensor& u) { return sum(square(u)) < 100.0; },
                                    [&](const Tensor& u) { return u * 1.1 + 0.01 * sin(in[2] * u); }, 0.5 * s,
                                    {.max_trips = 30})
                             .state;
  })));
}

Tensors inputs() {
  Tensors in;
  for (const double f : {0.1, 0.37, 0.011})
    in.push_back(reshape(sin(cast(arange(8 * 24), DType::f64) * f) + 0.01, {8, 24}));
  in.push_back(arange(2) + 7);
  return in;
}

// So fast that states go there.
TierSpec quick(TierSpec tier) {
  tier.write_bytes_per_second = tier.read_bytes_per_second = 1e13;
  tier.latency_seconds = 1e-9;
  return tier;
}

enum class Order : std::uint8_t { gradient, product, gradient_of_gradient };
struct Case {
  const char* name;
  Loss f;
  Order order = Order::gradient;
};
Tensors derivatives(const Case& c, const Tensors& x) {
  const auto loss = [&](const Tensors& y) { return c.f(Tensors{y[0], y[1], y[2], x[3]}); };
  const Tensors at{x[0], x[1], x[2]};
  if (c.order == Order::gradient) return flatten(value_and_grad(loss)(at));
  if (c.order == Order::product) return hvp(loss, at, Tensors{x[1], x[2], x[0]});
  return grad([&](const Tensors& y) {
    const Tensors g = grad(loss)(y);
    return sum(square(g[0])) + sum(g[1]) + sum(g[2]);
  })(at);
}
enum class Where : std::uint8_t { memory, host, disk, parts };
std::string name_of(const ::testing::TestParamInfo<std::tuple<Case, Where>>& info) {
  static constexpr const char* kWhere[] = {"", "_host", "_disk", "_parts"};
  const auto& [c, where] = info.param;
  return std::string(c.name) + kWhere[static_cast<std::size_t>(where)];
}

void budgets_of(const Case& c, Where where, int budgets) {
  const Tensors in = inputs();
  const auto f = [c](const Tensors& x) { return derivatives(c, x); };
  CompileOptions options{.device = cpu({.threads = 1}), .time_limit = 0.05, .correct = false};
  if (where == Where::host) options.tiers = {quick(host(1_MiB))};
  if (where == Where::disk) options.tiers = {quick(disk(::testing::TempDir(), 1_MiB))};
  if (where == Where::parts) options.micro_batches = 2;
  auto all = compile(f, options);
  const Tensors wanted = all(in);
  if (where != Where::parts) expect_bits(wanted, f(in));
  const Bytes most = all.plan_for(in).peak_predicted();
  options.memory = Budget::minimum();
  auto smallest = compile(f, options);
  expect_bits(smallest(in), wanted);
  const Bytes least = smallest.plan_for(in).peak_measured();
  EXPECT_EQ(least, smallest.plan_for(in).peak_predicted());
  double fastest = smallest.plan_for(in).plan().seconds;  // so far
  for (int k = 0; k <= budgets; ++k) {
    const double part = static_cast<double>(k * k) / (budgets * budgets);  // more of them near the least
    SCOPED_TRACE(part);
    options.memory = Budget(least + static_cast<Bytes>(part * static_cast<double>(most - least)));
    auto tight = compile(f, options);
    expect_bits(tight(in), wanted);
    if (where != Where::memory) expect_bits(tight(in), wanted);
    const Compiled& planned = tight.plan_for(in);
    EXPECT_EQ(planned.peak_measured(), planned.peak_predicted());
    EXPECT_LE(planned.peak_measured(), options.memory.bytes);
    EXPECT_EQ(plan::check(planned.problem(), planned.plan()), "");
    // Within what keeping everything, which looks at no other areas, may be slower than a tight plan.
    EXPECT_LE(planned.plan().seconds, fastest * 1.001);
    fastest = std::min(fastest, planned.plan().seconds);
    // What it says is the least with these areas is enough.
    if (k != budgets / 2) continue;
    const Bytes named = planned.smallest(0.05).budget;
    EXPECT_GE(named, least * 9 / 10);
    options.memory = Budget(named);
    EXPECT_LE(compile(f, options).plan_for(in).peak_predicted(), named);
  }
}

const auto kKinds = ::testing::Values(
    Case{"one_step", one_step}, Case{"no_step", no_step}, Case{"uneven", uneven},
    Case{"in_sequence", in_sequence}, Case{"side_by_side", side_by_side}, Case{"with_dropout", with_dropout},
    Case{"with_updates", with_updates}, Case{"with_whole_numbers", with_whole_numbers},
    Case{"nested", nested}, Case{"nothing_inside", nothing_inside});
// Their parts are other programs than the gradient of the parts.
const auto kSecond = ::testing::Values(Case{"one_step_twice", one_step, Order::gradient_of_gradient},
                                       Case{"no_step_twice", no_step, Order::gradient_of_gradient},
                                       Case{"side_by_side_product", side_by_side, Order::product},
                                       Case{"side_by_side_twice", side_by_side, Order::gradient_of_gradient},
                                       Case{"in_sequence_twice", in_sequence, Order::gradient_of_gradient},
                                       Case{"nested_product", nested, Order::product});
// When it ends depends on all samples, which cannot be in parts then.
const auto kCoupled = ::testing::Values(Case{"while_in_scan", while_in_scan});

class LoopBudgets : public ::testing::TestWithParam<std::tuple<Case, Where>> {};
TEST_P(LoopBudgets, WhatIsMetIsMetWithMore) {
  budgets_of(std::get<0>(GetParam()), std::get<1>(GetParam()), 3);
}
INSTANTIATE_TEST_SUITE_P(Of, LoopBudgets,
                         ::testing::Combine(kKinds, ::testing::Values(Where::memory, Where::disk)), name_of);
INSTANTIATE_TEST_SUITE_P(OfCoupled, LoopBudgets, ::testing::Combine(kCoupled, ::testing::Values(Where::host)),
                         name_of);

// At budgets where areas used to be left out that a smaller budget had found: nothing runs.
TEST(LoopTimes, FallAsBudgetsGrow) {
  struct Kind {
    Case of;
    int parts, budgets;
  };
  const Tensors in = inputs();
  for (const Kind& kind : {Kind{{"product", side_by_side, Order::product}, 1, 12},
                           Kind{{"gradient of a gradient", one_step, Order::gradient_of_gradient}, 1, 8},
                           Kind{{"parts", one_step}, 2, 20}}) {
    SCOPED_TRACE(kind.of.name);
    const auto f = [&](const Tensors& x) { return derivatives(kind.of, x); };
    CompileOptions options{.device = cpu({.threads = 1}), .time_limit = 0.05, .correct = false};
    options.micro_batches = kind.parts;
    const auto planned = [&] {
      auto step = compile(f, options);
      return step.plan_for(in).plan();
    };
    const Bytes most = planned().peak;
    options.memory = Budget::minimum();
    const plan::Plan smallest = planned();
    double fastest = smallest.seconds;
    for (int k = 0; k <= kind.budgets; ++k) {
      const double part = static_cast<double>(k * k) / (kind.budgets * kind.budgets);
      SCOPED_TRACE(part);
      options.memory =
          Budget(smallest.peak + static_cast<Bytes>(part * static_cast<double>(most - smallest.peak)));
      const double seconds = planned().seconds;
      EXPECT_LE(seconds, fastest * 1.001);
      fastest = std::min(fastest, seconds);
    }
  }
}

// Areas are chosen for the plan that there will be, with its pins: without, none but the smallest had room left for what is kept, and steps ran five times as
// long.
TEST(LoopTimes, PinsLeaveLoopsAreas) {
  const auto f = value_and_grad([](const Tensor& x) {
    Tensor h = x;
    for (int i = 0; i < 7; ++i) h = name(tanh(h * 1.1), "h." + std::to_string(i));
    return sum(square(scan(30, h, [](const Tensor& u) { return u + 0.1 * tanh(u * u); })));
  });
  const Tensor x = full({32, 32}, 0.3);
  CompileOptions options{.memory = 100'000,
                         .device = cpu({.threads = 1}),
                         .time_limit = 0.05,
                         .makers = false,
                         .correct = false};
  const auto seconds = [&] {
    auto step = compile(f, options);
    return step.plan_for(x).plan().seconds;
  };
  const double free = seconds();
  options.pins = {{"h.*", keep}};
  EXPECT_LE(seconds(), 1.3 * free);
}

// What never runs takes nothing: neither the workspace of a step nor a copy of the state, and its stacks are empty.
TEST(LoopTimes, AndBytesOfNoStepsAreNone) {
  const Tensors in = inputs();
  const auto loss = [](const Tensors& x) {
    const auto [last, seen] =
        scan(0, x[0] * x[1], [&](const Tensor& u) { return std::pair(advanced(u, x), sin(u)); });
    return sum(square(last)) + sum(seen);
  };
  const auto direct = [](const Tensors& x) {
    return sum(square(x[0] * x[1])) + sum(full({0, 8, 24}, 0.0, DType::f64));
  };
  const Tensors x{in[0], in[1], in[2]};
  const auto of = [&](const auto& f) {
    return compile(
        value_and_grad(f),
        {.memory = Budget::minimum(), .device = cpu({.threads = 1}), .time_limit = 0.05, .correct = false});
  };
  auto looped = of(loss);
  auto plain = of(direct);
  expect_bits(flatten(looped(x)), flatten(plain(x)));
  expect_bits(flatten(looped(x)), flatten(value_and_grad(loss)(x)));
  EXPECT_FALSE(has_loops(looped.plan_for(x).graph()));
  EXPECT_LE(looped.plan_for(x).peak_measured(), plain.plan_for(x).peak_measured());
  // The state itself as a result, an argument handed on as it came.
  const auto nothing = [](const Tensors& y) {
    return Tensors{scan(0, y[0], [](const Tensor& u) { return sin(u); }), y[1]};
  };
  auto copied = compile(nothing, {.device = cpu({.threads = 1})});
  expect_bits(copied(x), Tensors{x[0], x[1]});
}

class SlowLoopBudgets : public ::testing::TestWithParam<std::tuple<Case, Where>> {};
TEST_P(SlowLoopBudgets, Twenty) { budgets_of(std::get<0>(GetParam()), std::get<1>(GetParam()), 20); }
INSTANTIATE_TEST_SUITE_P(Slow, SlowLoopBudgets,
                         ::testing::Combine(kKinds, ::testing::Values(Where::memory, Where::host, Where::disk,
                                                                      Where::parts)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(SlowCoupled, SlowLoopBudgets,
                         ::testing::Combine(kCoupled,
                                            ::testing::Values(Where::memory, Where::host, Where::disk)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(SlowSecond, SlowLoopBudgets,
                         ::testing::Combine(kSecond, ::testing::Values(Where::memory, Where::host)), name_of);

}  // namespace
}  // namespace tidemark
