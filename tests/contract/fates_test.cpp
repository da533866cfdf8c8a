// explain against the plan's own steps, for every fate that a value can have: what ran for it, what that took, how long it was away.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/compile/small_nets.h"
#include "tests/contract/zoo_cases.h"
#include "tidemark/compile/explain.h"
#include "tidemark/compile/makers.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
bool has(const std::vector<plan::BufferId>& list, plan::BufferId b) {
  return std::find(list.begin(), list.end(), b) != list.end();
}

using small_nets::gated;
using small_nets::Net;
using small_nets::residual;
using small_nets::reversible;

Net net_of(int layers) {
  Net p;
  for (int i = 0; i < layers; ++i) p.w.push_back(full({24, 24}, 0.01 * (i + 1)));
  return p;
}
Tensor input() { return full({67, 24}, 0.5); }

Tensor plain(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (std::size_t i = 0; i < p.w.size(); ++i) h = name(relu(matmul(h, p.w[i])), "h." + std::to_string(i));
  return mean(square(h));
}

// What the steps say of the buffers of one value.
struct Seen {
  int made = 0, updated = 0, uses = 0, fetched = 0;
  bool away = false;  // between its first and its last use
};
Seen seen_in(const plan::Problem& problem, const plan::Plan& plan, const std::set<plan::BufferId>& buffers) {
  Seen seen;
  bool began = false, live = false, was_away = false;
  std::set<plan::BufferId> leaving;
  for (const plan::Step& s : plan.steps) {
    if (s.kind != plan::Step::Kind::run) {
      if (buffers.count(s.id) == 0) continue;
      if (s.kind == plan::Step::Kind::evict) leaving.insert(s.id);
      if (s.kind == plan::Step::Kind::drop || (s.kind == plan::Step::Kind::wait && leaving.erase(s.id) > 0))
        live = false;
      if (s.kind == plan::Step::Kind::fetch) ++seen.fetched, live = began = true;
      continue;
    }
    const plan::Task& task = problem.tasks[at(s.id)];
    for (const plan::BufferId b : buffers) {
      seen.uses += has(task.reads, b);
      seen.made += has(task.writes, b);
      seen.updated += has(task.writes, b) && has(task.reads, b);
      if (has(task.reads, b)) seen.away = seen.away || was_away;
      if (has(task.writes, b)) live = began = true;
    }
    was_away = was_away || (began && !live);
    for (const auto& [from, to] : s.in_place) live = live && buffers.count(from) == 0;
  }
  return seen;
}

bool has_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

using Kind = Way::Kind;

// Returns the fates that were met.
std::set<Kind> expect_true(const Posed& posed, const plan::Plan& plan) {
  const plan::Problem& problem = posed.problem;
  EXPECT_EQ(plan::check(problem, plan), "");
  std::vector<int> runs(problem.tasks.size(), 0);
  double total = 0;
  for (const plan::Step& s : plan.steps) {
    if (s.kind != plan::Step::Kind::run) continue;
    ++runs[at(s.id)];
    total += problem.tasks[at(s.id)].seconds;
  }
  // A second buffer of a value is a pin's: what makes it is no part of running everything once.
  const auto second = [&](const plan::Task& t) {
    return std::any_of(t.writes.begin(), t.writes.end(), [&](plan::BufferId b) {
      const ValueId v = posed.binding.value_of_buffer[at(b)];
      return v >= 0 && posed.binding.buffer_of_value[at(v)] != b;
    });
  };
  for (const plan::Task& t : problem.tasks) total -= t.optional || second(t) ? 0 : t.seconds;
  std::set<Kind> kinds;
  double told = 0;  // values that share a run share its time
  for (const Explanation& e : explain(posed, plan, "*")) {
    std::set<plan::BufferId> buffers{e.buffer};
    const ValueId v = posed.binding.value_of_buffer[at(e.buffer)];
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      if (posed.binding.value_of_buffer[b] == v) buffers.insert(static_cast<plan::BufferId>(b));
    }
    const Seen seen = seen_in(problem, plan, buffers);
    EXPECT_EQ(e.made, seen.made) << e.text;
    EXPECT_EQ(e.updated, seen.updated) << e.text;
    EXPECT_EQ(e.uses, seen.uses) << e.text;
    EXPECT_TRUE(!seen.away || e.resident || e.gone > 0) << e.text;
    int again = 0, fetched = 0;
    for (const Way& w : e.ways) {
      kinds.insert(w.kind);
      if (w.kind == Kind::moved) {
        fetched += w.times;
        EXPECT_GT(w.seconds, 0);
        EXPECT_THAT(e.text, testing::HasSubstr("moved to " + w.by));
        continue;
      }
      EXPECT_FALSE(w.tasks.empty()) << e.text;
      if (w.tasks.empty()) continue;
      const bool gives_it_back =
          w.kind == Kind::recomputed || w.kind == Kind::inverted || w.kind == Kind::encoded;
      if (gives_it_back) again += w.times;
      if (w.kind == Kind::recomputed) {
        for (const plan::TaskId t : w.tasks)
          EXPECT_TRUE(has(problem.tasks[at(t)].writes, e.buffer) || buffers.size() > 1);
      } else {
        EXPECT_EQ(w.times, runs[at(w.tasks.back())]) << e.text;
      }
      told += w.seconds;
    }
    EXPECT_EQ(fetched, seen.fetched) << e.text;
    EXPECT_TRUE(e.resident || again == std::max(seen.made - seen.updated - 1, 0)) << e.text;
    EXPECT_EQ(e.ways.empty() && !e.resident && e.uses > 0 && e.updated == 0,
              e.text.find("kept until its last use") != std::string::npos)
        << e.text;
    EXPECT_EQ(e.in_place, std::any_of(plan.steps.begin(), plan.steps.end(),
                                      [&](const plan::Step& s) {
                                        return std::any_of(
                                            s.in_place.begin(), s.in_place.end(), [&](const auto& p) {
                                              return buffers.count(p.first) + buffers.count(p.second) > 0;
                                            });
                                      }))
        << e.text;
  }
  EXPECT_NEAR(told, total, 1e-12 + 1e-9 * std::abs(total))
      << "every second beyond one run of each task is some value's";
  return kinds;
}

