// Programs of several moments: their rows hold in every plan, rows that are found when they are needed come to what all of them would, and a program that
// begins where another ended comes to what it would by itself. SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_program.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "random_problem.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/proof.h"
#include "tidemark/plan/stages.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

TEST(LinearProgram, RowsAreAddedAndTheLastBasisIsTakenUp) {
  if (!LinearProgram::available()) GTEST_SKIP() << "built without HiGHS";
  LinearProgram p({1, 2}, 1000, nullptr);
  p.add_row({{0, 1}, {1, 1}}, 1.5);
  ASSERT_EQ(p.run(), LinearProgram::Outcome::solved);
  EXPECT_NEAR(p.objective(), 2, 1e-9);  // the first whole, half of the second
  EXPECT_NEAR(p.multipliers()[0], 2, 1e-9);
  const LinearProgram::Basis basis = p.basis();
  p.add_row({{1, 1}}, 0.75);
  ASSERT_EQ(p.run(), LinearProgram::Outcome::solved);
  EXPECT_NEAR(p.objective(), 2.25, 1e-9);
  p.fix(0, 0);
  EXPECT_EQ(p.run(), LinearProgram::Outcome::infeasible);
  // A ray: times the rows it adds up to more than the unknowns can come to, whichever its sign.
  const auto& ray = p.multipliers();
  const double sign = ray[0] < 0 ? -1 : 1;
  EXPECT_GT(sign * (1.5 * ray[0] + 0.75 * ray[1]), sign * (ray[0] + ray[1]) * 1 + 1e-12);
  p.fix(0, -1);
  p.start_from(basis);  // of one row
  ASSERT_EQ(p.run(), LinearProgram::Outcome::solved);
  EXPECT_NEAR(p.objective(), 2.25, 1e-9);
}

// Sole tasks, each surely before the next.
std::vector<TaskId> in_line(const Values& values, Rng& rng, std::size_t most) {
  std::vector<TaskId> moments;
  for (TaskId t = 0; t < values.tasks() && moments.size() < most; ++t) {
    if (!values.sole[at(t)] || rng.below(3) == 0) continue;
    if (moments.empty() || Moment(values, t).before[at(moments.back())]) moments.push_back(t);
  }
  return moments;
}

// The list's tasks in their order with values dropped at random, which are made again by any maker when somebody reads them; and the unknowns as they come to be.
// Without copies, in-place pairs, versions and tasks that run once, so that buffers are values.
class AnyPlan {
 public:
  AnyPlan(const Values& values, const StageProgram& program, Rng& rng)
      : v_(values),
        p_(program),
        rng_(rng),
        x_(at(program.columns().count())),
        seen_(at(values.tasks())),
        wanted_(at(values.values())) {
    for (const Buffer& b : v_.problem.buffers) live_.push_back(b.resident);
    for (TaskId t = 0; t < v_.tasks(); ++t) {
      if (v_.problem.tasks[at(t)].optional) continue;
      run(t);
    }
    for (BufferId v : v_.outputs) {
      make(v);
      ++wanted_[at(v)];
    }
  }
  const std::vector<double>& unknowns() const { return x_; }
  int runs() const { return runs_; }
  Bytes peak() const { return peak_; }

