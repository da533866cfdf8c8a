// Bounds and their proofs against the true optimum of tiny problems with every feature.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exhaustive.h"
#include "parts.h"
#include "random_problem.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cut.h"
#include "tidemark/plan/gap_bound.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/stages.h"

namespace tidemark::plan {
namespace {

// Random problems with each feature on or off by the seed, but without tiers.
Problem tiny(std::uint64_t seed, int most) {
  Rng rng(seed * 77 + 5);
  RandomProblem shape;
  shape.tasks = static_cast<int>(3 + rng.below(most - 2));
  shape.residents = static_cast<int>(rng.below(3));
  choose_features(rng, 2, shape);
  shape.lossy = false;
  shape.tiers = false;
  return random_problem(seed, shape);
}

struct Tally {
  int problems = 0, planned = 0, infeasible = 0, above_floor = 0, tight = 0, too_large = 0, peak_tight = 0,
      chains = 0, chains_above = 0, cases = 0, cases_above = 0, gaps = 0, gaps_above = 0;
};

// Any moments in line, not only those that a search would choose.
void several_moments(const Problem& p, Bytes budget, double optimum, std::uint64_t seed, Tally& tally) {
  if (!stages_available()) return;
  const Values values(p);
  Rng rng(seed);
  std::vector<TaskId> moments;
  for (TaskId t = 0; t < values.tasks(); ++t) {
    if (!values.sole[static_cast<std::size_t>(t)] || rng.below(3) == 0) continue;
    if (moments.empty() || Moment(values, t).before[static_cast<std::size_t>(moments.back())])
      moments.push_back(t);
  }
  if (moments.size() > 4) moments.erase(moments.begin(), moments.end() - 4);
  if (moments.size() < 2) return;
  const StageBound b = bound_stages(values, moments, budget, 10'000);
  ASSERT_LE(b.seconds, optimum + 1e-9 * (1 + optimum)) << "seed " << seed;
  ++tally.chains;
  tally.chains_above += b.seconds > values.floor_seconds + 1e-9 ? 1 : 0;
  Plan plan;
  plan.budget = budget;
  if (b.seconds <= 0) return;
  plan.seconds_bound = b.seconds;
  plan.proof.json = proof_json(std::span(&b.certificate, 1), nullptr);
  ASSERT_EQ(verify_proof(p, plan), "") << "seed " << seed << "\n" << plan.proof.json;
}

// At up to four moments, any at which most is said to be live.
void over_gaps(const Problem& p, Bytes budget, double optimum, std::uint64_t seed, Tally& tally) {
  const Values values(p);
  Rng rng(seed * 7 + 1);
  std::vector<TaskId> sole;
  std::vector<Bytes> live;
  for (TaskId t = 0; t < values.tasks(); ++t) {
    if (values.sole[static_cast<std::size_t>(t)]) sole.push_back(t);
    live.push_back(rng.below(100));
  }
  const StageBound b =
      gap_bound(values, sole, live, {.budget = budget, .moments = static_cast<int>(1 + rng.below(4))});
  ASSERT_LE(b.seconds, optimum + 1e-9 * (1 + optimum)) << "seed " << seed << "\n" << write_problem(p);
  ++tally.gaps;
  if (b.seconds == 0) return;  // nothing is proven
  ASSERT_GT(b.seconds, values.floor_seconds) << "seed " << seed;
  tally.gaps_above += b.seconds > values.floor_seconds + 1e-9 ? 1 : 0;
  Plan plan;
  plan.budget = budget;
  plan.seconds_bound = b.seconds;
  plan.proof.json = proof_json(std::span(&b.certificate, 1), nullptr);
  ASSERT_EQ(verify_proof(p, plan), "") << "seed " << seed << "\n" << plan.proof.json;
}

// The proof with a number changed, taken from another place, or a row left out or doubled.
std::string tampered(const std::string& json, Rng& rng) {
  std::vector<std::pair<std::size_t, std::size_t>> numbers;  // begin, end
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(json[i])) == 0) continue;
    const std::size_t end = std::min(json.find_first_not_of("0123456789", i), json.size());
    numbers.emplace_back(i, end);
    i = end;
  }
  const auto any = [&] {
    return numbers[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(numbers.size())))];
  };
  const auto [begin, end] = any();
  const auto [from, to] = any();
  std::string text = json;
  const std::size_t row = json.rfind('[', begin), behind = json.find(']', begin);
  switch (rng.below(4)) {
    case 0:
      return text.replace(begin, end - begin, std::to_string(rng.below(12)));
    case 1:
      return text.replace(begin, end - begin, json.substr(from, to - from));
    case 2:
      return text.replace(begin, end - begin, json.substr(begin, end - begin) + "0");
    default:
      if (row == std::string::npos || behind == std::string::npos) return text;
      return text.insert(behind + 1, "," + json.substr(row, behind + 1 - row));
  }
}

