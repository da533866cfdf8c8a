// Loops under a budget: the same bits whatever is kept, the peak that was promised, the steps that theory says.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/loops.h"
#include "tests/compile/compare.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/front/random_body.h"
#include "tidemark/compile/compile.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/loops.h"
#include "tidemark/schedule/registry.h"
#include "tidemark/schedule/revolve.h"

namespace tidemark {
namespace {

Tensors copies(const Tensors& all) {
  Tensors result;
  for (const Tensor& t : all) result.push_back(tensor_from_bytes(t.storage()->data(), static_cast<std::size_t>(t.numel()), t.type()));
  return result;
}

int count(const Graph& g, const Op& op) {
  int n = 0;
  for (const Node& node : g.nodes) n += node.op == &op;
  return n;
}

Tensor heat(const Tensors& in) {  // a rod, heated by in[1], losing heat at the rate in[2]
  return sum(square(scan(60, in[0], [&](const Tensor& u) { return u + 0.2 * (roll(u, 1, 0) + roll(u, -1, 0) - 2.0 * u) + 0.01 * in[1] - in[2] * tanh(u); })));
}
Tensors rod(std::int64_t n = 256) {
  Tensors in;
  for (const double f : {0.1, 0.37, 0.011}) in.push_back(sin(cast(arange(n), DType::f64) * f));
  return in;
}

TEST(Loops, OneSweepAndItsAdjoint) {
  const auto step = [](const Tensors& in) { return value_and_grad(heat)(in); };
  auto compiled = compile(step);
  Compiled& c = compiled.plan_for(rod());
  EXPECT_EQ(count(c.graph(), scan_op), 0);
  EXPECT_EQ(count(c.graph(), scan_saving_op), 1);
  EXPECT_EQ(count(c.graph(), scan_adjoint_op), 1);
  const std::vector<std::string> lines = explain_loops(c.graph(), {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].rfind("60 steps of 2.00 KiB in ", 0), 0u) << lines[0];
  EXPECT_NE(lines[0].find(": the tapes of all steps, 2.00 KiB each"), std::string::npos) << lines[0];
  verify(c.graph());
}

TEST(Loops, SameBitsAtEveryBudget) {
  const Tensors in = rod();
  const auto step = [](const Tensors& x) { return value_and_grad(heat)(x); };
  const auto eager = step(in);
  auto roomy = compile(step);
  const auto all = roomy(in);
  const Tensors wanted = copies(flatten(all));
  expect_bits(wanted, flatten(eager));
  const Bytes most = roomy.plan_for(in).peak_measured();
  EXPECT_EQ(most, roomy.plan_for(in).peak_predicted());
  Bytes last = most;
  for (const double fraction : {0.8, 0.6, 0.4, 0.3}) {
    auto tight = compile(step, {.memory = fraction});
    const auto got = tight(in);
    expect_bits(flatten(got), wanted);
    Compiled& c = tight.plan_for(in);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_LE(c.peak_measured(), static_cast<Bytes>(fraction * static_cast<double>(most)) + 3 * 2048 + 64);
    EXPECT_LT(c.peak_measured(), last);
    last = c.peak_measured();
  }
  auto least = compile(step, {.memory = Budget::minimum()});
  expect_bits(flatten(least(in)), wanted);
  EXPECT_EQ(least.plan_for(in).peak_measured(), least.plan_for(in).peak_predicted());
  EXPECT_LE(least.plan_for(in).peak_measured(), last);
  EXPECT_THROW(compile(step, {.memory = Budget(20_KiB)})(in), Error);
}

TEST(Loops, RunAsManyStepsAsTheorySays) {
  for (const auto& [steps, slots] : {std::pair{1000, 10}, {1000, 1}, {37, 5}, {2, 1}, {1, 1}, {100, 100}}) {
    const LoopCosts costs{.trips = steps, .state = 64};
    const schedule::Counts counts = schedule::count("revolve", {.steps = steps, .slots = slots});
    // Revolve stops its first sweep at the last state that it keeps; the primal goes on to the end.
    std::int64_t kept = 0;
    for (std::int64_t left = slots; left > 1 && steps - kept > 1; --left) kept += schedule::revolve_split(steps - kept, left);
    EXPECT_NEAR(costs.forward_runs(64 * (slots - 1)) * steps, static_cast<double>(counts.forward_steps + steps - kept), 1e-6) << steps << " " << slots;
  }
}

// A step whose product is dear to compute again.
Tensor recurrent(const Tensors& in) {
  const Tensor h = scan(in[2].shape()[0], in[0], [&](const Tensor& s, const Tensor& x) { return tanh(matmul(s, in[1]) + x); }, in[2]);
  return sum(square(h));
}
Tensors cells(std::int64_t steps = 24, std::int64_t rows = 16, std::int64_t n = 48) {
  Tensors in;
  for (const std::vector<std::int64_t>& sizes : {std::vector{rows, n}, std::vector{n, n}, std::vector{steps, rows, n}})
    in.push_back(reshape(sin(cast(arange(Shape(sizes).numel()), DType::f64) * 0.7), sizes) * 0.2);
  return in;
}

// From room for every tape down to `least` of the peak: the bits, the peak, times that only grow. Says whether some plan had
// tapes and snapshots.
bool tapes_and_snapshots(Tensor (*f)(const Tensors&), const Tensors& in, double least) {
  const auto step = [&](const Tensors& x) { return value_and_grad(f)(x); };
  const Tensors wanted = copies(flatten(step(in)));
  auto roomy = compile(step);
  expect_bits(flatten(roomy(in)), wanted);
  Compiled& all = roomy.plan_for(in);
  const std::string line = explain_loops(all.graph(), {}).at(0);
  EXPECT_NE(line.find("the tapes of all steps"), std::string::npos) << line;
  EXPECT_NE(line.find("; 1 forward runs a step (at least 1);"), std::string::npos) << line;
  EXPECT_EQ(all.peak_measured(), all.peak_predicted());
  double last = all.plan().seconds;
  bool both = false;
  for (double fraction = 0.9; fraction >= least; fraction -= 0.1) {
    auto tight = compile(step, {.memory = static_cast<Bytes>(fraction * static_cast<double>(all.peak_predicted()))});
    expect_bits(flatten(tight(in)), wanted);
    Compiled& c = tight.plan_for(in);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_GE(c.plan().seconds, last * (1 - 1e-9)) << fraction;
    last = c.plan().seconds;
    both = both || explain_loops(c.graph(), {}).at(0).find("snapshots or") != std::string::npos;
  }
  return both;
}

TEST(Loops, TapesAreKeptWhereThereIsRoom) {
  tapes_and_snapshots(recurrent, cells(), 0.65);
  EXPECT_TRUE(tapes_and_snapshots(heat, rod(), 0.35));
}

TEST(Loops, NestedLoopsShareTheBudget) {
  const auto f = [](const Tensors& in) {
    return sum(square(scan(12, in[0], [&](const Tensor& s) {
      return 0.5 * in[0] + scan(10, s, [&](const Tensor& u) { return u + 0.1 * tanh(in[1] * u + in[2]); });
    })));
  };
  const Tensors in = rod(512);
  const auto step = [&](const Tensors& x) { return value_and_grad(f)(x); };
  auto roomy = compile(step);
  const Tensors wanted = copies(flatten(roomy(in)));
  expect_bits(wanted, flatten(step(in)));
  for (const double fraction : {0.9, 0.75}) {
    auto tight = compile(step, {.memory = fraction});
    expect_bits(flatten(tight(in)), wanted);
    EXPECT_EQ(tight.plan_for(in).peak_measured(), tight.plan_for(in).peak_predicted());
    const std::vector<std::string> lines = explain_loops(tight.plan_for(in).graph(), {});
    ASSERT_GE(lines.size(), 2u);
    EXPECT_EQ(lines[0].rfind("12 steps of 4.00 KiB in ", 0), 0u) << lines[0];
    EXPECT_EQ(lines[1].rfind("  in each step: 10 steps of 4.00 KiB in ", 0), 0u) << lines[1];
    EXPECT_TRUE(explain_loops(tight.plan_for(in).graph(), {}, "no such name").empty());
  }
}

TEST(Loops, RandomLoopsCompileToTheEagerBits) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    const testing_bodies::RandomLoop loop(seed, 1 + static_cast<int>(seed % 2), 9, 16);
    const auto step = [&](const Tensors& x) { return value_and_grad([&](const Tensors& y) { return loop.loss(y, true); })(x); };
    const Tensors in = loop.inputs();
    const auto eager = step(in);
    const Tensors wanted = flatten(eager);
    for (const Budget& budget : {Budget(), Budget(0.5), Budget::minimum()}) {
      auto f = compile(step, {.memory = budget, .time_limit = 0.1});
      try {
        expect_bits(flatten(f(in)), wanted);
      } catch (const Error& e) {
        ASSERT_EQ(e.kind(), Error::Kind::infeasible) << e.what();
        continue;
      }
      EXPECT_EQ(f.plan_for(in).peak_measured(), f.plan_for(in).peak_predicted());
    }
    if (::testing::Test::HasFailure()) break;
  }
}

