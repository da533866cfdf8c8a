// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_columns.h"

#include <algorithm>
#include <numeric>

namespace tidemark::plan {
namespace {

constexpr double kNegligible = 2e-4;  // of the budget: all that is so small, together

std::vector<bool> negligible(const Values& values, Bytes budget) {
  std::vector<BufferId> order(values.size.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](BufferId v) { return values.size[static_cast<std::size_t>(v)]; };
  std::stable_sort(order.begin(), order.end(), [&](BufferId a, BufferId b) { return size(a) < size(b); });
  std::vector<bool> small(order.size());
  const double most = kNegligible * static_cast<double>(std::max<Bytes>(0, budget - values.resident_bytes));
  double sum = 0;
  for (const BufferId v : order) {
    sum += static_cast<double>(size(v));
    if (sum > most) break;
    small[static_cast<std::size_t>(v)] = true;
  }
  return small;
}

}  // namespace

StageColumns::StageColumns(const Values& values, const Evaluation& facts, Bytes budget)
    : v_(values), e_(facts), k_(facts.stages() - 1) {
  const auto stages = at(k_) + 1;
  run_.assign(stages, std::vector<int>(at(v_.tasks()), kUnseen));
  stored_.assign(stages, std::vector<int>(at(v_.values()), kUnseen));
  used_.assign(stages, std::vector<bool>(at(v_.tasks())));
  seen_.resize(at(v_.tasks()));
  ranges_.resize(stages * stages);
  for (int i = 0; i <= k_; ++i) {
    for (int j = i; j <= k_; ++j) {
      auto& list = ranges_[at(i * (k_ + 1) + j)];
      for (TaskId t = 0; t < v_.tasks(); ++t) {
        const auto [least, most] = e_.run_range(i, j, t);
        list.push_back(least == 1 ? Range::one : most == 0 ? Range::zero : Range::open);
      }
    }
  }
  is_output_.resize(at(v_.values()));
  for (BufferId v : v_.outputs) is_output_[at(v)] = true;
  const std::vector<bool> small = negligible(values, budget);
  always_there_.assign(stages, std::vector<bool>(at(v_.values())));
  for (int i = 1; i <= k_; ++i) {
    for (BufferId v = 0; v < v_.values(); ++v) {
      const auto [least, most] = e_.stored_range(i, v);
      always_there_[at(i)][at(v)] =
          least == 1 || (v_.resident[at(v)] && v_.given[at(v)]) || (small[at(v)] && most == 1);
    }
  }
  number();
  // Where nobody asks for a value nothing is said of it.
  for (int i = 1; i <= k_; ++i) {
    for (BufferId v = 0; v < v_.values(); ++v) {
      if (stored(i, v) == kUnseen && e_.stored_range(i, v).second == 1) always_there_[at(i)][at(v)] = true;
    }
  }
}

void StageColumns::number() {
  // What surely runs needs what it reads in each stage in which that may be.
  for (TaskId t = 0; t < v_.tasks(); ++t) {
    for (int l = 1; l <= k_ && ranges(1, k_)[at(t)] == Range::one; ++l) {
      if (ranges(l, l)[at(t)] != Range::zero) use(l, t);
    }
  }
  for (BufferId v : v_.outputs) supply(k_, v);
  for (int l = 2; l <= k_; ++l) {
    for (BufferId v : v_.reads[e_.facts()[at(l - 1)].task]) stored_to_do_.emplace_back(l, v);
  }
  while (!runs_to_do_.empty() || !stored_to_do_.empty()) {
    if (!runs_to_do_.empty()) {
      const auto [l, t] = runs_to_do_.back();
      runs_to_do_.pop_back();
      for (BufferId v : v_.reads[t]) supply(l, v);
    } else {
      const auto [i, v] = stored_to_do_.back();
      stored_to_do_.pop_back();
      if (i > 1) supply(i - 1, v);
    }
  }
}

int StageColumns::column(double cost) {
  cost_.push_back(cost);
  return count() - 1;
}

void StageColumns::use(int stage, TaskId t) {
  if (used_[at(stage)][at(t)]) return;
  used_[at(stage)][at(t)] = true;
  runs_to_do_.emplace_back(stage, t);
}

// Whatever may have a value there in a stage.
void StageColumns::supply(int stage, BufferId v) {
  const auto surely = [&](TaskId m) { return ranges(stage, stage)[at(m)] == Range::one; };
  if (always_there(stage, v) || std::any_of(v_.makers[v].begin(), v_.makers[v].end(), surely)) return;
  add_stored(stage, v);
  for (TaskId m : v_.makers[v]) {
    add_runs(m);
    if (run(stage, m) >= 0) use(stage, m);
  }
}

void StageColumns::add_stored(int moment, BufferId v) {
  int& c = stored_[at(moment)][at(v)];
  if (c != kUnseen) return;
  const auto [least, most] = e_.stored_range(moment, v);
  c = least == 1 ? kOne : most == 0 ? kZero : column(0);
  if (c >= 0) stored_to_do_.emplace_back(moment, v);
}

// In all stages at once: where runs of several stages count together, none of them may be left out.
void StageColumns::add_runs(TaskId t) {
  if (seen_[at(t)]) return;
  seen_[at(t)] = true;
  const TaskId duty = v_.duty[at(t)];
  const bool floor = duty >= 0 && e_.first_is_open(duty);
  double cost = v_.problem.tasks[at(t)].seconds / v_.floor_seconds;
  if (floor && !v_.sole[at(t)]) cost -= v_.floor[at(duty)] / v_.floor_seconds;
  for (int l = floor && v_.sole[at(t)] ? 0 : 1; l <= k_; ++l) {
    const Range range = ranges(l, l)[at(t)];
    run_[at(l)][at(t)] = range == Range::open ? column(cost) : range == Range::one ? kOne : kZero;
  }
  if (!floor || !v_.sole[at(t)]) return;
  floors_.push_back(t);
  for (int l = 1; l <= k_; ++l) {
    if (run(l, t) >= 0) use(l, t);
  }
}

}  // namespace tidemark::plan