// Each maker that is offered, taken.
template <typename F>
void expect_every_maker_told(F loss, Kind kind, const std::vector<std::string>& allow = {}) {
  auto f = compile(value_and_grad(loss), {.device = cpu({.threads = 2})});
  Posed posed = pose(f.plan_for(net_of(4), input()).graph(), {.threads = 2});
  add_makers(posed, {.lossless = allow.empty(), .allow = allow, .threads = 2});
  std::set<Kind> kinds;
  for (const Maker& m : posed.makers) {
    const Maker* one[] = {&m};
    plan::Plan plan =
        plan::solve(committed(posed.problem, one), {.time_limit = 0.02, .makers = false, .bounds = false});
    plan.problem_hash = plan::hash(posed.problem);
    plan.status = plan::Plan::Status::feasible;
    const std::set<Kind> met = expect_true(posed, plan);
    kinds.insert(met.begin(), met.end());
  }
  EXPECT_EQ(kinds.count(kind), 1u) << "no value of this fate";
}

TEST(Fates, OfMakersAreWhatRan) {
  expect_every_maker_told(residual, Kind::mask);
  expect_every_maker_told(gated, Kind::in_consumer);
  expect_every_maker_told(reversible, Kind::inverted);
  expect_every_maker_told(plain, Kind::encoded);
  expect_every_maker_told(plain, Kind::encoded, {"bf16"});
}

// Between the least that is found and what keeping everything takes.
template <typename F, typename... Args>
Budget half_way(F f, int state, const Args&... args) {
  auto compiled = compile(f, {.state = state});
  const Compiled& all = compiled.plan_for(args...);
  return (all.smallest(0.2).plan.peak + all.plan().peak) / 2;
}

template <typename F, typename... Args>
std::set<Kind> planned(F f, const CompileOptions& options, const Args&... args) {
  auto compiled = compile(f, options);
  const Compiled& c = compiled.plan_for(args...);
  return expect_true(c.posed(), c.plan());
}

TEST(Fates, OfPinnedAndMovedValuesAreWhatRan) {
  const std::set<Kind> none, again{Kind::recomputed};
  EXPECT_EQ(planned(value_and_grad(plain), {}, net_of(6), input()), none);
  CompileOptions options{.pins = {{"h.*", recompute}}, .correct = false};
  EXPECT_EQ(planned(value_and_grad(plain), options, net_of(6), input()), again);
  auto f = compile(value_and_grad(plain), options);
  const Compiled& c = f.plan_for(net_of(6), input());
  EXPECT_THAT(c.explain("h.2"), testing::HasSubstr("made 1 time again"));
  EXPECT_THAT(c.explain("h.2"), testing::HasSubstr("are free for"));
  options = {.memory = half_way(value_and_grad(plain), 0, net_of(6), input()),
             .time_limit = 0.2,
             .tiers = {host(64_MiB)},
             .makers = false};
  EXPECT_EQ(planned(value_and_grad(plain), options, net_of(6), input()).count(Kind::moved), 1u);
}

TEST(Fates, OfTheZoosModelsAreWhatRan) {
  for (const ModelCase& c : zoo_cases()) {
    if (!has_any(c.model, {"gpt2-124m", "mobilenet-v2"})) continue;
    const TrainSetting setting(c);
    const Budget part = half_way(setting.step, 1, setting.start(), setting.batch);
    for (const Budget& budget : {Budget(), part, Budget::minimum()}) {
      for (const bool tier : {false, true}) {
        CompileOptions options{.memory = budget, .state = 1, .time_limit = 0.2};
        if (tier) options.tiers = {host(64_MiB)};
        auto f = compile(setting.step, options);
        const Compiled& compiled = f.plan_for(setting.start(), setting.batch);
        expect_true(compiled.posed(), compiled.plan());
      }
    }
  }
}

}  // namespace
}  // namespace tidemark
