// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_search.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr double kShare = 0.8;  // of the time

struct Candidate {
  TaskId task;
  Bytes live;      // what its run alone needs
  double seconds;  // proven together with the first moment
};

std::vector<Candidate> candidates(const Values& values, TaskId first, int most) {
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
  out.resize(std::min(out.size(), at(most)));
  std::erase_if(out, [&](const Candidate& c) { return !Moment(values, c.task).before[at(first)]; });
  return out;
}

}  // namespace

StageBound search_stages(const Values& values, TaskId first, double single, const StageOptions& o) {
  StageBound best;
  if (!stages_available()) return best;
  constexpr int kIterations = 20'000;
  const double worth = 1e-6 * values.floor_seconds;
  const auto attempt = [&](const std::vector<TaskId>& moments) {
    const double last = std::max(best.seconds, single);
    StageBound b = bound_stages(values, moments, o.budget, kIterations, o.limit);
    if (b.seconds > last + worth) best = b;
    return b.seconds;
  };
  std::vector<Candidate> list = candidates(values, first, o.candidates);
  // Pairs, the likeliest first. Once one is not the best: what is best so far together with others that add something, then more
  // pairs. Few programs can be afforded, and the first pairs are the best ones as a rule.
  std::size_t next = 0;
  int misses = 0, useless = 0;
  std::vector<std::vector<TaskId>> tried;
  const auto larger = [&]() -> std::vector<TaskId> {
    if (best.certificate.moments.empty() ||
        static_cast<int>(best.certificate.moments.size()) >= o.most_moments)
      return {};
    std::vector<TaskId> found;
    double promise = single + worth;
    for (const Candidate& c : list) {
      std::vector<TaskId> moments = best.certificate.moments;
      if (c.seconds <= promise || std::find(moments.begin(), moments.end(), c.task) != moments.end())
        continue;
      // In the list's order; those that are not in line with the others are refused by the facts.
      moments.insert(std::upper_bound(moments.begin(), moments.end(), c.task), c.task);
      if (std::find(tried.begin(), tried.end(), moments) != tried.end()) continue;
      promise = c.seconds;
      found = std::move(moments);
    }
    return found;
  };
  while (best.seconds < o.enough && !(useless >= 4 && best.seconds == 0)) {
    std::vector<TaskId> moments;
    if (misses >= 1 || next == list.size()) moments = larger();
    const bool pair = moments.empty();
    if (pair) {
      if (next == list.size()) break;
      moments = {first, list[next].task};
    }
    if (!o.go_on(static_cast<int>(moments.size()), kShare)) break;
    const double before = best.seconds, seconds = attempt(moments);
    misses = best.seconds > before ? 0 : misses + 1;
    if (pair) {
      if (seconds <= single + worth) ++useless;
      list[next++].seconds = seconds;
    } else {
      if (best.seconds == before) misses = 0;  // a pair again
      tried.push_back(std::move(moments));
    }
  }
  return best;
}

}  // namespace tidemark::plan