// A state that grows until it is large enough, after `trips` steps of at most 400.
Tensor grown(const Tensors& in, double until) {
  const auto last = while_loop([&](const Tensor& x) { return sum(square(x)) < until; },
                               [&](const Tensor& x) { return x * 1.01 + 0.001 * sin(in[1] * x) + 0.01 * in[2]; }, in[0], {.max_trips = 400});
  return sum(square(last.state) * in[1]);
}

TEST(Loops, OfUnknownLengthKeepTheStatesThatFit) {
  const Tensors in = rod(128);
  for (const double until : {0.0, 70.0, 200.0, 1e5}) {
    SCOPED_TRACE(until);
    const auto step = [&](const Tensors& x) { return value_and_grad([&](const Tensors& y) { return grown(y, until); })(x); };
    const Tensors wanted = copies(flatten(step(in)));
    auto roomy = compile(step);
    expect_bits(flatten(roomy(in)), wanted);
    Compiled& all = roomy.plan_for(in);
    EXPECT_EQ(all.peak_measured(), all.peak_predicted());
    EXPECT_EQ(count(all.graph(), while_saving_op), 1);
    EXPECT_EQ(count(all.graph(), while_op) + count(all.graph(), scan_op), 0);
    EXPECT_EQ(explain_loops(all.graph(), {}).at(0).rfind("at most 400 steps of 1.00 KiB in ", 0), 0u) << explain_loops(all.graph(), {}).at(0);
    for (const Bytes budget : {100_KiB, 30_KiB, 16_KiB}) {
      auto tight = compile(step, {.memory = budget, .time_limit = 0.05});
      for (int repeat = 0; repeat < 2; ++repeat) expect_bits(flatten(tight(in)), wanted);
      Compiled& c = tight.plan_for(in);
      EXPECT_EQ(c.peak_measured(), c.peak_predicted());
      EXPECT_LE(c.peak_measured(), budget);
      EXPECT_NE(explain_loops(c.graph(), {}).at(0).find("snapshots and a"), std::string::npos);
    }
  }
}

