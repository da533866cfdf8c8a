// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners/keep_search.h"

#include <algorithm>
#include <limits>

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

constexpr std::size_t kBetweenLooks = 16;  // values
constexpr double kToFinish = 7;  // times what it takes to score a set: what its plan takes with its check

}  // namespace

bool KeepScore::better_than(const KeepScore& other, Bytes budget) const {
  const bool fits = peak <= budget, other_fits = other.peak <= budget;
  if (fits != other_fits) return fits;
  if (fits) return seconds < other.seconds;
  return peak != other.peak ? peak < other.peak : seconds < other.seconds;
}

KeepSearch::KeepSearch(const Problem& problem, const Options& options)
    : problem_(&problem), options_(&options), outline_(problem) {}

std::vector<Step> KeepSearch::runs(const Keep& keep) const {
  std::vector<char> by_buffer(problem_->buffers.size(), 0);
  for (std::size_t i = 0; i < keep.size(); ++i) by_buffer[at(outline_.activations[i])] = keep[i];
  return runs_keeping(outline_, by_buffer);
}

KeepScore KeepSearch::score(const Keep& keep) const {
  const Plan plan = with_drops(*problem_, runs(keep));
  return {plan.seconds, plan.live_peak};
}

Keep KeepSearch::greedy(Bytes budget, const Limit& limit) const {
  Keep keep(size(), 1);
  const double begun = limit.left();
  KeepScore now = score(keep);
  if (now.peak <= budget) return keep;
  const double finish = kToFinish * (begun - limit.left());
  const auto late = [&] { return limit.time_is_up() || limit.left() < finish; };
  // Seconds to make a value again, with those of its makers' reads that are given up too.
  std::vector<std::int32_t> index(problem_->buffers.size(), -1), mark(problem_->tasks.size(), -1);
  for (std::size_t i = 0; i < size(); ++i) index[at(outline_.activations[i])] = static_cast<std::int32_t>(i);
  std::int32_t round = 0;
  std::vector<TaskId> stack;
  const auto cost = [&](std::size_t i) {
    double sum = 0;
    ++round;
    stack.assign(1, outline_.maker[at(outline_.activations[i])]);
    mark[at(stack[0])] = round;
    while (!stack.empty()) {
      const Task& task = problem_->tasks[at(stack.back())];
      stack.pop_back();
      sum += task.seconds;
      for (const BufferId b : task.reads) {
        if (!outline_.droppable[at(b)] || (index[at(b)] >= 0 && keep[at(index[at(b)])])) continue;
        const TaskId m = outline_.maker[at(b)];
        if (mark[at(m)] == round) continue;
        mark[at(m)] = round;
        stack.push_back(m);
      }
    }
    return sum;
  };
  const auto per_byte = [&](std::size_t i) {
    return cost(i) / static_cast<double>(std::max<Bytes>(1, problem_->size(outline_.activations[i])));
  };
  // Those that are kept, or are not, the least first. False: the time was up; with long ways back each takes as long as a pass over all tasks.
  std::vector<std::pair<double, std::size_t>> ratio;
  const auto rank = [&](bool kept, const auto& value) {
    ratio.clear();
    for (std::size_t i = 0; i < size(); ++i) {
      if (i % kBetweenLooks == 0 && late()) return false;
      if (static_cast<bool>(keep[i]) == kept) ratio.push_back({value(i), i});
    }
    std::sort(ratio.begin(), ratio.end());
    return true;
  };
  while (now.peak > budget && rank(true, per_byte) && !ratio.empty()) {
    // Half of what is missing before the costs are looked at again.
    Bytes given = 0;
    for (const auto& [_, i] : ratio) {
      keep[i] = 0;
      given += problem_->size(outline_.activations[i]);
      if (given >= (now.peak - budget + 1) / 2) break;
    }
    now = score(keep);
  }
  if (now.peak > budget) {
    if (late()) return keep;
    // Giving up much at once means making much at once. One by one instead, only what does not raise the peak.
    keep.assign(size(), 1);
    now = score(keep);
    for (bool changed = true; changed && now.peak > budget;) {
      changed = false;
      if (!rank(true, per_byte)) break;
      for (const auto& [_, i] : ratio) {
        if (now.peak <= budget || late()) break;
        keep[i] = 0;
        const KeepScore trial = score(keep);
        if (trial.peak > now.peak) keep[i] = 1;
        changed = changed || trial.peak < now.peak;
        if (trial.peak <= now.peak) now = trial;
      }
    }
    if (now.peak > budget) return keep;
  }
  if (!rank(false, [&](std::size_t i) { return -cost(i); })) return keep;
  for (const auto& [_, i] : ratio) {
    if (late()) break;
    keep[i] = 1;
    if (score(keep).peak > budget) keep[i] = 0;
  }
  return keep;
}

Plan KeepSearch::plan(const std::function<Keep(Bytes, Limit&)>& search) const {
  Limit limit = limit_of(*options_);
  const Bytes whole = options_->budget < 0 ? std::numeric_limits<Bytes>::max() / 2 : options_->budget;
  Plan best;
  for (const double share : {1.0, 0.98, 0.95, 0.9, 0.8}) {
    const Keep keep = search(static_cast<Bytes>(static_cast<double>(whole) * share), limit);
    best = finish(*problem_, runs(keep), *options_);
    if (best.status != Plan::Status::infeasible) return best;
    // Not the packing, but the method is at its end.
    if (score(keep).peak > whole) break;
  }
  if (limit.time_is_up()) {
    best.status = Plan::Status::timed_out;
    best.reason = "the time was up before a plan within the budget was found; " + best.reason;
  }
  return best;
}

}  // namespace tidemark::plan::named