 private:
  void make(BufferId v) {
    if (live_[at(v)]) return;
    // One of those that have run, so that nothing is made before its time.
    std::vector<TaskId> makers;
    for (TaskId m : v_.makers[v]) {
      if (seen_[at(m)]) makers.push_back(m);
    }
    ASSERT_FALSE(makers.empty());
    run(makers[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(makers.size())))]);
  }
  void run(TaskId t) {
    for (BufferId v : v_.reads[t]) {
      make(v);
      ++wanted_[at(v)];
    }
    const StageColumns& c = p_.columns();
    if (at(stage_) < p_.moments().size() && t == p_.moments()[at(stage_)] && !seen_[at(t)]) {
      ++stage_;
      for (BufferId v = 0; v < v_.values(); ++v) {
        if (c.stored(stage_, v) >= 0 && live_[at(v)]) x_[at(c.stored(stage_, v))] = 1;
      }
    }
    seen_[at(t)] = true;
    ++runs_;
    Bytes live = v_.resident_bytes + v_.problem.tasks[at(t)].workspace;
    for (BufferId v = 0; v < v_.values(); ++v) {
      const bool made = std::ranges::find(v_.makes[t], v) != v_.makes[t].end();
      live += live_[at(v)] || made ? v_.size[at(v)] : 0;
    }
    peak_ = std::max(peak_, live);
    if (c.run(stage_, t) >= 0) x_[at(c.run(stage_, t))] = 1;
    for (BufferId v : v_.reads[t]) --wanted_[at(v)];
    for (std::size_t b = 0; b < live_.size(); ++b) {
      if (!v_.problem.buffers[b].resident && wanted_[b] == 0 && rng_.below(4) != 0) live_[b] = false;
    }
    for (BufferId v : v_.makes[t]) live_[at(v)] = true;
  }

  const Values& v_;
  const StageProgram& p_;
  Rng& rng_;
  std::vector<double> x_;
  std::vector<bool> live_, seen_;
  std::vector<int> wanted_;  // by so many runs that wait for others, or at the end
  int stage_ = 0, runs_ = 0;
  Bytes peak_ = 0;
};

TEST(StagePaths, NoneIsBrokenByAPlan) {
  int programs = 0, again = 0, some_rows = 0, without_room = 0;
  for (std::uint64_t seed = 1; seed < 400; ++seed) {
    RandomProblem shape;
    shape.tasks = 10 + static_cast<int>(seed % 20);
    shape.tiers = shape.versions = shape.in_place = shape.lossy = shape.once = false;
    Problem p = random_problem(seed, shape);
    for (std::size_t b = 0; b < p.buffers.size(); ++b)  // some are next to nothing
      p.buffers[b].bytes = b % 3 == 0 ? 1 : 10'000 * p.buffers[b].bytes;
    const Values values(p);
    Rng rng(seed);
    const std::vector<TaskId> moments = in_line(values, rng, 4);
    if (moments.empty()) continue;
    // The plan does not depend on the budget: first with room for everything, then with no more than it takes.
    Rng same = rng;
    const StageProgram roomy(values, moments, {.budget = Bytes{1} << 40});
    const Bytes peak = AnyPlan(values, roomy, same).peak();
    StageProgram program(values, moments, {.budget = peak});
    const AnyPlan plan(values, program, rng);
    ASSERT_EQ(plan.peak(), peak);
    ++programs;
    for (int i = 1; i <= std::ssize(moments); ++i) {
      for (BufferId v = 0; v < values.values(); ++v)
        without_room +=
            program.facts().stored_range(i, v) != program.facts().stored_range(i, v, values.size[at(v)]);
    }
    if (LinearProgram::available()) {
      EXPECT_NE(program.solve({}), StageProgram::Outcome::infeasible) << "seed " << seed;
    }
    again += plan.runs() > static_cast<int>(p.tasks.size());
    StagePaths paths(program.columns());
    for (const StagePath& path : paths.broken(plan.unknowns(), 1e-9, 1000))
      ADD_FAILURE() << "seed " << seed << ": " << path.i << " to " << path.j << ", task " << path.task
                    << ", value " << path.value;
    some_rows += !paths.broken(std::vector<double>(at(program.columns().count())), 1e-9, 1000).empty();
  }
  EXPECT_GT(programs, 300);
  EXPECT_GT(again, 100);
  EXPECT_GT(without_room, 50);
  EXPECT_GT(some_rows, 200);  // where nothing is stored and nothing runs again
}

