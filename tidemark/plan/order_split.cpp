// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/order_split.h"

#include <algorithm>
#include <utility>

#include "tidemark/plan/cut.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::size_t kRuns = 4;               // that need most memory: looked at
constexpr std::size_t kRunsToChooseFrom = 64;  // likewise: among them those that may come early or late
// On the longest path from the run, where the other task is looked for, in this order: nearer, the run hardly comes late; further, hardly early.
constexpr std::pair<std::ptrdiff_t, std::ptrdiff_t> kPlaces[] = {{4, 8},   {8, 16},   {16, 32}, {2, 4},
                                                                 {32, 64}, {64, 128}, {1, 2},   {128, 256}};
constexpr int kMisses = 2;  // places at which a run proves nothing: it is left
// Of the floor, above what is proven: by how much the case of the early run is to be above the other, and what is worth a look.
constexpr double kTarget = 0.015, kLeastGain = 0.002;

class Chooser {
 public:
  Chooser(const Values& values, std::vector<Order> orders, const OrderOptions& options)
      : v_(values), orders_(std::move(orders)), o_(options) {}

  std::optional<OrderSplit> choose() {
    const Moment start(v_, o_.moment);
    const std::vector<TaskId> runs = largest_runs(start, kRuns);
    for (std::size_t i = 0; i < runs.size() && !best_; ++i) look_at(runs[i], start);
    return best_;
  }

  std::optional<OrderSplit> choose_by_programs(double least) {
    std::vector<Look> looks = looks_for_programs();
    for (const auto& [from, to] : kPlaces) {
      for (Look& look : looks) {
        if (from >= std::ssize(look.others) || look.misses == kMisses) continue;
        if (!go_on()) return best_;
        const auto begin = look.others.begin();
        const TaskId other = *std::max_element(begin + from, begin + std::min(to, std::ssize(look.others)),
                                               [&](TaskId a, TaskId b) { return bytes_of(a) < bytes_of(b); });
        StageBound holds = program({look.run, other});
        look.misses = holds.seconds > o_.seconds ? 0 : look.misses + 1;
        if (holds.seconds < o_.seconds + least) continue;
        StageBound turned = program({other, look.run});
        if (turned.seconds < o_.seconds + least) continue;
        least = std::min(holds.seconds, turned.seconds) - o_.seconds;
        best_ = {{look.run, other}, std::move(holds), std::move(turned)};
      }
    }
    return best_;
  }

 private:
  struct Look {
    TaskId run;
    std::vector<TaskId> others;
    int misses = 0;  // in a row
  };
  std::vector<Look> looks_for_programs() const {
    const Moment start(v_, o_.moment);
    std::vector<Look> looks;
    for (const TaskId run : largest_runs(start, kRunsToChooseFrom)) {
      const Moment there(v_, run);
      if (!there.before[at(o_.moment)]) continue;
      std::vector<TaskId> others = others_on_path(there, start);
      if (!others.empty()) looks.push_back({run, std::move(others)});
      if (looks.size() == kRuns) break;
    }
    return looks;
  }

  std::vector<TaskId> largest_runs(const Moment& start, std::size_t most) const {
    std::vector<std::pair<Bytes, TaskId>> runs;
    for (TaskId t = 0; t < v_.tasks(); ++t) {
      if (t == o_.moment || !v_.sole[at(t)] || start.before[at(t)] || is_ordered(t)) continue;
      runs.emplace_back(-bytes_of(t), t);
    }
    std::sort(runs.begin(), runs.end());
    std::vector<TaskId> largest;
    for (std::size_t i = 0; i < std::min(runs.size(), most); ++i) largest.push_back(runs[i].second);
    return largest;
  }

  // What it needs by itself.
  Bytes bytes_of(TaskId t) const {
    Bytes bytes = round_up(v_.problem.tasks[at(t)].workspace, v_.problem.align);
    for (BufferId v : v_.reads[t]) bytes += v_.size[at(v)];
    for (BufferId v : v_.makes[t]) bytes += v_.size[at(v)];
    return bytes;
  }

  bool is_ordered(TaskId t) const {
    return std::any_of(orders_.begin(), orders_.end(),
                       [&](const Order& o) { return o.first == t || o.then == t; });
  }

  // The later the other task is, the more follows from that it comes first, and the less from that the run does: the latest behind
  // which the run would be as dear as is asked for.
  void look_at(TaskId run, const Moment& start) {
    const std::vector<TaskId> others = others_on_path(Moment(v_, run), start);
    if (others.empty() || !go_on()) return;
    // The first shows whether anything is to be had from this run.
    const double most = cut({run, others[0]}, run), gain = most - o_.seconds;
    if (gain < kLeastGain * v_.floor_seconds) return;
    best_ = {.order = {run, others[0]}};
    const double target = std::min(o_.enough, o_.seconds + std::min(0.5 * gain, kTarget * v_.floor_seconds));
    for (std::size_t low = 1, high = others.size(); low < high && go_on();) {
      const std::size_t middle = low + (high - low) / 2;
      if (cut({run, others[middle]}, run) < target) {
        high = middle;
      } else {
        best_ = {.order = {run, others[middle]}};
        low = middle + 1;
      }
    }
  }

  // Those that may come before the run at `there` or behind it.
  std::vector<TaskId> others_on_path(const Moment& there, const Moment& start) const {
    std::vector<TaskId> others;
    for (TaskId t : longest_path(start)) {
      if (t != there.task && v_.sole[at(t)] && !there.before[at(t)] && !there.after[at(t)])
        others.push_back(t);
    }
    return others;
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

  Values with(Order order) {
    orders_.push_back(order);
    Values values(v_.problem, orders_);
    orders_.pop_back();
    return values;
  }

  double cut(Order order, TaskId moment) {
    const Values values = with(order);
    CutModel model(values, moment);
    const double seconds = model.best(o_.budget, o_.enough, {.price = o_.price}).seconds;
    cuts_ += model.cuts_made();
    return seconds;
  }

  // What the moment and the task that comes first prove together.
  StageBound program(Order order) {
    const Values values = with(order);
    return bound_stages(values, {o_.moment, order.first}, o_.budget, StageProgramOptions{}.iterations,
                        o_.limit);
  }

  const Values& v_;
  std::vector<Order> orders_;
  const OrderOptions& o_;
  std::optional<OrderSplit> best_;
  int cuts_ = 0;
};

}  // namespace

std::optional<OrderSplit> choose_order(const Values& values, std::vector<Order> orders,
                                       const OrderOptions& options) {
  return Chooser(values, std::move(orders), options).choose();
}

std::optional<OrderSplit> choose_order_by_programs(const Values& values, std::vector<Order> orders,
                                                   const OrderOptions& options, double least) {
  return Chooser(values, std::move(orders), options).choose_by_programs(least);
}

}  // namespace tidemark::plan