TEST(Loops, OfUnknownLengthWithAClockAndConstantsThatRepeat) {
  struct Moving {
    Tensor u, time;
  };
  // 0.1 stands in the body twice.
  const auto loss = [](const Tensors& in) {
    const auto last = while_loop([](const Moving& s) { return s.time < 10.0; },
                                 [&](const Moving& s) { return Moving{tanh(s.u * in[1] - 0.1 * s.u * s.u), s.time + 0.1}; },
                                 Moving{in[0], full({}, 0.0, DType::f64)}, {.max_trips = 1000});
    return sum(square(last.state.u));
  };
  const auto step = [&](const Tensors& in) { return value_and_grad(loss)(in); };
  const Tensors in{rod(512)[0], rod(512)[1]};
  const auto eager = step(in);
  auto compiled = compile(step, {.memory = 400'000});  // all states: 4 MB
  Compiled& c = compiled.plan_for(in);
  EXPECT_EQ(count(c.graph(), while_op), 0);
  EXPECT_EQ(count(c.graph(), while_saving_op), 1);
  const auto result = compiled(in);
  expect_bits(result.grad, eager.grad);
  EXPECT_EQ(c.peak_measured(), c.peak_predicted());
}

// What a loop that ends early leaves of its record is no value, and nothing to compare when the loop runs again.
TEST(Loops, OfUnknownLengthRunAgainAreVerified) {
  struct Clocked {
    Tensor x, t;
  };
  const auto loop = [](const Tensor& z, const Tensor& p) {
    return while_loop([](const Clocked& w) { return w.t < 2.0; },
                      [&](const Clocked& w) {
                        return Clocked{sin(w.x * p + 0.1), w.t + 1.0};
                      },
                      Clocked{z, full({}, 0.0, DType::f64)}, {.max_trips = 9})
        .state.x;
  };
  const auto f = value_and_grad([&](const Tensor& p, const Tensor& u) { return sum(square(loop(loop(u, p), p))); });
  const Tensor i = cast(arange(64), DType::f64), p = sin(i * 0.37) * 0.6 + 0.05, u = cos(i * 0.2);
  auto all = compile(f, {.correct = false});
  const Tensor wanted = all(p, u).grad;
  auto least = compile(f, {.memory = Budget::minimum(), .time_limit = 0.1, .correct = false});
  least(p, u);
  const Bytes most = all.plan_for(p, u).peak_measured(), fewest = least.plan_for(p, u).peak_measured();
  int again = 0;
  for (const double part : {0.0, 0.02, 0.5, 0.7}) {
    auto verified = compile(f, {.memory = fewest + static_cast<Bytes>(part * static_cast<double>(most - fewest)), .time_limit = 0.1, .verify = true, .correct = false});
    const Tensor got = verified(p, u).grad;
    EXPECT_EQ(std::memcmp(got.data<double>().data(), wanted.data<double>().data(), 64 * sizeof(double)), 0) << part;
    const plan::Plan& plan = verified.plan_for(p, u).plan();
    std::vector<int> runs(256);
    for (const auto& step : plan.steps)
      if (step.kind == plan::Step::Kind::run && step.id < 256 && ++runs[static_cast<std::size_t>(step.id)] == 2) ++again;
  }
  EXPECT_GT(again, 0);
}

TEST(Loops, OfUnknownLengthInsideStepsAndMoreThanTheMost) {
  const auto f = [](const Tensors& in) {
    const Tensor last = scan(5, in[0], [&](const Tensor& s) {
      return 0.2 * while_loop([&](const Tensor& x) { return sum(square(x)) < 300.0; }, [&](const Tensor& x) { return x * 1.1 + 0.01 * sin(in[1] * x); },
                              s, {.max_trips = 60}).state;
    });
    return sum(square(last));
  };
  const Tensors in = rod(64);
  const auto step = [&](const Tensors& x) { return value_and_grad(f)(x); };
  const Tensors wanted = copies(flatten(step(in)));
  for (const Budget& budget : {Budget(), Budget(40_KiB), Budget::minimum()}) {
    auto compiled = compile(step, {.memory = budget});
    expect_bits(flatten(compiled(in)), wanted);
    EXPECT_EQ(compiled.plan_for(in).peak_measured(), compiled.plan_for(in).peak_predicted());
  }
  auto endless = compile([&](const Tensors& x) { return value_and_grad([&](const Tensors& y) { return grown(y, 1e9); })(x); }, {.memory = 16_KiB});
  EXPECT_THROW(endless(in), Error);
}

// Steps that differ in time: how long the inner loop is, and which way a branch goes, depends on the data. Every run of one plan has its peak.
TEST(Loops, StepsThatDifferInTimeAreAlikeInBytes) {
  const auto f = [](const Tensors& in) {
    return sum(square(scan(20, in[0], [&](const Tensor& s) {
      const Tensor calm = cond(
          sum(s * in[2]) > 0.0, [&](const Tensor& x) { return x - 0.2 * in[1]; },
          [&](const Tensor& x) { return sin(x) + 0.1 * in[2]; }, s);
      return 0.3 * while_loop([&](const Tensor& x) { return sum(square(x)) < 40.0; },
                              [&](const Tensor& x) { return x * 1.15 + 0.01 * sin(in[1] * x); }, calm,
                              {.max_trips = 80})
                       .state;
    })));
  };
  const auto step = [&](const Tensors& x) { return value_and_grad(f)(x); };
  auto all = compile(step);
  all(rod(64));
  const Bytes most = all.plan_for(rod(64)).peak_predicted();
  for (const Budget& budget : {Budget(most / 2), Budget(most / 4), Budget::minimum()}) {
    auto compiled = compile(step, {.memory = budget, .time_limit = 0.1});
    for (const double scale :
         {0.02, 0.3, 1.0, 9.0}) {  // from many inner steps in the first step to none in it
      Tensors in = rod(64);
      in[0] = scale * in[0];
      const Tensors wanted = copies(flatten(all(in)));
      expect_bits(flatten(compiled(in)), wanted);
      EXPECT_EQ(compiled.plan_for(in).peak_measured(), compiled.plan_for(in).peak_predicted());
    }
  }
}

// A Hessian product runs state and tangent in one loop, whose adjoint is that of both: snapshots of both, under the same schedule.
TEST(Loops, HessianProductsAreOneLoopAndItsAdjoint) {
  const Tensors in = rod(128);
  const auto over = [&](auto f) { return [f](const Tensors& x) { return hvp(f, x, Tensors{x[1], x[2], x[0]}); }; };
  const auto check = [&](auto step, const std::string& begins, const Op& saving, Bytes budget) {
    const Tensors wanted = copies(flatten(step(in)));
    auto roomy = compile(step);
    expect_bits(flatten(roomy(in)), wanted);
    auto tight = compile(step, {.memory = budget, .time_limit = 0.1});
    expect_bits(flatten(tight(in)), wanted);
    Compiled& c = tight.plan_for(in);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_LE(c.peak_measured(), budget);
    EXPECT_EQ(count(c.graph(), scan_op) + count(c.graph(), while_op), 0);
    EXPECT_EQ(count(c.graph(), saving), 1);
    const std::vector<std::string> lines = explain_loops(c.graph(), {});
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].rfind(begins, 0), 0u) << lines[0];
  };
  check(over(heat), "60 steps of 2.00 KiB in ", scan_saving_op, 60_KiB);
  check(over([](const Tensors& x) { return grown(x, 1e5); }), "at most 400 steps of 2.00 KiB in ", while_saving_op, 80_KiB);
}