TEST(StageProgram, BegunWhereAnotherEndedItComesToTheSame) {
  if (!LinearProgram::available()) GTEST_SKIP() << "built without HiGHS";
  constexpr StageProgram::Rounds kToTheEnd{.least = 1e-7, .rounds = 1000};
  int grown = 0, above = 0;
  for (std::uint64_t seed = 1; seed < 400; ++seed) {
    RandomProblem shape;
    shape.tasks = 16 + static_cast<int>(seed % 12);
    shape.mirrored = 0.95;
    shape.tiers = shape.lossy = false;
    const Problem p = random_problem(seed, shape);
    const Values values(p);
    Rng rng(seed);
    const std::vector<TaskId> all = in_line(values, rng, 5);
    if (all.size() < 3 || !(values.floor_seconds > 0)) continue;
    const Bytes budget = budget_at(p, 0.5);
    std::vector<TaskId> some;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == seed % all.size() || rng.below(2) == 0) some.push_back(all[i]);
    }
    StageProgram begun(values, some, {.budget = budget}), anew(values, all, {.budget = budget});
    if (begun.solve(kToTheEnd) != StageProgram::Outcome::solved) continue;
    StageProgram more(begun, all);
    const StageProgram::Outcome outcome = anew.solve(kToTheEnd);
    EXPECT_EQ(more.solve(kToTheEnd), outcome) << seed;
    if (outcome != StageProgram::Outcome::solved) continue;
    ++grown;
    EXPECT_NEAR(more.program().objective(), anew.program().objective(), 1e-6) << seed;
    const StageBound bound = bound_of(more);
    EXPECT_NEAR(bound.seconds, bound_of(anew).seconds, 1e-5 * values.floor_seconds) << seed;
    above += bound.seconds > values.floor_seconds * (1 + 1e-6) ? 1 : 0;
    Plan stated;
    stated.budget = budget;
    stated.seconds_bound = bound.seconds;
    stated.proof.json = proof_json(std::span(&bound.certificate, 1), nullptr);
    EXPECT_EQ(verify_proof(p, stated), "") << seed;
    // What the multipliers prove is what the program came to and all that every plan does at once, which is not in it.
    double at_once = values.floor_seconds;
    for (TaskId t : more.columns().floors()) at_once -= p.tasks[at(t)].seconds;
    EXPECT_GT(bound.seconds, at_once + (more.program().objective() - 1e-3) * values.floor_seconds) << seed;
  }
  EXPECT_GT(grown, 30);
  EXPECT_GT(above, 5);
}

// What a run needs that may be in one stage or in another is needed in all parts of a stage together. Here gradients of weights may come before the
// first moment or behind it.
TEST(StageProgram, MoreMomentsProveNoLess) {
  const std::string path = TIDEMARK_SOURCE_DIR "/../shared/problems/h200/vgg16.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": no model with such gradients";
  constexpr StageProgram::Rounds kToTheEnd{.least = 1e-7, .rounds = 1000};
  const Problem p = read_problem(read_file(path));
  const Values values(p);
  const Bytes budget = budget_at(p, 0.5);
  auto program =
      std::make_unique<StageProgram>(values, std::vector<TaskId>{66}, StageProgramOptions{.budget = budget});
  const StageProgram::Outcome outcome = program->solve(kToTheEnd);
  ASSERT_EQ(outcome == StageProgram::Outcome::solved, LinearProgram::available());
  if (outcome != StageProgram::Outcome::solved) return;  // without HiGHS one moment is all there is
  int wide = 0;
  double last = bound_of(*program).seconds;
  for (const std::vector<TaskId>& moments : {std::vector<TaskId>{66, 81}, {66, 81, 86}, {66, 76, 81, 86}}) {
    program = std::make_unique<StageProgram>(*program, moments);
    ASSERT_EQ(program->solve(kToTheEnd), StageProgram::Outcome::solved);
    const StageBound root = bound_of(*program);
    EXPECT_GE(root.seconds, last - 1e-6 * values.floor_seconds) << moments.size();
    last = root.seconds;
    const StageBound bound = branch_stages(
        *program, {.enough = 2 * values.floor_seconds, .leaves = 100, .go_on = [] { return true; }});
    EXPECT_GE(bound.seconds, root.seconds);
    // In all stages, but some of them together.
    const auto together = [&](const Certificate::Parts& r) {
      return r.ends.front() == 0 && r.ends.back() == std::ssize(moments) + 1 &&
             std::ssize(r.ends) < std::ssize(moments) + 2;
    };
    for (const auto& leaf : bound.certificate.leaves)
      wide += std::any_of(leaf.parts.begin(), leaf.parts.end(), together) ? 1 : 0;
    Plan stated;
    stated.budget = budget;
    stated.seconds_bound = bound.seconds;
    stated.proof.json = proof_json(std::span(&bound.certificate, 1), nullptr);
    EXPECT_EQ(verify_proof(p, stated), "");
  }
  EXPECT_GT(wide, 0);
}

}  // namespace
}  // namespace tidemark::plan
