// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/makers.h"

#include <algorithm>
#include <numeric>

#include "tidemark/compile/maker_pass.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// A stretch of the step shorter than this is over before anything else could use the memory.
constexpr double kShortestGap = 0.02;

}  // namespace

MakerPass::MakerPass(Posed& p, const MakerOptions& o)
    : posed(p), options(o), profile_(o.profile), updates_(p.problem) {
  if (profile_ == nullptr) {
    own_profile_ = cpu_profile(o.threads);
    profile_ = &own_profile_;
  }
  const plan::Problem& problem = posed.problem;
  posed.maker_seconds.clear();
  uses_.resize(problem.buffers.size());
  maker_.assign(problem.buffers.size(), -1);
  output_.assign(problem.buffers.size(), 0);
  for (const plan::BufferId b : problem.outputs) output_[at(b)] = 1;
  std::vector<int> made(problem.buffers.size(), 0);
  until_.assign(problem.tasks.size() + 1, 0);
  const bool given = options.seconds.size() == problem.tasks.size();
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const plan::Task& task = problem.tasks[t];
    const double seconds = given ? options.seconds[t] : task.seconds;
    posed.maker_seconds.push_back(seconds);
    until_[t + 1] = until_[t] + (task.optional ? 0 : seconds);
    if (task.optional) continue;
    for (const auto* list : {&task.reads, &task.writes}) {
      for (const plan::BufferId b : *list) {
        if (uses_[at(b)].empty() || uses_[at(b)].back() != static_cast<plan::TaskId>(t))
          uses_[at(b)].push_back(static_cast<plan::TaskId>(t));
      }
    }
    for (const plan::BufferId b : task.writes)
      maker_[at(b)] = ++made[at(b)] > 1 || task.once ? -1 : static_cast<plan::TaskId>(t);
  }
}

plan::TaskId MakerPass::use_before(plan::BufferId b, plan::TaskId t) const {
  const auto& list = uses_[at(b)];
  const auto found = std::lower_bound(list.begin(), list.end(), t);
  return found == list.begin() ? -1 : found[-1];
}

int MakerPass::uses_from(plan::BufferId b, plan::TaskId t) const {
  const auto& list = uses_[at(b)];
  return static_cast<int>(list.end() - std::lower_bound(list.begin(), list.end(), t));
}

double MakerPass::seconds_between(plan::TaskId from, plan::TaskId to) const {
  return until_[at(to)] - until_[at(from + 1)];
}
bool MakerPass::is_gap(plan::TaskId from, plan::TaskId to) const {
  return from >= 0 && to - from > 2 && seconds_between(from, to) >= kShortestGap * until_.back();
}

bool MakerPass::is_constant(plan::BufferId b) const {
  return posed.problem.buffers[at(b)].resident && !updates_.any(b);
}
bool MakerPass::is_passing(plan::BufferId b) const {
  const plan::Buffer& buffer = posed.problem.buffers[at(b)];
  return !buffer.resident && buffer.start < 0 && buffer.end < 0 && !updates_.any(b) && !output_[at(b)] &&
         maker_[at(b)] >= 0;
}

double MakerPass::seconds(Bytes moved) const {
  return profile_->roofline.seconds({.flops = 0, .bytes = static_cast<double>(moved)});
}

plan::BufferId MakerPass::add_buffer(std::string name, Bytes bytes, const char* kind) {
  posed.problem.buffers.push_back({.name = std::move(name), .bytes = bytes, .kind = kind});
  posed.binding.value_of_buffer.push_back(-1);
  return static_cast<plan::BufferId>(posed.problem.buffers.size() - 1);
}

std::size_t MakerPass::add_task(NewTask task) {
  task.task.optional = true;
  task.task.workspace = task.kernel->workspace();
  tasks_.push_back(std::move(task));
  return tasks_.size() - 1;
}

std::vector<Maker> MakerPass::finish() {
  // What reads the results of a task comes behind all that may run instead of it: each of them may be the one that has to run.
  std::vector<plan::TaskId> number(tasks_.size());
  std::iota(number.begin(), number.end(), 0);
  std::stable_partition(number.begin(), number.end(), [&](plan::TaskId k) {
    const NewTask& task = tasks_[at(k)];
    return task.task.instead_of >= 0 && task.task.instead_of + 1 >= task.before;
  });
  std::vector<NewTask> sorted;
  std::vector<plan::TaskId> place(tasks_.size());
  for (const plan::TaskId k : number) {
    place[at(k)] = static_cast<plan::TaskId>(sorted.size());
    sorted.push_back(std::move(tasks_[at(k)]));
  }
  const Moved moved = insert_tasks(posed, std::move(sorted));
  for (Maker& m : makers_) {
    for (plan::TaskId& t : m.run) t = moved.added_at[at(place[at(t)])];
    for (plan::TaskId& t : m.instead) t = moved.place[at(t)];
  }
  return std::move(makers_);
}

void add_makers(Posed& posed, const MakerOptions& options) {
  MakerPass pass(posed, options);
  if (options.lossless) {
    find_factors(pass);
    find_in_consumer(pass);
  }
  find_inverses(pass);
  find_codecs(pass);
  posed.makers = pass.finish();
}

void forbid(plan::Problem& problem, const Maker& maker) {
  for (const plan::TaskId t : maker.run) {
    plan::Task& task = problem.tasks[at(t)];
    task = plan::Task{.name = std::move(task.name), .kind = std::move(task.kind), .optional = true};
  }
}

plan::Problem committed(const plan::Problem& problem, std::span<const Maker* const> makers) {
  plan::Problem result = problem;
  std::vector<char> replaced(problem.tasks.size(), 0), spared(problem.buffers.size(), 0);
  for (const Maker* m : makers) {
    if (spared[at(m->buffer)] ||
        std::any_of(m->instead.begin(), m->instead.end(), [&](plan::TaskId t) { return replaced[at(t)]; }))
      continue;
    spared[at(m->buffer)] = 1;
    for (const plan::TaskId t : m->run) {
      result.tasks[at(t)].optional = false;
      result.tasks[at(t)].instead_of = -1;
    }
    for (const plan::TaskId t : m->instead) {
      replaced[at(t)] = 1;
      result.tasks[at(t)].optional = true;
      result.tasks[at(t)].instead_of = m->run.back();
    }
  }
  // What stood in for a task that is optional now stands in for its successor.
  for (std::size_t t = 0; t < result.tasks.size(); ++t) {
    plan::Task& task = result.tasks[t];
    if (task.optional && task.instead_of >= 0 && replaced[at(task.instead_of)])
      task.instead_of = result.tasks[at(task.instead_of)].instead_of;
  }
  const std::string broken = plan::verify(result);
  TIDEMARK_CHECK(broken.empty(), "makers that are taken break the problem: {}", broken);
  return result;
}

}  // namespace tidemark
