// Other ways to have a value again: each is used where it helps, changes no bit unless it was allowed to, and says so.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/makers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/compile/small_nets.h"
#include "tidemark/base/random.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/loops.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/plan/smallest.h"

namespace tidemark {
namespace {

using small_nets::gated;
using small_nets::Net;
using small_nets::residual;
using small_nets::reversible;

constexpr std::int64_t kWidth = 24, kWide = 256;  // wide: products that take longer than codecs
Net net_of(int layers, std::int64_t width = kWidth) {
  Net p;
  for (int i = 0; i < layers; ++i) {
    std::vector<float> data(static_cast<std::size_t>(width * width));
    for (std::size_t j = 0; j < data.size(); ++j)
      data[j] = static_cast<float>(static_cast<int>((j * 37 + static_cast<std::size_t>(i) * 11) % 101) - 50) /
                (width == kWide ? 500.0f : 200.0f);
    p.w.push_back(tensor(data, {width, width}));
  }
  return p;
}
Tensor input(std::int64_t rows = 501, std::int64_t width = kWidth) {
  std::vector<float> data(static_cast<std::size_t>(rows * width));
  for (std::size_t j = 0; j < data.size(); ++j)
    data[j] = static_cast<float>(static_cast<int>((j * 29) % 97) - 48) / 50.0f;
  return tensor(data, {rows, width});
}

// What relu gives is multiplied: all of it is wanted again.
Tensor plain(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& w : p.w) h = relu(matmul(h, w));
  return mean(square(h));
}

// Affine couplings: each half is scaled and shifted by functions of the other.
Tensor affine(const Net& p, const Tensor& x) {
  Tensor a = x, b = x * 0.5;
  for (std::size_t i = 0; i + 1 < p.w.size(); i += 2) {
    a = a * exp(0.5 * tanh(matmul(b, p.w[i]))) + tanh(matmul(b, p.w[i + 1]));
    b = b * exp(0.5 * tanh(matmul(a, p.w[i + 1]))) + tanh(matmul(a, p.w[i]));
  }
  return mean(square(a) + square(b));
}
// What goes into softplus is wanted again for its derivative, what comes out for the product. Few elements are so near to 0 that what
// comes out has not enough digits of them.
Tensor activated(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& w : p.w) h = 2.0 * softplus(matmul(h, w));
  return mean(square(h));
}

std::vector<float> bits(const Tensor& t) { return {t.data<float>().begin(), t.data<float>().end()}; }

int runs(const Compiled& c, const std::string& kind) {
  int n = 0;
  for (const plan::Step& s : c.plan().steps) {
    n += s.kind == plan::Step::Kind::run &&
         c.problem().tasks[static_cast<std::size_t>(s.id)].kind.find(kind) != std::string::npos;
  }
  return n;
}

// Half way between the least that recomputing alone needs and what keeping everything does, whatever the kernels take.
// What pays depends on how many threads there are.
std::shared_ptr<Device> two_threads() {
  static const std::shared_ptr<Device> device = cpu({.threads = 2});
  return device;
}

template <typename F>
Budget half_way(F loss, const Net& p, const Tensor& x) {
  auto all = compile(value_and_grad(loss), {.device = two_threads()});
  const Compiled& c = all.plan_for(p, x);
  return (c.smallest(0.3).plan.peak + c.plan().peak) / 2;
}

template <typename F>
void expect_same_bits(F loss, CompileOptions options, const std::string& kind) {
  const Net p = net_of(8);
  const Tensor x = input();
  const auto wanted = compile(value_and_grad(loss), {.device = two_threads()})(p, x);
  options.memory = half_way(loss, p, x);
  options.device = two_threads();
  auto f = compile(value_and_grad(loss), options);
  const auto got = f(p, x);
  const Compiled& c = f.plan_for(p, x);
  EXPECT_GT(runs(c, kind), 0) << kind;
  EXPECT_FALSE(c.plan().lossy);
  EXPECT_EQ(c.peak_measured(), c.peak_predicted());
  EXPECT_LE(c.peak_measured(), c.plan().budget);
  EXPECT_EQ(bits(got.value), bits(wanted.value));
  for (std::size_t i = 0; i < p.w.size(); ++i)
    EXPECT_EQ(bits(got.grad.w[i]), bits(wanted.grad.w[i])) << "layer " << i;
  EXPECT_EQ(c.account().most_live, c.plan().live_peak);
}