// The derivative of a gradient: three loops read the states of the first, which keeps them once.
TEST(Loops, GradientsOfGradientsKeepStatesOnce) {
  const Tensors in = rod(128);
  const auto step = [](const Tensors& x) {
    return grad([](const Tensors& y) {
      const Tensors g = grad(heat)(y);
      return sum(square(g[0])) + sum(g[1]) + sum(g[2]);
    })(x);
  };
  const Tensors wanted = copies(flatten(step(in)));
  auto roomy = compile(step);
  expect_bits(flatten(roomy(in)), wanted);
  Compiled& all = roomy.plan_for(in);
  EXPECT_EQ(count(all.graph(), scan_saving_op), 1);
  std::int64_t forward = 0;
  for (const Node& n : all.graph().nodes) forward += n.op == &scan_op && !loop_shape(n).reverse ? 1 : 0;
  EXPECT_EQ(forward, 1);
  auto tight = compile(step, {.memory = all.peak_predicted() * 3 / 4, .time_limit = 0.1});
  expect_bits(flatten(tight(in)), wanted);
  EXPECT_EQ(tight.plan_for(in).peak_measured(), tight.plan_for(in).peak_predicted());
}

TEST(Loops, BranchesLoopsOfUnknownLengthAndCallsCompile) {
  const auto f = [](const Tensors& in) {
    const Tensor turned = cond(sum(in[0]) > 0.0, [](const Tensor& x) { return x * 2.0; }, [](const Tensor& x) { return sin(x); }, in[0]);
    const auto grown = while_loop([](const Tensor& x) { return sum(square(x)) < 1000.0; }, [&](const Tensor& x) { return x * 1.5 + 0.01 * in[1]; }, turned,
                                  {.max_trips = 50});
    return sum(call("cube", [](const Tensor& x) { return x * x * x; }, grown.state));
  };
  const Tensors in = rod(100);
  const auto step = [&](const Tensors& x) { return value_and_grad(f)(x); };
  auto compiled = compile(step);
  expect_bits(flatten(compiled(in)), flatten(step(in)));
  EXPECT_EQ(count(compiled.plan_for(in).graph(), call_op), 0);
  auto tight = compile(step, {.memory = Budget::minimum()});
  expect_bits(flatten(tight(in)), flatten(step(in)));
}