// Whatever is done to a proof, it never proves what is false.
void expect_no_false_proof(const Problem& p, const Plan& proven, double optimum, Bytes least, Rng& rng,
                           const std::string& where) {
  for (int i = 0; i < 12; ++i) {
    Plan plan = proven;
    plan.proof.json = tampered(proven.proof.json, rng);
    plan.seconds_bound = optimum * (1 + 1e-6) + 1e-6;
    plan.peak_bound.reset();
    EXPECT_NE(verify_proof(p, plan), "") << where << "\n" << plan.proof.json;
    plan.seconds_bound.reset();
    plan.peak_bound = least + 1;
    EXPECT_NE(verify_proof(p, plan), "") << where << "\n" << plan.proof.json;
  }
}

// Any two cases by order, or three, each with any moment: not only those that a search would choose.
void cases_by_order(const Problem& p, Bytes budget, double optimum, Bytes least, std::uint64_t seed,
                    Tally& tally) {
  const Values values(p);
  Rng rng(seed * 3 + 2);
  std::vector<TaskId> sole;
  for (TaskId t = 0; t < values.tasks(); ++t) {
    if (values.sole[static_cast<std::size_t>(t)]) sole.push_back(t);
  }
  if (sole.size() < 2) return;
  const auto any = [&] {
    return sole[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(sole.size())))];
  };
  const auto pair = [&] {
    Order order{any(), any()};
    while (order.then == order.first) order.then = any();
    return order;
  };
  const Order outer = pair(), inner = pair();
  std::vector<std::vector<Certificate::Case>> paths{{{outer, false}}};
  if (rng.below(2) == 0) {
    paths.push_back({{outer, true}, {inner, false}});
    paths.push_back({{outer, true}, {inner, true}});
  } else {
    paths.push_back({{outer, true}});
  }
  std::vector<Certificate> cases;
  double proven = std::numeric_limits<double>::infinity();
  for (auto& path : paths) {
    const Values of_case(p, held_orders(path));
    const std::vector<TaskId> moments{any()};
    const int unit = unit_exponent_for(values.floor_seconds);
    CutModel model(of_case, moments[0]);
    const double price = model.best(budget, std::numeric_limits<double>::infinity(), {}).price;
    model.cut(price, budget);
    Certificate& c =
        cases.emplace_back(Certificate{.orders = std::move(path), .moments = moments, .unit_exponent = unit});
    c.leaves.push_back(model.leaf(price));
    const Evaluation evaluation(of_case, moments, unit, budget);
    // A case without plans may be shown to be one.
    Certificate::Leaf impossible;
    model.least_stored(&impossible);
    impossible.impossible = true;
    if (evaluation.seconds(impossible) > 0) c.leaves[0] = impossible;
    proven = std::min(proven, evaluation.seconds(c.leaves[0]));
  }
  ASSERT_LE(proven, optimum + 1e-9 * (1 + optimum)) << "seed " << seed << "\n" << write_problem(p);
  ++tally.cases;
  tally.cases_above += proven > values.floor_seconds + 1e-9 ? 1 : 0;
  Plan plan;
  plan.budget = budget;
  plan.seconds_bound = proven;
  plan.proof.json = proof_json(cases, nullptr);
  ASSERT_EQ(verify_proof(p, plan), "") << "seed " << seed << "\n" << plan.proof.json;
  expect_no_false_proof(p, plan, optimum, least, rng, fmt::format("cases, seed {}", seed));
}