TEST(Makers, MasksStandInForWhatOnlyTheSignIsWantedOf) {
  expect_same_bits(residual, {.time_limit = 0.6, .verify = true}, "make mask");
}

TEST(Makers, AreFasterThanRecomputingAlone) {
  const Net p = net_of(8);
  const Tensor x = input();
  const Budget budget = half_way(residual, p, x);
  auto with =
      compile(value_and_grad(residual), {.memory = budget, .device = two_threads(), .time_limit = 0.6});
  auto without = compile(value_and_grad(residual),
                         {.memory = budget, .device = two_threads(), .time_limit = 0.6, .makers = false});
  EXPECT_LT(with.plan_for(p, x).plan().seconds, without.plan_for(p, x).plan().seconds);
  EXPECT_EQ(with.plan_for(p, x).plan().budget, without.plan_for(p, x).plan().budget);
}

TEST(Makers, LossyOnesNeedTheUsersWord) {
  const Net p = net_of(8, kWide);
  const Tensor x = input(1030, kWide);
  const auto wanted = compile(value_and_grad(plain), {.device = two_threads()})(p, x);
  const Budget budget = half_way(plain, p, x);
  // A gradient of w is h' d, where h alone is rounded: signs, and with them the masks in d, are kept. So it is off by what h is, which is
  // at most half of bf16's last place, or a 254th of the largest of 64 elements, three to four times their mean.
  for (const auto& [name, off] : {std::pair{"bf16", 1.0 / 512}, std::pair{"int8", 4.0 / 254}}) {
    auto f = compile(value_and_grad(plain),
                     {.memory = budget, .device = two_threads(), .time_limit = 0.6, .allow = {name}});
    const auto got = f(p, x);
    const Compiled& c = f.plan_for(p, x);
    ASSERT_GT(runs(c, std::string("decode ") + name), 0);
    EXPECT_TRUE(c.plan().lossy);
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_EQ(bits(got.value), bits(wanted.value)) << "the forward pass has the values themselves";
    double error = 0, size = 0;
    for (std::size_t i = 0; i < p.w.size(); ++i) {
      const std::vector<float> a = bits(got.grad.w[i]), b = bits(wanted.grad.w[i]);
      for (std::size_t j = 0; j < a.size(); ++j) error += std::abs(a[j] - b[j]), size += std::abs(b[j]);
    }
    EXPECT_LT(error, off * size) << name;
    EXPECT_GT(error, 0) << name;
  }
  auto never = compile(value_and_grad(plain), {.memory = budget, .device = two_threads(), .time_limit = 0.3});
  EXPECT_FALSE(never.plan_for(p, x).plan().lossy);
  auto unknown =
      compile(value_and_grad(plain), {.memory = budget, .device = two_threads(), .allow = {"zip"}});
  EXPECT_THROW(unknown(p, x), Error);
  auto unlimited = compile(value_and_grad(plain), {.device = two_threads(), .allow = {"zip"}});
  EXPECT_THROW(unlimited(p, x), Error);
}

// a is dear, b cheap; between them and their second use c takes all the room. Tasks 1 and 5 are a codec for a.
plan::Problem dear_and_cheap() {
  plan::Problem p;
  p.buffers = {{.name = "a", .bytes = 100}, {.name = "b", .bytes = 10}, {.name = "c", .bytes = 160},
               {.name = "d", .bytes = 1},   {.name = "e", .bytes = 1},  {.name = "code", .bytes = 30}};
  p.tasks = {{.name = "a", .writes = {0}, .seconds = 50},
             {.name = "encode", .reads = {0}, .writes = {5}, .seconds = 1, .optional = true},
             {.name = "b", .reads = {0}, .writes = {1}, .seconds = 1},
             {.name = "c", .reads = {1}, .writes = {2}, .seconds = 1},
             {.name = "d", .reads = {2}, .writes = {3}, .seconds = 1},
             {.name = "decode", .reads = {5}, .writes = {0}, .seconds = 1, .optional = true},
             {.name = "e", .reads = {0, 3}, .writes = {4}, .seconds = 1}};
  p.outputs = {4};
  return p;
}

