// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_search.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

struct Candidate {
  TaskId task;
  Bytes live;      // what its run alone needs
  double seconds;  // proven together with the first moment
};

std::vector<Candidate> candidates(const Values& values, TaskId first, int most, TaskId late) {
  const Moment start(values, first);
  std::vector<Candidate> out;
  for (TaskId t = 0; t < values.tasks(); ++t) {
    if (t == first || !values.sole[at(t)] || !start.after[at(t)]) continue;
    const Task& task = values.problem.tasks[at(t)];
    Bytes live = task.workspace;
    for (ValueId v : values.reads[t]) live += values.size[at(v)];
    for (ValueId v : values.writes[t]) live += values.size[at(v)];
    out.push_back({t, live, 0});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.live > b.live; });
  if (late >= 0) {
    const Moment end(values, late);
    std::stable_partition(out.begin(), out.end(), [&](const auto& c) { return end.before[at(c.task)]; });
  }
  out.resize(std::min(out.size(), at(most)));
  std::erase_if(out, [&](const Candidate& c) { return !Moment(values, c.task).before[at(first)]; });
  return out;
}

constexpr int kIterations = 20'000;

// The moments of a program that have a price: the others add nothing.
std::vector<TaskId> priced(const StageBound& program, TaskId first) {
  const std::vector<double>& prices = program.certificate.leaves[0].prices;
  const double least = 1e-6 * *std::max_element(prices.begin(), prices.end());
  std::vector<TaskId> moments;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    const TaskId t = program.certificate.moments[i];
    if (t == first || prices[i] > least) moments.push_back(t);
  }
  return moments;
}

// From the first moment alone, one more at a time: where the solution so far needs more than the budget. False: there is no time for the next.
bool grow(const Values& values, TaskId first, double single, const StageOptions& o, StageSearch& found) {
  constexpr int kMisses = 3;
  const double worth = 1e-6 * values.floor_seconds;
  StageBound base;  // what the next are added to
  std::size_t next = 0;
  std::vector<TaskId> missed, moments{first};  // next to one that did not help, no other does as a rule
  for (int misses = 0; misses < kMisses;) {
    if (found.best.seconds >= o.enough || !o.go_on(static_cast<int>(moments.size()), found.best.seconds))
      return false;
    StageBound b = bound_stages(values, moments, o.budget, kIterations, o.limit);
    const bool better = b.seconds > std::max(found.best.seconds, single) + worth;
    if (better) found.best = b;
    if (moments.size() == 2 && b.seconds > std::max(found.pair.seconds, single) + worth) found.pair = b;
    misses = better || moments.size() == 1 ? 0 : misses + 1;
    if (misses == 0) {
      base = std::move(b);
      next = 0;
      missed.clear();
    } else {
      missed.push_back(base.over[next - 1].second);
    }
    if (base.certificate.leaves.empty()) return true;
    const std::vector<TaskId> kept = priced(base, first);
    for (moments.clear(); moments.empty();) {
      if (next == base.over.size() || kept.size() == static_cast<std::size_t>(o.most_grown)) return true;
      const TaskId t = base.over[next++].second;
      std::vector<TaskId> together = kept;
      const auto place = std::lower_bound(together.begin(), together.end(), t);
      const auto beside = [&](TaskId other) { return std::abs(other - t) <= 1; };
      if ((place != together.end() && *place == t) || std::any_of(missed.begin(), missed.end(), beside))
        continue;
      together.insert(place, t);
      if (Evaluation(values, together, 0, o.budget).chain()) moments = std::move(together);
    }
  }
  return true;
}

}  // namespace

StageSearch search_stages(const Values& values, TaskId first, double single, const StageOptions& o) {
  StageSearch found;
  StageBound& best = found.best;
  if (!stages_available()) return found;
  if (o.late < 0 && !grow(values, first, single, o, found)) return found;
  const double worth = 1e-6 * values.floor_seconds;
  std::vector<Candidate> list = candidates(values, first, o.candidates, o.late);
  // Pairs, the likeliest first, and the neighbours of the best. Once one is not the best: what is best so far together with others that add
  // something, then more pairs. Few programs can be afforded, and the first pairs are the best ones as a rule.
  std::size_t next = 0;
  int misses = 0, useless = 0;
  std::vector<std::vector<TaskId>> tried;
  const auto larger = [&]() -> std::vector<TaskId> {
    if (best.certificate.moments.empty() ||
        static_cast<int>(best.certificate.moments.size()) >= o.most_moments)
      return {};
    std::vector<TaskId> together;
    double promise = single + worth;
    for (const Candidate& c : list) {
      std::vector<TaskId> moments = best.certificate.moments;
      if (c.seconds <= promise || std::find(moments.begin(), moments.end(), c.task) != moments.end())
        continue;
      // In the list's order; those that are not in line with the others are refused by the facts.
      moments.insert(std::upper_bound(moments.begin(), moments.end(), c.task), c.task);
      if (std::find(tried.begin(), tried.end(), moments) != tried.end()) continue;
      promise = c.seconds;
      together = std::move(moments);
    }
    return together;
  };
  const auto add_neighbours = [&](TaskId task) {
    for (const TaskId t : {task - 1, task + 1}) {
      const auto same = [&](const Candidate& c) { return c.task == t; };
      if (t <= first || t >= values.tasks() || !values.sole[at(t)] ||
          std::any_of(list.begin(), list.end(), same) || !Moment(values, t).before[at(first)])
        continue;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(next), {t, 0, 0});
    }
  };
  while (best.seconds < o.enough && !(useless >= 4 && best.seconds == 0)) {
    std::vector<TaskId> moments;
    if (misses >= 1 || next == list.size()) moments = larger();
    const bool pair = moments.empty();
    if (pair) {
      if (next == list.size()) break;
      moments = {first, list[next].task};
    }
    if (!o.go_on(static_cast<int>(moments.size()), best.seconds)) break;
    StageBound b = bound_stages(values, moments, o.budget, kIterations, o.limit);
    const bool better = b.seconds > std::max(best.seconds, single) + worth;
    misses = better ? 0 : misses + 1;
    if (better) best = b;
    if (!pair) {
      if (!better) misses = 0;  // a pair again
      tried.push_back(std::move(moments));
      continue;
    }
    if (b.seconds <= single + worth) ++useless;
    list[next++].seconds = b.seconds;
    if (b.seconds <= std::max(found.pair.seconds, single) + worth) continue;
    found.pair = std::move(b);
    add_neighbours(moments.back());
  }
  return found;
}

}  // namespace tidemark::plan
