// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/bound.h"

#include <algorithm>
#include <map>
#include <memory>

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// The live bytes at each task when the list runs once and nothing is dropped early: where the cuts are looked
// for.
std::vector<Bytes> profile(const Values& values) {
  const int n = values.tasks();
  std::vector<TaskId> first(at(values.values()), -1), last(at(values.values()), -1);
  const auto touch = [&](ValueId v, TaskId t) {
    if (first[at(v)] < 0) first[at(v)] = t;
    last[at(v)] = t;
  };
  for (TaskId t = 0; t < n; ++t) {
    if (values.problem.tasks[at(t)].optional) continue;
    for (ValueId v : values.reads[t]) touch(v, t);
    for (ValueId v : values.writes[t]) touch(v, t);
  }
  for (ValueId v : values.outputs) last[at(v)] = n - 1;
  std::vector<Bytes> change(at(n) + 1), live(at(n));
  for (ValueId v = 0; v < values.values(); ++v) {
    if (first[at(v)] < 0) continue;
    change[at(first[at(v)])] += values.size[at(v)];
    change[at(last[at(v)]) + 1] -= values.size[at(v)];
  }
  Bytes now = values.resident_bytes;
  for (TaskId t = 0; t < n; ++t) {
    now += change[at(t)];
    live[at(t)] = now + values.problem.tasks[at(t)].workspace;
  }
  return live;
}

class Search {
 public:
  Search(const Values& values, const BoundOptions& options)
      : v_(values), o_(options), limit_(options.time_limit, -1) {}

  BoundResult run() {
    result_.seconds = result_.floor_seconds = v_.floor_seconds;
    if (o_.budget < 0 || v_.tasks() == 0) return result_;
    live_ = profile(v_);
    pick_moments();
    finish();
    return result_;
  }

 private:
  bool more_time() const { return result_.cuts < o_.effort && !limit_.time_is_up(); }

  struct Try {
    double seconds;
    TaskId moment;
    BoundResult::Choice choice;
  };

  void look_at(TaskId t) {
    if (tried_.count(t) != 0 || !v_.sole[at(t)]) return;
    CutModel model(v_, t);
    Try& entry = tried_[t];
    entry.moment = t;
    const Cut c = model.best(o_.budget, o_.known_seconds, &entry.choice.more, &entry.choice.less);
    entry.seconds = c.seconds;
    result_.cuts += model.cuts_made();
    if (c.seconds > result_.seconds) {
      result_.seconds = c.seconds;
      result_.moment = t;
      result_.price = c.price;
    }
  }

  // The fullest moments first; then around the best, at falling distance.
  void pick_moments() {
    const int n = v_.tasks();
    TaskId peak = 0;
    for (TaskId t = 1; t < n; ++t) {
      if (v_.sole[at(t)] && live_[at(t)] > live_[at(peak)]) peak = t;
    }
    look_at(peak);
    const int step = std::max(1, n / 16);
    for (TaskId t = peak % step; t < n && more_time(); t += step) {
      if (live_[at(t)] > o_.budget) look_at(t);
    }
    for (int d = step / 2; d >= 1 && more_time(); d /= 2) {
      const TaskId c = result_.moment;
      if (c < 0) break;
      if (c - d >= 0) look_at(c - d);
      if (c + d < n) look_at(c + d);
    }
  }

  void finish() {
    std::vector<const Try*> order;
    for (const auto& [t, entry] : tried_) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(),
                     [](const Try* a, const Try* b) { return a->seconds > b->seconds; });
    for (const Try* t : order) {
      if (result_.choices.size() < 8) result_.choices.push_back(t->choice);
    }
  }

  const Values& v_;
  BoundOptions o_;
  Limit limit_;
  std::vector<Bytes> live_;
  std::map<TaskId, Try> tried_;
  BoundResult result_;
};

}  // namespace

BoundResult bound(const Values& values, const BoundOptions& options) { return Search(values, options).run(); }

BoundResult bound(const Problem& problem, const BoundOptions& options) {
  const Values values(problem);
  return bound(values, options);
}

}  // namespace tidemark::plan