TEST(Makers, CodecsTakeThePlaceOfWhatAPlanRunsAgain) {
  const plan::Problem p = dear_and_cheap();
  const Maker codec{.method = "codec", .buffer = 0, .run = {1, 5}, .saved = 70, .seconds = 2};
  const plan::Options options{.budget = 210, .time_limit = 0.1, .makers = false};
  const plan::Plan again = plan::solve(p, options);
  ASSERT_DOUBLE_EQ(again.seconds, 104);
  const Maker* makers[] = {&codec};
  const std::optional<plan::Plan> coded = substitute(p, makers, again, options);
  ASSERT_TRUE(coded.has_value());
  EXPECT_EQ(plan::check(p, *coded), "");
  EXPECT_DOUBLE_EQ(coded->seconds, 56);
  EXPECT_FALSE(substitute(p, makers, again, {.budget = 185}).has_value()) << "no room for the code";
  EXPECT_FALSE(substitute(p, makers, plan::solve(p, {.makers = false}), {}).has_value())
      << "nothing is run again";
}

TEST(Makers, AreTakenWhereTheyPayAndLeftWhereTheyDoNot) {
  plan::Problem p = dear_and_cheap();
  plan::Problem dear = p;
  for (const std::size_t t : {1, 5}) dear.tasks[t].seconds = 1000;
  for (const auto& [problem, wanted] : {std::pair{&p, 56.0}, std::pair{&dear, 104.0}}) {
    const std::vector<Maker> codec{{.method = "codec",
                                    .buffer = 0,
                                    .run = {1, 5},
                                    .saved = 70,
                                    .seconds = problem->tasks[1].seconds + problem->tasks[5].seconds}};
    const plan::Options options{.budget = 210, .time_limit = 10, .effort = 20};
    EXPECT_DOUBLE_EQ(solve_with(*problem, codec, options).plan.seconds, wanted);
  }
}

// Looking at makers takes time, which the search for any plan at all at a tight budget would have needed.
TEST(Makers, WhatFitsWithoutThemFitsWithThem) {
  const Net p = net_of(60);
  auto f = compile(value_and_grad(residual), {.device = two_threads()});
  const Posed posed = pose(f.plan_for(p, input()).graph(), {.threads = 2});
  Posed offered = posed;
  add_makers(offered, {.threads = 2});
  ASSERT_FALSE(offered.makers.empty());
  const Bytes all = f.plan_for(p, input()).plan().peak,
              least = plan::smallest_peak(posed.problem, {.time_limit = 0.3}).plan.peak;
  int fit = 0;
  for (const int k : {6, 10, 500}) {
    const auto planned = [&](const Posed& of, double seconds) {
      return solve_with(of.problem, of.makers,
                        {.budget = least + k * (all - least) / 1000, .time_limit = seconds})
          .plan;
    };
    if (!has_plan(planned(posed, 0.04))) continue;
    ++fit;
    const plan::Plan plan = planned(offered, 0.2);  // times are the machine's
    EXPECT_TRUE(has_plan(plan)) << k;
    EXPECT_EQ(plan::check(offered.problem, plan), "");
  }
  EXPECT_GT(fit, 0);
}

