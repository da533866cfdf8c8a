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
  if (!recording_) return nullptr;
  timelines_.resize(kRuns);
  Timeline& t = timelines_[recorded_];
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
    if (++recorded_ == kRuns) learn();
    return;
  }
  // The first run touches its pages for the first time.
  if (runs_++ > 0) last_[static_cast<std::size_t>(runs_) % kRuns] = seconds;
  const double now = measured();
  if (now <= 0 || corrections_ >= options_.most || !replan_) return;
  if (std::abs(now / std::max(predicted, 1e-12) - 1) <= options_.tolerance) return;
  recording_ = true;
  recorded_ = 0;
}

void Correction::learn() {
  recording_ = false;
  std::vector<double> seconds = seconds_of_tasks(timelines_, tasks_);
  timelines_ = {};
  done_ = false;
  working_ = true;
  worker_ = std::thread([this, seconds = std::move(seconds)]() mutable {
    try {
      result_ = replan_(std::move(seconds), [this] { return stop_.load(); });
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

std::vector<double> seconds_of_tasks(std::span<const Timeline> timelines, std::size_t tasks) {
  std::vector<std::vector<double>> all(tasks);
  for (const Timeline& t : timelines) {
    std::int64_t before = t.entries.empty() ? 0 : t.entries[0].begin_ns, worked = t.work_begin_ns;
    for (const Timeline::Entry& e : t.entries) {
      std::int64_t spent = e.end_ns - before;
      if (t.work) spent = std::min(spent, e.work_ns - worked);
      if (e.task >= 0 && static_cast<std::size_t>(e.task) < tasks) all[static_cast<std::size_t>(e.task)].push_back(static_cast<double>(spent) * 1e-9);
      before = std::max(before, e.end_ns);
      worked = e.work_ns;
    }
  }
  std::vector<double> seconds(tasks, 0);
  for (std::size_t t = 0; t < tasks; ++t) {
    if (!all[t].empty()) seconds[t] = std::max(median(all[t]), 1e-9);
  }
  return seconds;
}

void correct(Posed& posed, DeviceProfile& profile, std::span<const double> seconds, int threads) {
  const auto node_of = [&](std::size_t t) -> const Node* {
    const std::int32_t n = t < posed.binding.node_of_task.size() ? posed.binding.node_of_task[t] : -1;
    return n < 0 ? nullptr : &posed.binding.graph.nodes[static_cast<std::size_t>(n)];
  };
  // Equal kernels are one point, the mean over the tasks that are one: their sum stays as measured, and equal blocks stay equal,
  // which the planner makes use of.
  struct Equal {
    double sum = 0;
    std::int64_t count = 0;
  };
  std::map<std::string, Equal> by_key;
  std::vector<std::string> key_of(posed.problem.tasks.size());
  for (std::size_t t = 0; t < seconds.size(); ++t) {
    const Node* node = node_of(t);
    if (node == nullptr || seconds[t] <= 0) continue;
    const KernelSpec spec = spec_of(posed.binding.graph, *node, threads);
    key_of[t] = point_key(*node->op, spec);
    Equal& all = by_key[key_of[t]];
    all.sum += seconds[t];
    ++all.count;
    profile.points[key_of[t]] = {op_key(*node->op, spec), cost_of(*node->op, spec),
                                 all.sum / static_cast<double>(all.count), all.count};
  }
  fit_rooflines(profile);
  // What has no node (a codec, a copy) and did not run is off as much as the rest, as far as anyone knows.
  double before = 0, after = 0;
  for (std::size_t t = 0; t < seconds.size(); ++t) {
    if (seconds[t] > 0) before += posed.problem.tasks[t].seconds, after += seconds[t];
  }
  const double ratio = before > 0 ? after / before : 1;
  for (std::size_t t = 0; t < posed.problem.tasks.size(); ++t) {
    plan::Task& task = posed.problem.tasks[t];
    if (!key_of[t].empty()) {
      task.seconds = profile.points.at(key_of[t]).seconds;
    } else if (t < seconds.size() && seconds[t] > 0) {
      task.seconds = seconds[t];
    } else if (const Node* node = node_of(t)) {
      task.seconds = estimate(profile, *node->op, spec_of(posed.binding.graph, *node, threads)).seconds;
    } else {
      task.seconds *= ratio;
    }
  }
}

}  // namespace tidemark
