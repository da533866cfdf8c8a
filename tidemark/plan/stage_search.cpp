// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_search.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

constexpr int kMisses = 4;  // tries in a row that prove no more, before the search ends
constexpr std::size_t kTogether =
    3;  // moments that are added at once, as many as there are at first: those that turn out to have no price go again
constexpr double kWorth = 0.02;     // of what there is still to prove: less is not worth a larger program
constexpr double kUsualGap = 0.05;  // of the floor, where no plan is known
constexpr std::size_t kMostMoments = 12;
constexpr int kApart = 128;  // of all tasks: how far from one another, and from those that did not help
constexpr StageProgram::Rounds kRounds{.rounds =
                                           8};  // the next moments show before a program has come to its end

// The moments of a program that have a price: the others add nothing.
std::vector<TaskId> priced(const StageBound& bound, TaskId first) {
  const std::vector<double>& prices = bound.certificate.leaves[0].prices;
  const double least = 1e-6 * *std::max_element(prices.begin(), prices.end());
  std::vector<TaskId> moments;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    const TaskId t = bound.certificate.moments[i];
    if (t == first || prices[i] > least) moments.push_back(t);
  }
  return moments;
}

// Candidates for moments, tried in their order.
struct Candidates {
  std::vector<std::pair<Bytes, TaskId>> over;
  std::size_t next = 0;
  std::vector<TaskId> missed;  // near one that did not help, no other does as a rule
};

// As many of them as fit in line with those that there are; nothing: none does.
std::vector<TaskId> with_more(const Values& values, const std::vector<TaskId>& kept, std::size_t most,
                              Candidates& from) {
  const TaskId apart = 1 + values.tasks() / kApart;
  std::vector<TaskId> moments = kept, added;
  for (; added.size() < most && moments.size() < kMostMoments && from.next < from.over.size(); ++from.next) {
    const TaskId t = from.over[from.next].second;
    const auto near = [&](TaskId other) { return std::abs(other - t) <= apart; };
    const auto place = std::lower_bound(moments.begin(), moments.end(), t);
    if ((place != moments.end() && *place == t) || std::any_of(added.begin(), added.end(), near) ||
        std::any_of(from.missed.begin(), from.missed.end(), near))
      continue;
    std::vector<TaskId> together = moments;
    together.insert(together.begin() + (place - moments.begin()), t);
    if (!Evaluation(values, together, 0, 0).chain()) continue;
    moments = std::move(together);
    added.push_back(t);
  }
  from.missed.insert(from.missed.end(), added.begin(), added.end());
  return added.empty() ? added : moments;
}

}  // namespace

StageSearch search_stages(const Values& values, TaskId first, double single, const StageOptions& o) {
  StageSearch found;
  if (!stages_available() || !values.problem.tiers.empty() || !(values.floor_seconds > 0) || !o.go_on(1))
    return found;
  using Outcome = StageProgram::Outcome;
  auto program = std::make_unique<StageProgram>(values, std::vector<TaskId>{first},
                                                StageProgramOptions{.budget = o.budget, .limit = o.limit});
  if (program->solve({}) != Outcome::solved) return found;
  StageBound base = bound_of(*program);
  Candidates candidates{program->over(), 0, {}};
  for (int misses = 0; misses < kMisses && base.seconds < o.enough;) {
    const std::vector<TaskId> kept = priced(base, first);
    const std::vector<TaskId> moments = with_more(values, kept, std::min(kTogether, kept.size()), candidates);
    if (moments.empty() || !o.go_on(static_cast<int>(moments.size()))) break;
    auto more = std::make_unique<StageProgram>(*program, moments);
    const Outcome outcome = more->solve(kRounds);
    if (outcome != Outcome::solved && outcome != Outcome::stopped) break;
    StageBound b = bound_of(*more);
    const double gap = std::min(o.enough - base.seconds, kUsualGap * values.floor_seconds);
    const double worth = std::max(1e-6 * values.floor_seconds, kWorth * gap);
    if (b.seconds <= std::max(base.seconds, single) + worth) {
      ++misses;
      continue;
    }
    base = std::move(b);
    found.best = base;
    program = std::move(more);
    candidates = {program->over(), 0, {}};
    misses = 0;
  }
  found.program = std::move(program);
  return found;
}

StageBound branch_and_grow(const Values& values, std::unique_ptr<StageProgram> program,
                           const StageBranchOptions& o) {
  StageBound best;
  while (true) {
    StageBound b = branch_stages(*program, o);
    Candidates candidates{std::move(b.over), 0, {}};
    if (b.seconds > best.seconds) best = std::move(b);
    const std::vector<TaskId> moments = with_more(values, program->moments(), 1, candidates);
    if (moments.empty() || best.seconds >= o.enough || !o.go_on()) return best;
    program = std::make_unique<StageProgram>(*program, moments);
    if (program->solve(kRounds) != StageProgram::Outcome::solved) return best;
  }
}

}  // namespace tidemark::plan
