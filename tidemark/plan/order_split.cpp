// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/order_split.h"

#include <algorithm>
#include <utility>

#include "tidemark/plan/cut.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::size_t kRuns = 4;  // that need most memory: looked at
// Of the floor, above what is proven: by how much the case of the early run is to be above the other, and what is worth a look.
constexpr double kTarget = 0.015, kLeastGain = 0.002;

class Chooser {
 public:
  Chooser(const Values& values, std::vector<Order> orders, const OrderOptions& options)
      : v_(values), orders_(std::move(orders)), o_(options) {}

  std::optional<Order> choose() {
    const Moment start(v_, o_.moment);
    std::vector<std::pair<Bytes, TaskId>> runs;
    for (TaskId t = 0; t < v_.tasks(); ++t) {
      if (t == o_.moment || !v_.sole[at(t)] || start.before[at(t)] || is_ordered(t)) continue;
      Bytes bytes = v_.problem.tasks[at(t)].workspace;
      for (BufferId v : v_.reads[t]) bytes += v_.size[at(v)];
      for (BufferId v : v_.makes[t]) bytes += v_.size[at(v)];
      runs.emplace_back(-bytes, t);
    }
    std::sort(runs.begin(), runs.end());
    runs.resize(std::min(runs.size(), kRuns));
    for (std::size_t i = 0; i < runs.size() && !best_; ++i) look_at(runs[i].second, start);
    return best_;
  }

 private:
  bool is_ordered(TaskId t) const {
    return std::any_of(orders_.begin(), orders_.end(),
                       [&](const Order& o) { return o.first == t || o.then == t; });
  }

  // The later the other task is, the more follows from that it comes first, and the less from that the run does: the latest behind
  // which the run would be as dear as is asked for.
  void look_at(TaskId run, const Moment& start) {
    const Moment there(v_, run);
    std::vector<TaskId> others;
    for (TaskId t : longest_path(start)) {
      if (t != run && v_.sole[at(t)] && !there.before[at(t)] && !there.after[at(t)]) others.push_back(t);
    }
    if (others.empty() || !go_on()) return;
    // The first shows whether anything is to be had from this run.
    const double most = cut({run, others[0]}, run), gain = most - o_.seconds;
    if (gain < kLeastGain * v_.floor_seconds) return;
    best_ = {run, others[0]};
    const double target = std::min(o_.enough, o_.seconds + std::min(0.5 * gain, kTarget * v_.floor_seconds));
    for (std::size_t low = 1, high = others.size(); low < high && go_on();) {
      const std::size_t middle = low + (high - low) / 2;
      if (cut({run, others[middle]}, run) < target) {
        high = middle;
      } else {
        best_ = {run, others[middle]};
        low = middle + 1;
      }
    }
  }

  // From the moment on, the tasks of a longest chain of readers: those that end early have little behind them.
  std::vector<TaskId> longest_path(const Moment& start) const {
    std::vector<int> height(at(v_.tasks()), 0);
    std::vector<TaskId> path;
    for (TaskId t = v_.tasks() - 1; t >= 0; --t) {
      for (BufferId v : v_.makes[t]) {
        for (TaskId reader : v_.readers[v]) height[at(t)] = std::max(height[at(t)], height[at(reader)] + 1);
      }
      if (start.after[at(t)]) path.push_back(t);
    }
    std::stable_sort(path.begin(), path.end(),
                     [&](TaskId a, TaskId b) { return height[at(a)] > height[at(b)]; });
    path.erase(std::unique(path.begin(), path.end(),
                           [&](TaskId a, TaskId b) { return height[at(a)] == height[at(b)]; }),
               path.end());
    return path;
  }

  bool go_on() { return o_.go_on(std::exchange(cuts_, 0)); }

  double cut(Order order, TaskId moment) {
    orders_.push_back(order);
    const Values values(v_.problem, orders_);
    orders_.pop_back();
    CutModel model(values, moment);
    const double seconds = model.best(o_.budget, o_.enough, nullptr, nullptr, o_.price).seconds;
    cuts_ += model.cuts_made();
    return seconds;
  }

  const Values& v_;
  std::vector<Order> orders_;
  const OrderOptions& o_;
  std::optional<Order> best_;
  int cuts_ = 0;
};

}  // namespace

std::optional<Order> choose_order(const Values& values, std::vector<Order> orders,
                                  const OrderOptions& options) {
  return Chooser(values, std::move(orders), options).choose();
}

}  // namespace tidemark::plan