// A derivative makes another loop of the one that was named: pins and explain find it all the same.
TEST(Loops, ResultsKeepTheirNames) {
  const auto f = [](const Tensors& in) {
    const auto wind = [&](const Tensor& u) { return u + 0.1 * tanh(roll(u, 1, 0) * in[1]); };
    const Tensor between = name(scan(9, in[0], wind), "between");
    const auto behind = while_loop([](const Tensor& u) { return sum(square(u)) < 400.0; },
                                   [](const Tensor& u) { return 1.3 * u; }, between, {.max_trips = 40});
    return sum(square(name(behind.state, "behind"))) + sum(sin(between));
  };
  const Tensors in = rod(64);
  const auto step = [&](const Tensors& x) { return value_and_grad(f)(x); };
  auto pinned = compile(step, {.memory = 0.9, .time_limit = 0.1, .pins = {{"between", keep}, {"behind", keep}}});
  expect_bits(flatten(pinned(in)), flatten(step(in)));
  EXPECT_NE(pinned.plan_for(in).explain("between"), "");
}

TEST(Loops, SecondDerivativesCompile) {
  const Tensors in = rod(32);
  const auto product = [](const Tensors& x) { return hvp(heat, x, map_tensors(x, [](const Tensor& t) { return cos(t); })); };
  auto compiled = compile(product);
  expect_bits(compiled(in), product(in));
}

}  // namespace
}  // namespace tidemark