TEST(Makers, ACodecThatDoesNotFitStartsTheStepOverWithoutIt) {
  const Net p = net_of(8, kWide);
  const Tensor x = input(1030, kWide);
  const auto wanted = compile(value_and_grad(plain), {.device = two_threads()})(p, x);
  auto f = compile(value_and_grad(plain),
                   {.memory = half_way(plain, p, x), .device = two_threads(), .time_limit = 0.6});
  Compiled& c = f.plan_for(p, x);
  ASSERT_GT(runs(c, "encode zeros"), 0);
  const Bytes budget = c.plan().budget;
  const auto got = f(p, x);
  for (std::size_t i = 0; i < p.w.size(); ++i) EXPECT_EQ(bits(got.grad.w[i]), bits(wanted.grad.w[i]));
  // All positive: nothing that relu gives is zero.
  Net positive = p;
  for (Tensor& w : positive.w) w = full({kWide, kWide}, 0.005);
  const Tensor ones = full({1030, kWide}, 1.0);
  const auto dense = compile(value_and_grad(plain), {.device = two_threads()})(positive, ones);
  const auto again = f(positive, ones);
  ASSERT_EQ(c.notes().size(), 1u);
  EXPECT_NE(c.notes()[0].find("did not fit its slot"), std::string::npos) << c.notes()[0];
  EXPECT_EQ(runs(c, "encode zeros"), 0);
  EXPECT_LE(c.peak_measured(), budget);
  EXPECT_EQ(c.peak_measured(), c.peak_predicted());
  for (std::size_t i = 0; i < p.w.size(); ++i) EXPECT_EQ(bits(again.grad.w[i]), bits(dense.grad.w[i]));
  // Its predictions are checked as any plan's are, and no plan that comes of that takes up such a codec again.
  for (int run = 0; run < 40; ++run) {
    const auto later = f(positive, ones);
    c.wait_for_correction();
    ASSERT_EQ(bits(later.grad.w[0]), bits(dense.grad.w[0])) << run;
    ASSERT_EQ(runs(c, "encode zeros"), 0) << run;
    ASSERT_EQ(c.peak_measured(), c.peak_predicted());
    ASSERT_EQ(plan::check(c.problem(), c.plan()), "");
  }
  // After a correction it takes some runs to measure anew.
  EXPECT_TRUE(c.prediction().measured > 0 || c.prediction().corrections > 0);
  EXPECT_EQ(c.notes().size(), 1u);
}

// A loop runs its step as one task, which cannot start over: no codec is posed inside.
TEST(Makers, NoneAreInsideTheStepsOfLoops) {
  const auto f = value_and_grad([](const Tensor& w, const Tensor& x) {
    return sum(square(scan(12, x, [&](const Tensor& u) { return relu(matmul(relu(matmul(u, w)), w)) + u; })));
  });
  const Tensor w = full({64, 64}, -0.01), x = full({128, 64}, 0.5);
  auto all = compile(f, {.device = two_threads(), .correct = false});
  const Graph& g = all.plan_for(w, x).graph();
  PoseOptions options{.threads = 2, .regions = std::make_shared<RegionCache>()};
  int steps = 0;
  for (const Node& n : g.nodes) {
    if (!is_loop(*n.op)) continue;
    for (const Graph& region : n.regions) {
      for (const Bytes budget : {RegionCache::kWhatever, RegionCache::kLeast}) {
        const PlannedRegion& planned = options.regions->at(region, budget, options);
        EXPECT_TRUE(planned.posed->makers.empty());
        for (const auto& kernel : planned.posed->binding.kernel_of_task) EXPECT_FALSE(kernel->can_overflow());
        ++steps;
      }
    }
  }
  EXPECT_GT(steps, 0);
}

