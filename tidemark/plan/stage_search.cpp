// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_search.h"

#include <algorithm>
#include <map>

namespace tidemark::plan {
namespace {

constexpr int kMisses = 4;       // tries in a row that prove no more, before the search ends
constexpr int kMostMisses = 60;  // likewise, while there is time and none of them has proven anything
constexpr std::size_t kTogether =
    3;  // moments that are added at once, as many as there are at first: those that turn out to have no price go again
constexpr double kWorth = 0.02;     // of what there is still to prove: less is not worth a larger program
constexpr double kLittle = 1e-5;    // of the floor: what is worth it where there is time
constexpr int kMostLittle = 4;      // times, since rounds that are counted leave all the time there is
constexpr int kMostPrograms = 60;   // since moments may take each other's places
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

// What holds at moments, each looked at once.
class Moments {
 public:
  explicit Moments(const Values& values) : v_(values) {}
  bool in_line(TaskId a, TaskId b) {
    const auto [first, then] = std::minmax(a, b);
    return known_.try_emplace(then, v_, then).first->second.before[static_cast<std::size_t>(first)];
  }
  TaskId apart() const { return 1 + v_.tasks() / kApart; }

 private:
  const Values& v_;
  std::map<TaskId, Moment> known_;
};

// Candidates for moments, tried in their order: first those in line with all that there are, then those that take the places of some.
struct Candidates {
  std::vector<std::pair<Bytes, TaskId>> over;
  std::size_t next = 0;
  bool may_replace = true;  // only where what comes of it is compared
  bool replace = false;
  std::vector<TaskId> missed;  // near one that did not help, no other does as a rule
};

// With as many of them as are in line; nothing: none is. `first` stays.
std::vector<TaskId> with_more(Moments& facts, const std::vector<TaskId>& kept, TaskId first, std::size_t most,
                              Candidates& from) {
  std::vector<TaskId> moments = kept, added;
  for (; added.size() < most && moments.size() < kMostMoments && from.next < from.over.size(); ++from.next) {
    const TaskId t = from.over[from.next].second;
    const auto near = [&](TaskId other) { return std::abs(other - t) <= facts.apart(); };
    const auto in_line = [&](TaskId other) { return facts.in_line(other, t); };
    if (std::ranges::binary_search(moments, t) || std::ranges::any_of(added, near) ||
        std::ranges::any_of(from.missed, near))
      continue;
    if (!in_line(first) || !std::ranges::all_of(from.replace ? added : moments, in_line)) continue;
    std::erase_if(moments, [&](TaskId m) { return !in_line(m); });
    moments.insert(std::ranges::lower_bound(moments, t), t);
    added.push_back(t);
  }
  from.missed.insert(from.missed.end(), added.begin(), added.end());
  if (!added.empty()) return moments;
  if (from.replace || !from.may_replace) return {};
  from.replace = true;
  from.next = 0;
  return with_more(facts, kept, first, most, from);
}

}  // namespace

StageSearch search_stages(const Values& values, TaskId first, double single, const StageOptions& o) {
  StageSearch found;
  if (!stages_available() || !values.problem.tiers.empty() || !(values.floor_seconds > 0) || !o.go_on(1))
    return found;
  using Outcome = StageProgram::Outcome;
  struct Try {
    std::unique_ptr<StageProgram> program;
    StageBound bound;
  };
  Moments facts(values);
  std::vector<TaskId> begin{first};
  if (o.also >= 0 && o.also != first && facts.in_line(first, o.also))
    begin.insert(o.also < first ? begin.begin() : begin.end(), o.also);
  Try base;
  base.program = std::make_unique<StageProgram>(values, begin,
                                                StageProgramOptions{.budget = o.budget, .limit = o.limit});
  if (base.program->solve({}) != Outcome::solved) return found;
  base.bound = bound_of(*base.program);
  if (base.bound.seconds > single) found.best = base.bound;
  Candidates candidates{base.program->over()};
  Try best;  // of the misses
  int programs = 0, little = 0;
  for (int misses = 0; base.bound.seconds < o.enough;) {
    const std::vector<TaskId> kept = priced(base.bound, first);
    const std::vector<TaskId> moments =
        with_more(facts, kept, first, std::min(kTogether, kept.size()), candidates);
    const double had = std::max(base.bound.seconds, single);
    const auto gained = [&] { return best.bound.seconds > had + kLittle * values.floor_seconds; };
    if (!moments.empty()) {
      if (++programs > kMostPrograms || !o.go_on(static_cast<int>(moments.size()))) break;
      Try next;
      next.program = std::make_unique<StageProgram>(*base.program, moments);
      const Outcome outcome = next.program->solve(kRounds);
      if (outcome != Outcome::solved && outcome != Outcome::stopped) break;
      next.bound = bound_of(*next.program);
      const double gap = std::min(o.enough - base.bound.seconds, kUsualGap * values.floor_seconds);
      const double worth = std::max(1e-6 * values.floor_seconds, kWorth * gap);
      const bool miss = next.bound.seconds <= had + worth;
      if (next.bound.seconds > best.bound.seconds) best = std::move(next);
      if (miss && (++misses < kMisses || (misses < kMostMisses && !gained() && o.unhurried()))) continue;
      if (!miss) misses = 0;
    }
    const bool anyway = misses > 0 && ++little <= kMostLittle && o.unhurried() && gained();
    if (!best.program || (misses > 0 && !anyway)) break;
    base = std::move(best);
    best = {};
    found.best = base.bound;
    candidates = {base.program->over()};
    misses = 0;
  }
  found.program = std::move(base.program);
  return found;
}

StageBound branch_and_grow(const Values& values, std::unique_ptr<StageProgram> program,
                           const StageBranchOptions& o) {
  StageBound best;
  Moments facts(values);
  while (true) {
    StageBound b = branch_stages(*program, o);
    Candidates candidates{.over = std::move(b.over), .may_replace = false};
    if (b.seconds > best.seconds) best = std::move(b);
    const std::vector<TaskId> moments =
        with_more(facts, program->moments(), program->moments()[0], 1, candidates);
    if (moments.empty() || best.seconds >= o.enough || !o.go_on()) return best;
    program = std::make_unique<StageProgram>(*program, moments);
    if (program->solve(kRounds) != StageProgram::Outcome::solved) return best;
  }
}

}  // namespace tidemark::plan
