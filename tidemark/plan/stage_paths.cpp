// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_paths.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace tidemark::plan {

using Range = StageColumns::Range;

namespace {
constexpr double kPlenty = 2;      // more than anybody needs
constexpr double kClearly = 1e-9;  // less
constexpr double kMostTimes =
    1e6;                    // ways to one maker, beyond which a row would be too coarse for floating point
constexpr int kSweeps = 6;  // through the tasks, for each range of stages
}  // namespace

StagePaths::StagePaths(const StageColumns& columns) : c_(columns), v_(columns.values()) {
  most_.resize(at(v_.tasks()));
  through_.resize(at(v_.tasks()));
}

double StagePaths::value(int column) const {
  return column >= 0 ? (*x_)[at(column)] : column == StageColumns::kOne ? 1 : 0;
}

std::vector<StagePath> StagePaths::broken(const std::vector<double>& x, double least, std::size_t most) {
  x_ = &x;
  const int k = c_.moments();
  runs_.assign(at(k) + 1, std::vector<double>(at(v_.tasks())));
  for (int l = 1; l <= k; ++l) {
    for (TaskId t = 0; t < v_.tasks(); ++t)
      runs_[at(l)][at(t)] = runs_[at(l - 1)][at(t)] + value(c_.run(l, t));
  }
  std::vector<StagePath> out;
  // Wide demands take many rows: only where nothing else is broken.
  for (const bool wide : {false, true}) {
    if (!out.empty()) break;
    wide_ = wide;
    for (int i = 1; i <= k; ++i) {
      for (int j = wide ? i + 1 : i; j <= k; ++j) look_at(i, j, least, most, out);
    }
  }
  return out;
}

double StagePaths::supply(int i, BufferId v) const {
  if (c_.always_there(i, v)) return kPlenty;
  double sum = value(c_.stored(i, v));
  for (TaskId m : v_.makers[v]) sum += most_[at(m)];
  return sum;
}

// As if the runs at the ends of those that were found were more already, others are found that would be broken next.
void StagePaths::look_at(int i, int j, double least, std::size_t most, std::vector<StagePath>& out) {
  raised_.assign(at(v_.tasks()), 0.0);
  const std::size_t before = out.size();
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    std::vector<Demand> demands = unmet(i, j, least);
    std::stable_sort(demands.begin(), demands.end(),
                     [](const Demand& a, const Demand& b) { return a.amount > b.amount; });
    // Ways to the same ends say nearly the same.
    std::vector<bool> ends(at(v_.tasks()));
    const std::size_t had = out.size();
    for (const Demand& d : demands) {
      if (out.size() - before >= most) return;
      StagePath path = followed(i, j, d);
      bool other = out.size() == before;
      double times = 0;
      for (const StagePath::Hop& hop : path.hops) {
        times = std::max(times, hop.times);
        if (hop.through < 0) other = other || !ends[at(hop.maker)];
      }
      if (!other || times >= kMostTimes) continue;
      for (const StagePath::Hop& hop : path.hops) {
        if (hop.through >= 0) continue;
        ends[at(hop.maker)] = true;
        raised_[at(hop.maker)] = std::max(raised_[at(hop.maker)], d.amount);
      }
      out.push_back(std::move(path));
    }
    if (out.size() == had) return;
  }
}

// It first runs in one of these stages as far as it does not run in the others.
double StagePaths::first_in(int i, int j, TaskId t) const {
  const double all = value(c_.run(0, t)) + runs_[at(c_.moments())][at(t)];
  return 1 - (all - (runs_[at(j)][at(t)] - runs_[at(i - 1)][at(t)]));
}

// A task can do no more than its runs in the stages come to, nor more than is there of what it reads; what stands before it in the list is
// looked at first, and of what stands behind it (another maker of what it reads) the runs count.
std::vector<StagePaths::Demand> StagePaths::unmet(int i, int j, double least) {
  const std::vector<Range>& range = c_.ranges(i, j);
  for (TaskId t = 0; t < v_.tasks(); ++t) {
    const double runs = runs_[at(j)][at(t)] - runs_[at(i - 1)][at(t)] + raised_[at(t)];
    most_[at(t)] = range[at(t)] == Range::zero                      ? 0
                   : range[at(t)] == Range::one || !c_.asked_for(t) ? 1
                                                                    : std::min(1.0, runs);
    through_[at(t)] = -1;
  }
  std::vector<Demand> demands;
  for (TaskId t = 0; t < v_.tasks(); ++t) {
    // What is needed within fewer stages says more.
    const bool one = range[at(t)] == Range::one;
    const bool sure = one && (i == j || c_.ranges(i, j - 1)[at(t)] != Range::one);
    const bool open =
        !one && c_.run(i, t) >= 0 &&
        (i == j ? c_.facts().first_is_open(t) : wide_ && c_.first_is_open(t) && value(c_.run(j, t)) > least);
    if (one ? !sure : most_[at(t)] <= 0 || !c_.asked_for(t)) continue;
    const double needed = sure ? 1 : i == j ? value(c_.run(i, t)) : first_in(i, j, t);
    for (BufferId v : v_.reads[t]) {
      const double there = supply(i, v);
      if ((sure || open) && there < needed - least) demands.push_back({needed - there, t, v});
      if (one || there >= most_[at(t)] - kClearly) continue;
      most_[at(t)] = there;
      through_[at(t)] = v;
    }
  }
  for (BufferId v = 0; v < v_.values(); ++v) {
    const bool last = j == c_.moments();
    const double needed = last                                           ? (c_.is_output(v) ? 1 : 0)
                          : c_.facts().stored_range(j + 1, v).first == 1 ? 1
                                                                         : value(c_.stored(j + 1, v));
    if (needed <= least) continue;
    const double there = supply(i, v);
    if (there < needed - least) demands.push_back({needed - there, -1, v});
  }
  return demands;
}

StagePath StagePaths::followed(int i, int j, const Demand& demand) const {
  StagePath path{i, j, demand.task, demand.value, {}};
  std::map<TaskId, double, std::greater<>> back, ends;  // times, by maker
  const auto need = [&](BufferId v, double times, TaskId by) {
    for (TaskId m : v_.makers[v]) {
      if (c_.ranges(i, j)[at(m)] == Range::zero) continue;
      (m < by && through_[at(m)] >= 0 ? back : ends)[m] += times;
    }
  };
  need(demand.value, 1, demand.task >= 0 ? demand.task : std::numeric_limits<TaskId>::max());
  while (!back.empty()) {
    const auto [m, times] = *back.begin();
    back.erase(back.begin());
    path.hops.push_back({m, through_[at(m)], times});
    need(through_[at(m)], times, m);
  }
  for (const auto& [m, times] : ends) path.hops.push_back({m, -1, times});
  return path;
}

}  // namespace tidemark::plan