// Whatever the solver would choose: each maker that is offered gives the bits that it stands in for.
template <typename F>
void expect_every_maker_exact(F loss, const std::vector<std::string>& methods,
                              const std::vector<std::string>& allow = {}) {
  const Net p = net_of(4);
  const Tensor x = input(67);
  const auto wanted = compile(value_and_grad(loss), {.device = two_threads()})(p, x);
  auto f = compile(value_and_grad(loss), {.device = two_threads()});
  Posed posed = pose(f.plan_for(p, x).graph(), {.threads = 2});
  add_makers(posed, {.allow = allow, .threads = 2});
  ASSERT_EQ(plan::verify(posed.problem), "");
  std::vector<std::string> seen;
  for (const Maker& m : posed.makers) {
    seen.push_back(m.method);
    const Maker* one[] = {&m};
    const plan::Problem taken = committed(posed.problem, one);
    ASSERT_EQ(plan::verify(taken), "") << m.method;
    const plan::Plan plan = plan::solve(taken, {.time_limit = 0.02, .makers = false});
    ASSERT_EQ(plan::check(taken, plan), "");
    Executor executor(std::make_shared<const Program>(lower(taken, plan, posed.binding)),
                      cpu({.threads = 2}));
    if (!m.lossy) executor.verify_repeats();
    std::vector<void*> residents;
    for (const Tensor& t : p.w) residents.push_back(t.storage()->data());
    residents.push_back(x.storage()->data());
    const bool fits = executor.run(residents);
    EXPECT_TRUE(fits || m.method == "zeros" || m.method == "zstd")
        << m.method << " of " << posed.problem.buffers[static_cast<std::size_t>(m.buffer)].name
        << " overflowed";
    if (!fits) continue;
    const auto* value = static_cast<const float*>(executor.output(0, residents));
    EXPECT_EQ(value[0], bits(wanted.value)[0]);
    for (std::size_t i = 0; i < p.w.size(); ++i) {
      const auto* g = static_cast<const float*>(executor.output(i + 1, residents));
      if (m.lossy) {
        const std::vector<float> b = bits(wanted.grad.w[i]);
        double error = 0, size = 0;
        for (std::size_t j = 0; j < b.size(); ++j) error += std::abs(g[j] - b[j]), size += std::abs(b[j]);
        // How near depends on the data for a low rank, whose masks are others too.
        EXPECT_TRUE(std::isfinite(error) && (error < 0.5 * size || m.method == "low_rank"))
            << m.method << " " << error / size;
        continue;
      }
      EXPECT_EQ(std::vector<float>(g, g + kWidth * kWidth), bits(wanted.grad.w[i]))
          << m.method << " of " << posed.problem.buffers[static_cast<std::size_t>(m.buffer)].name << " layer "
          << i;
    }
  }
  for (const std::string& method : methods)
    EXPECT_NE(std::find(seen.begin(), seen.end(), method), seen.end()) << method << " is not offered";
}

TEST(Makers, EachGivesTheBitsOfWhatItStandsInFor) {
  expect_every_maker_exact(residual, {"mask"});
  expect_every_maker_exact(plain, {"zeros"});
  expect_every_maker_exact(gated, {"in consumer"});
  expect_every_maker_exact(reversible, {"inverse"});
  expect_every_maker_exact(affine, {"inverse"});
  expect_every_maker_exact(activated, {"inverse"});
}

// Whichever are taken, the list is an order in which the rest can run: a factor of what another maker may make comes behind it.
TEST(Makers, AnySetOfThemMakesAProblem) {
  const Net p = net_of(5);
  const Tensor x = input(67);
  std::set<std::string> methods;
  for (const auto loss : {residual, gated, reversible, plain, affine, activated}) {
    auto f = compile(value_and_grad(loss), {.device = two_threads()});
    Posed posed = pose(f.plan_for(p, x).graph(), {.threads = 2});
    add_makers(posed, {.threads = 2});
    Rng rng(7);
    for (int k = 0; k < 100; ++k) {
      std::vector<const Maker*> set;
      for (const Maker& m : posed.makers) {
        methods.insert(m.method);
        if (k == 0 || rng.below(2) == 0)
          set.insert(
              set.begin() + static_cast<std::ptrdiff_t>(rng.below(static_cast<std::int64_t>(set.size()) + 1)),
              &m);
      }
      EXPECT_EQ(plan::verify(committed(posed.problem, set)), "");
    }
  }
  for (const char* method : {"factor", "in consumer", "inverse", "mask", "zeros"})
    EXPECT_TRUE(methods.contains(method)) << method;
}

TEST(Makers, LossyOnesGiveAboutWhatTheyStandInFor) {
  for (const char* name : {"bf16", "f16", "fp8", "int8", "int4", "low_rank"})
    expect_every_maker_exact(plain, {name}, {name});
  expect_every_maker_exact(residual, {"delta"}, {"delta"});
  expect_every_maker_exact(affine, {"inverse"}, {"inverse"});
}

TEST(Makers, ZstdIsUsedByNameAndChangesNoBit) {
  const Net p = net_of(4);
  auto f = compile(value_and_grad(gated), {.memory = half_way(gated, p, input(67)),
                                           .device = two_threads(),
                                           .time_limit = 0.1,
                                           .allow = {"zstd"}});
  try {
    EXPECT_FALSE(f.plan_for(p, input(67)).plan().lossy);
  } catch (const Error& e) {
    // Built without it.
    EXPECT_EQ(e.kind(), Error::Kind::usage);
    return;
  }
  expect_every_maker_exact(gated, {"zstd"}, {"zstd"});
}

}  // namespace
}  // namespace tidemark
