// Second derivatives through loops and branches under a budget: products with the Hessian, and gradients of gradients, have the bits of keeping
// everything and the peak that was predicted.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "tests/compile/compare.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/loops.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"
#include "tidemark/plan/plan.h"

namespace tidemark {
namespace {

using Loss = Tensor (*)(const Tensors&);

Tensor advanced(const Tensor& u, const Tensors& in) {
  return u + 0.2 * (roll(u, 1, 0) - u) + 0.01 * in[1] * u - in[2] * tanh(u);
}
Tensor by_scan(const Tensors& in) {
  return sum(square(scan(40, in[0], [&](const Tensor& u) { return advanced(u, in); })));
}
Tensor by_while(const Tensors& in) {
  const auto last =
      while_loop([&](const Tensor& u) { return sum(square(u)) < 2e4; },
                 [&](const Tensor& u) {
                   return u * 1.05 + 0.01 * sin(in[1] * u) + 0.05 * in[2] * u * u / (1.0 + square(u));
                 },
                 in[0], {.max_trips = 120});
  return sum(square(last.state) * in[1]);
}
// The branch is another one in about every other step.
Tensor by_cond(const Tensors& in) {
  return sum(square(scan(30, in[0], [&](const Tensor& u) {
    return cond(
        sum(u * in[1]) > 0.0, [&](const Tensor& x) { return advanced(x, in) - 0.1 * in[1]; },
        [&](const Tensor& x) { return 0.9 * sin(x) + 0.1 * in[1] * x * x; }, u);
  })));
}
// Outside of a loop too: the branch that runs is a loop.
Tensor by_cond_of_loops(const Tensors& in) {
  const auto run = [&](std::int64_t n) {
    return [&, n](const Tensor& x) { return scan(n, x, [&](const Tensor& u) { return advanced(u, in); }); };
  };
  return sum(square(cond(sum(in[0]) > 0.0, run(25), run(15), in[0])));
}
// Steps that are loops.
Tensor by_nest(const Tensors& in) {
  return sum(square(scan(8, in[0], [&](const Tensor& s) {
    return 0.1 * in[1] + while_loop([&](const Tensor& u) { return sum(square(u)) < 60.0; },
                                    [&](const Tensor& u) { return u * 1.1 + 0.01 * sin(in[2] * u); }, 0.5 * s,
                                    {.max_trips = 20})
                             .state;
  })));
}

Tensors inputs() {
  Tensors in;
  for (const double f : {0.1, 0.37, 0.011}) in.push_back(sin(cast(arange(96), DType::f64) * f) + 0.01);
  return in;
}
Tensor of_gradient(Loss f, const Tensors& x) {
  const Tensors g = grad(f)(x);
  return sum(square(g[0])) + sum(g[1]) + sum(g[2]);
}
Tensors second(Loss f, const Tensors& x, bool product) {
  if (product) return hvp(f, x, Tensors{x[1], x[2], x[0]});
  return grad([f](const Tensors& y) { return of_gradient(f, y); })(x);
}
struct Case {
  const char* name;
  Loss f;
  bool product;
  double least = 0.8;  // of the bytes without a budget, to which a budget may come down
};
class SecondOrder : public ::testing::TestWithParam<Case> {};

TEST_P(SecondOrder, LoopsKeepTheContract) {
  const Tensors in = inputs();
  const auto f = [c = GetParam()](const Tensors& x) { return second(c.f, x, c.product); };
  const Tensors eager = f(in);
  CompileOptions options{.device = cpu({.threads = 1}), .time_limit = 0.1, .correct = false};
  auto all = compile(f, options);
  const Tensors wanted = all(in);
  expect_bits(wanted, eager);
  const Bytes most = all.plan_for(in).peak_measured();
  EXPECT_EQ(most, all.plan_for(in).peak_predicted());
  options.memory = Budget::minimum();
  auto least = compile(f, options);
  expect_bits(least(in), wanted);
  const Bytes fewest = least.plan_for(in).peak_measured();
  EXPECT_EQ(fewest, least.plan_for(in).peak_predicted());
  EXPECT_LE(static_cast<double>(fewest), GetParam().least * static_cast<double>(most));
  for (const double part : {0.7, 0.4, 0.15, 0.05}) {
    SCOPED_TRACE(part);
    options.memory = Budget(fewest + static_cast<Bytes>(part * static_cast<double>(most - fewest)));
    auto tight = compile(f, options);
    for (int run = 0; run < 2; ++run) expect_bits(tight(in), wanted);
    const Compiled& c = tight.plan_for(in);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_LE(c.peak_measured(), options.memory.bytes);
    EXPECT_EQ(plan::check(c.problem(), c.plan()), "");
  }
}

// Busy threads of the same process: its clock, by which the planner's time is told, goes several times as fast.
class Load {
 public:
  Load() {
    for (int k = 0; k < 4; ++k)
      threads_.emplace_back([this] {
        while (!stop_.load()) {
        }
      });
  }
  ~Load() { stop_ = true; }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::jthread> threads_;
};

// What the least budget was found to be is enough, and what is above it too, whatever else the machine does and however little time there is; and more bytes
// never make a step slower than it is with the fewest.
TEST_P(SecondOrder, BudgetsAreMetWhateverTheLoad) {
  const Tensors in = inputs();
  const auto f = [c = GetParam()](const Tensors& x) { return second(c.f, x, c.product); };
  CompileOptions options{.device = cpu({.threads = 1}), .time_limit = 0.1, .correct = false};
  const auto planned = [&] {
    auto step = compile(f, options);
    return step.plan_for(in).plan();
  };
  const Bytes most = planned().peak;
  options.memory = Budget::minimum();
  const plan::Plan least = planned();
  for (const double part : {0.0, 0.02}) {
    for (const bool hasty : {false, true}) {
      SCOPED_TRACE(::testing::Message() << part << (hasty ? " in a millisecond" : ""));
      options.memory = Budget(least.peak + static_cast<Bytes>(part * static_cast<double>(most - least.peak)));
      options.time_limit = hasty ? 1e-3 : 0.1;
      std::optional<plan::Plan> calm, busy;
      ASSERT_NO_THROW(calm = planned());
      EXPECT_LE(calm->seconds, least.seconds * 1.001);
      if (hasty) continue;
      const Load load;
      ASSERT_NO_THROW(busy = planned());
      EXPECT_EQ(busy->peak, calm->peak);
      EXPECT_EQ(busy->seconds, calm->seconds);
    }
  }
}

// Whose least bytes depend on the number of steps, and by how much (docs/loops.md tells): a gradient's and a product's do not; a gradient of a
// gradient's do, by states that three loops read.
TEST(SecondOrderLeast, BytesAStep) {
  const Tensors in = inputs();
  const Bytes state = in[0].type().bytes();
  struct Kind {
    const char* name;
    std::function<Tensors(const std::function<Tensor(const Tensors&)>&, const Tensors&)> of;
    Bytes scan, loop;  // states a step
  };
  const Kind kinds[] = {{"gradient", [](const auto& f, const Tensors& x) { return grad(f)(x); }, 0, 0},
                        {"product",
                         [](const auto& f, const Tensors& x) {
                           return hvp(f, x, Tensors{x[1], x[2], x[0]});
                         },
                         0, 0},
                        {"gradient of a gradient",
                         [](const auto& f, const Tensors& x) {
                           return grad([f](const Tensors& y) {
                             const Tensors g = grad(f)(y);
                             return sum(square(g[0])) + sum(g[1]) + sum(g[2]);
                           })(x);
                         },
                         2, 3}};
  for (const Kind& kind : kinds) {
    for (const bool by_itself : {false, true}) {
      SCOPED_TRACE(::testing::Message() << kind.name << (by_itself ? " of a while_loop" : " of a scan"));
      const auto least = [&](std::int64_t n) {
        const auto loss = [&, n](const Tensors& x) {
          if (!by_itself) return sum(square(scan(n, x[0], [&](const Tensor& u) { return advanced(u, x); })));
          const double end = 24.0 * std::pow(1.02, 2.0 * static_cast<double>(n));
          const auto last = while_loop([&](const Tensor& u) { return sum(square(u)) < end; },
                                       [&](const Tensor& u) { return u * 1.02 + 0.001 * sin(x[1] * u); },
                                       x[0], {.max_trips = n});
          return sum(square(last.state) * x[1]) + sum(x[2]);
        };
        auto f = compile([&](const Tensors& x) { return kind.of(loss, x); }, {.memory = Budget::minimum(),
                                                                              .device = cpu({.threads = 1}),
                                                                              .time_limit = 0.1,
                                                                              .correct = false});
        f(in);
        return f.plan_for(in).peak_measured();
      };
      EXPECT_LE(least(160) - least(40), 120 * state * (by_itself ? kind.loop : kind.scan));
    }
  }
}

// And the numbers are those of differences of gradients.
TEST_P(SecondOrder, AgreesWithDifferences) {
  const Case c = GetParam();
  const Tensors in = inputs(), along{in[1], in[2], in[0]};
  const Tensors got = second(c.f, in, c.product);
  const double h = 1e-6;
  Tensors up, down;
  for (std::size_t i = 0; i < in.size(); ++i)
    up.push_back(in[i] + h * along[i]), down.push_back(in[i] - h * along[i]);
  if (!c.product) {
    double slope = 0;
    for (std::size_t i = 0; i < in.size(); ++i) slope += sum(got[i] * along[i]).item<double>();
    const double difference =
        (of_gradient(c.f, up).item<double>() - of_gradient(c.f, down).item<double>()) / (2 * h);
    EXPECT_NEAR(slope, difference, 1e-6 * (1 + std::abs(slope)));
    return;
  }
  const Tensors a = grad(c.f)(up), b = grad(c.f)(down);
  for (std::size_t i = 0; i < in.size(); ++i) {
    double scale = 1;
    for (const double v : got[i].data<double>()) scale = std::max(scale, std::abs(v));
    for (std::size_t k = 0; k < 96; ++k)
      ASSERT_NEAR(got[i].data<double>()[k], (a[i].data<double>()[k] - b[i].data<double>()[k]) / (2 * h),
                  1e-5 * scale)
          << i << " " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, SecondOrder,
    ::testing::Values(Case{"scan", by_scan, true}, Case{"scan_twice", by_scan, false},
                      Case{"while_loop", by_while, true},
                      // Three loops read what the first has kept, and how many steps there are is not known.
                      Case{"while_loop_twice", by_while, false, 1.0}, Case{"cond", by_cond, true},
                      Case{"cond_twice", by_cond, false}, Case{"cond_of_loops", by_cond_of_loops, true},
                      Case{"cond_of_loops_twice", by_cond_of_loops, false}, Case{"nest", by_nest, true},
                      Case{"nest_twice", by_nest, false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tidemark
