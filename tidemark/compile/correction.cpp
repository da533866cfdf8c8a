// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/correction.h"

#include <algorithm>
#include <cmath>

#include "tidemark/runtime/profiler.h"

namespace tidemark {
namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Correction::Correction(std::size_t tasks, Replan replan, Options options)
    : replan_(std::move(replan)), options_(options), tasks_(tasks) {}

Correction::~Correction() {
  stop_ = true;
  wait();
}

void Correction::wait() {
  if (worker_.joinable()) worker_.join();
}

Timeline* Correction::record(std::size_t instrs) {
  if (!recording_ || turn_ % 2 == 1) return nullptr;
  timelines_.resize(kRuns);
  Timeline& t = timelines_[turn_ / 2];
  t.entries.assign(instrs, {});
  t.work = options_.cores_only;
  return &t;
}

double Correction::measured() const {
  if (runs_ < static_cast<int>(kRuns) + 1) return 0;
  std::array<double, kRuns> sorted = last_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[kRuns / 2];
}

void Correction::ran(double seconds, double predicted) {
  if (busy()) return;  // the planner has a core of ours
  if (recording_) {
    if (turn_ % 2 == 1) totals_[turn_ / 2] = seconds;
    if (++turn_ == 2 * kRuns) end_window(predicted);
    return;
  }
  // The first run touches its pages for the first time.
  if (runs_++ > 0) last_[static_cast<std::size_t>(runs_) % kRuns] = seconds;
  const double now = measured();
  if (now <= 0 || corrections_ >= options_.most || !replan_) return;
  if (agrees(now, predicted)) return;
  recording_ = true;
  turn_ = 0;
  window_ = 0;
  before_ = now;
}

bool Correction::agrees(double seconds, double with) const {
  return std::abs(seconds / std::max(with, 1e-12) - 1) <= options_.tolerance;
}

void Correction::end_window(double predicted) {
  std::vector<double> totals(totals_.begin(), totals_.end());
  const double now = median(totals);
  turn_ = 0;
  if (!agrees(now, before_) && ++window_ < kWindows) {
    before_ = now;
    return;
  }
  recording_ = false;
  if (agrees(now, predicted)) {
    last_ = totals_;  // something else had the machine for a while
    timelines_ = {};
    return;
  }
  learn(now);
}

void Correction::learn(double seconds) {
  // With copies under way tasks do not add up to the step.
  Learned learned{.times = times_of_tasks(timelines_, tasks_, options_.cores_only ? seconds : 0),
                  .seconds = seconds,
                  .last = corrections_ + 1 >= options_.most};
  timelines_ = {};
  done_ = false;
  working_ = true;
  worker_ = std::thread([this, learned = std::move(learned)]() mutable {
    try {
      result_ = replan_(std::move(learned), [this] { return stop_.load(); });
    } catch (const std::exception&) {
      // The plan that runs goes on; asking again would fail again.
      result_.reset();
    }
    done_ = true;
  });
}

std::optional<Correction::Replanned> Correction::take() {
  if (!working_ || !done_) return std::nullopt;
  wait();
  working_ = false;
  ++corrections_;
  runs_ = 0;
  return std::exchange(result_, std::nullopt);
}

std::vector<TaskTime> times_of_tasks(std::span<const Timeline> timelines, std::size_t tasks, double total) {
  std::size_t places = 0;
  for (const Timeline& t : timelines) places = std::max(places, t.entries.size());
  std::vector<std::vector<double>> at_place(places);
  std::vector<std::int32_t> task_of(places, -1);
  for (const Timeline& t : timelines) {
    std::int64_t before = t.entries.empty() ? 0 : t.entries[0].begin_ns, worked = t.work_begin_ns;
    for (std::size_t i = 0; i < t.entries.size(); ++i) {
      const Timeline::Entry& e = t.entries[i];
      std::int64_t spent = e.end_ns - before;
      if (t.work) spent = std::min(spent, e.work_ns - worked);
      at_place[i].push_back(static_cast<double>(spent) * 1e-9);
      task_of[i] = e.task;
      before = std::max(before, e.end_ns);
      worked = e.work_ns;
    }
  }
  std::vector<TaskTime> times(tasks);
  double sum = 0;
  for (std::size_t i = 0; i < places; ++i) {
    if (task_of[i] < 0 || static_cast<std::size_t>(task_of[i]) >= tasks) continue;
    TaskTime& task = times[static_cast<std::size_t>(task_of[i])];
    const double spent = std::max(median(at_place[i]), 1e-9);
    task.seconds += (spent - task.seconds) / ++task.runs;
    sum += spent;
  }
  if (total > 0 && sum > 0) {
    for (TaskTime& t : times) t.seconds *= total / sum;
  }
  return times;
}

void correct(Posed& posed, DeviceProfile& profile, std::span<const TaskTime> times, int threads) {
  const auto node_of = [&](std::size_t t) -> const Node* {
    const std::int32_t n = t < posed.binding.node_of_task.size() ? posed.binding.node_of_task[t] : -1;
    return n < 0 ? nullptr : &posed.binding.graph.nodes[static_cast<std::size_t>(n)];
  };
  // Equal kernels are one point, the mean over the runs of all tasks that are one: their sum stays as measured, and equal blocks
  // stay equal, which the planner makes use of.
  struct Equal {
    double sum = 0;
    std::int64_t runs = 0;
  };
  std::map<std::string, Equal> by_key;
  std::vector<std::string> key_of(posed.problem.tasks.size());
  for (std::size_t t = 0; t < times.size(); ++t) {
    const Node* node = node_of(t);
    if (node == nullptr || times[t].runs == 0) continue;
    const KernelSpec spec = spec_of(posed.binding.graph, *node, threads);
    key_of[t] = point_key(*node->op, spec);
    Equal& all = by_key[key_of[t]];
    all.sum += times[t].seconds * times[t].runs;
    all.runs += times[t].runs;
    profile.points[key_of[t]] = {op_key(*node->op, spec), cost_of(*node->op, spec),
                                 all.sum / static_cast<double>(all.runs), all.runs};
  }
  fit_rooflines(profile);
  // What has no node (a codec, a copy) and did not run is off as much as the rest, as far as anyone knows.
  double before = 0, after = 0;
  for (std::size_t t = 0; t < times.size(); ++t) {
    if (times[t].runs > 0) before += posed.problem.tasks[t].seconds, after += times[t].seconds;
  }
  const double ratio = before > 0 ? after / before : 1;
  for (std::size_t t = 0; t < posed.problem.tasks.size(); ++t) {
    plan::Task& task = posed.problem.tasks[t];
    if (!key_of[t].empty()) {
      task.seconds = profile.points.at(key_of[t]).seconds;
    } else if (t < times.size() && times[t].runs > 0) {
      task.seconds = times[t].seconds;
    } else if (const Node* node = node_of(t)) {
      task.seconds = estimate(profile, *node->op, spec_of(posed.binding.graph, *node, threads)).seconds;
    } else {
      task.seconds *= ratio;
    }
  }
}

std::optional<plan::Plan> stay_with(const plan::Problem& problem, const plan::Plan& running, const plan::Plan& next,
                                    double least_gain) {
  plan::Plan plan = running;
  const plan::Replay now = plan::replay(problem, running);
  if (!now.broken.empty() || next.seconds < (1 - least_gain) * now.seconds) return std::nullopt;
  plan.seconds = now.seconds;
  plan.problem_hash = next.problem_hash;
  plan.seconds_bound = next.seconds_bound;
  plan.peak_bound = next.peak_bound;
  plan.bound_order_given = next.bound_order_given;
  plan.proof = next.proof;
  const bool optimal = plan.seconds_bound && plan.seconds <= *plan.seconds_bound * (1 + 1e-9);
  plan.status = optimal ? plan::Plan::Status::optimal : plan::Plan::Status::feasible;
  return plan;
}

}  // namespace tidemark