// The bound for a budget, proven and at most the optimum. False: there is no plan to compare with.
bool compare_at(const Problem& p, Bytes budget, const Exhaustive& best, const std::string& where, Plan& plan,
                Tally& tally) {
  if (!best.complete) {
    ++tally.too_large;
    return false;
  }
  const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e9, .effort = 3000});
  plan.budget = budget;
  plan.seconds_bound = r.seconds;
  plan.peak_bound = r.peak.bytes;
  plan.proof = r.proof;
  EXPECT_EQ(verify_proof(p, plan), "") << where << "\n" << r.proof.json;
  EXPECT_FALSE(r.infeasible && best.seconds) << where;
  if (!best.seconds) {
    ++tally.infeasible;
    return false;
  }
  ++tally.planned;
  EXPECT_LE(r.seconds, *best.seconds + 1e-9 * (1 + *best.seconds)) << where << "\n"
                                                                   << write_problem(p) << "\n"
                                                                   << r.proof.json;
  const bool above = r.seconds > r.floor_seconds + 1e-9;
  tally.above_floor += above ? 1 : 0;
  tally.tight += above && r.seconds > *best.seconds - 1e-6 ? 1 : 0;
  return true;
}

void compare(std::uint64_t first, std::uint64_t last, int most, Tally& tally) {
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const Problem p = tiny(seed, most);
    if (p.buffers.size() > 20 || p.tasks.size() > 24) continue;
    ++tally.problems;
    const Bytes all = store_all_live_peak(p);
    const std::optional<Bytes> least = least_peak(p, 60'000);
    if (!least) {
      ++tally.too_large;
      continue;
    }
    for (const double f : {-0.1, 0.0, 0.3, 0.6, 0.9}) {
      const Bytes budget = *least + static_cast<Bytes>(f * static_cast<double>(all - *least));
      const Exhaustive best = fastest(p, budget, 60'000);
      const std::string where = fmt::format("seed {} f {}", seed, f);
      Plan plan;
      const bool planned = compare_at(p, budget, best, where, plan, tally);
      if (plan.peak_bound) {
        ASSERT_LE(*plan.peak_bound, *least) << where;
        tally.peak_tight += *plan.peak_bound == *least ? 1 : 0;
      }
      ASSERT_FALSE(testing::Test::HasFailure());
      if (!planned) continue;
      Rng rng(seed * 5 + 1);
      expect_no_false_proof(p, plan, *best.seconds, *least, rng, where);
      several_moments(p, budget, *best.seconds, seed, tally);
      over_gaps(p, budget, *best.seconds, seed, tally);
      cases_by_order(p, budget, *best.seconds, *least, seed, tally);
      plan.steps = best.steps;
      ASSERT_EQ(replay(p, plan).broken, "") << where;
      ASSERT_LE(replay(p, plan).live_peak, budget) << where;
    }
  }
}

TEST(BoundExhaustive, never_above_the_optimum_and_always_proven) {
  Tally t;
  compare(0, 1000, 7, t);
  RecordProperty("above_floor", t.above_floor);
  std::printf(
      "%d problems: %d planned, %d infeasible, %d bounds above the floor, %d of them tight, %d too large, %d "
      "peaks tight; %d chains of moments, %d above the floor; %d sets of cases, %d above the floor; %d "
      "bounds over gaps, %d above the floor\n",
      t.problems, t.planned, t.infeasible, t.above_floor, t.tight, t.too_large, t.peak_tight, t.chains,
      t.chains_above, t.cases, t.cases_above, t.gaps, t.gaps_above);
  EXPECT_GT(t.planned, 1000);
  EXPECT_GT(t.above_floor, 100);
  EXPECT_GT(t.tight, 20);
  EXPECT_GT(t.cases_above, 20);
  EXPECT_GT(t.gaps_above, 50);
}

// Along a ray the multipliers of these grew past what the verifier reads.
TEST(BoundExhaustive, multipliers_stay_below_what_a_proof_may_hold) {
  Tally t;
  compare(16417, 16418, 9, t);
  EXPECT_GT(t.above_floor, 0);
}

// Tiny problems with a tier whose link is slow enough to matter.
Problem tiny_with_tier(std::uint64_t seed) {
  Rng rng(seed * 91 + 3);
  const auto flip = [&] { return rng.below(2) != 0; };
  RandomProblem shape;
  shape.tasks = static_cast<int>(3 + rng.below(4));
  shape.residents = static_cast<int>(rng.below(2));
  shape.mirrored = 0.8;
  shape.workspace = flip();
  shape.align = flip();
  shape.once = flip();
  shape.versions = flip();
  shape.makers = flip();
  shape.lossy = shape.in_place = false;
  Problem p = random_problem(seed, shape);
  p.tiers.resize(rng.below(4) == 0 ? p.tiers.size() : 1);
  for (Tier& t : p.tiers) {
    t.bytes = 1'000'000;
    t.read_bytes_per_second = 10 + static_cast<double>(rng.below(100));
    t.write_bytes_per_second = 10 + static_cast<double>(rng.below(100));
  }
  for (Buffer& b : p.buffers) {
    b.start = std::min(b.start, static_cast<TierId>(p.tiers.size()) - 1);
    b.end = std::min(b.end, static_cast<TierId>(p.tiers.size()) - 1);
  }
  return p;
}

Problem mirrored_with_tier(std::uint64_t seed) {
  Rng rng(seed * 13 + 7);
  const int half = rng.below(3) == 0 ? 3 : 2;
  return mirrored_problem(rng, {.half = half, .rates = 40});
}

void compare_with_tiers(std::uint64_t first, std::uint64_t last, Tally& tally) {
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const Problem p = seed % 4 != 0 ? mirrored_with_tier(seed) : tiny_with_tier(seed);
    if (p.buffers.size() > 9 || p.tasks.size() > 9) continue;
    ++tally.problems;
    ASSERT_EQ(verify(p), "") << "seed " << seed;
    const Bytes all = store_all_live_peak(p), least = peak_bound(Values(p)).bytes;
    for (const double f : {0.0, 0.25}) {
      const Bytes budget = least + static_cast<Bytes>(f * static_cast<double>(all - least));
      Plan plan;
      compare_at(p, budget, fastest_with_copies(p, budget, 10'000), fmt::format("seed {} f {}", seed, f),
                 plan, tally);
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
}

TEST(BoundExhaustive, never_above_the_optimum_with_copies) {
  Tally t;
  compare_with_tiers(0, 80, t);
  std::printf("%d problems: %d planned, %d infeasible, %d bounds above the floor, %d too large\n", t.problems,
              t.planned, t.infeasible, t.above_floor, t.too_large);
  EXPECT_GT(t.planned, 50);
  EXPECT_GT(t.above_floor, 5);
}

void compare_more_with_tiers(std::uint64_t first, std::uint64_t last) {
  Tally t;
  compare_with_tiers(10'000 + first, 10'000 + last, t);
  EXPECT_GT(t.above_floor, 0);
}

const bool registered_tiers = register_parts("SlowBoundExhaustive", "NeverAboveTheOptimumWithCopies", 8'000,
                                             32, compare_more_with_tiers);

void compare_larger(std::uint64_t first, std::uint64_t last) {
  Tally t;
  compare(10'000 + first, 10'000 + last, 9, t);
  EXPECT_GT(t.above_floor, static_cast<int>(last - first) / 30);
}

const bool registered =
    register_parts("SlowBoundExhaustive", "NeverAboveTheOptimum", 30'000, 32, compare_larger);

}  // namespace
}  // namespace tidemark::plan
