// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/story.h"

#include <algorithm>
#include <unordered_map>

namespace tidemark {
namespace {

// (step, buffer) → offset.
class Offsets {
 public:
  explicit Offsets(const plan::Plan& plan) {
    for (const plan::Placement& p : plan.placements) at_.emplace(key(p.step, p.buffer), p.offset);
  }
  Bytes at(std::size_t step, plan::BufferId buffer) const {
    const auto found = at_.find(key(static_cast<std::int32_t>(step), buffer));
    return found == at_.end() ? -1 : found->second;
  }

 private:
  static std::int64_t key(std::int32_t step, plan::BufferId buffer) {
    return (static_cast<std::int64_t>(step) << 32) ^ static_cast<std::uint32_t>(buffer);
  }
  std::unordered_map<std::int64_t, Bytes> at_;
};

}  // namespace

Story tell(const plan::Problem& problem, const plan::Plan& plan) {
  Story story;
  const Offsets offsets(plan);
  std::vector<std::int32_t> alive(problem.buffers.size(), -1);  // index into lives
  std::vector<char> ran(problem.tasks.size(), 0);
  Bytes live = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (problem.buffers[b].resident) story.resident += problem.size(static_cast<plan::BufferId>(b));
  }
  live = story.resident;
  double now = 0;
  const auto born = [&](plan::BufferId b, std::size_t step) {
    if (problem.buffers[static_cast<std::size_t>(b)].resident || alive[static_cast<std::size_t>(b)] >= 0)
      return;
    alive[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(story.lives.size());
    const auto run = static_cast<std::int32_t>(story.runs.size());
    story.lives.push_back({b, run, run + 1, offsets.at(step, b), problem.size(b)});
    live += problem.size(b);
  };
  const auto gone = [&](plan::BufferId b) {
    std::int32_t& index = alive[static_cast<std::size_t>(b)];
    if (index < 0) return;
    Life& life = story.lives[static_cast<std::size_t>(index)];
    life.last = std::max(life.first + 1, static_cast<std::int32_t>(story.runs.size()));
    live -= life.bytes;
    index = -1;
  };
  std::vector<char> leaving(problem.buffers.size(), 0);
  std::vector<double> free_at(2 * problem.tiers.size(), 0), arrives(problem.buffers.size(), 0);
  const auto copy = [&](const plan::Step& step, bool out) {
    const plan::Tier& tier = problem.tiers[static_cast<std::size_t>(step.tier)];
    double& free = free_at[2 * static_cast<std::size_t>(step.tier) + (out ? 1 : 0)];
    const double begin = std::max(now, free);
    free = begin + tier.latency_seconds +
           static_cast<double>(problem.size(step.id)) /
               (out ? tier.write_bytes_per_second : tier.read_bytes_per_second);
    arrives[static_cast<std::size_t>(step.id)] = free;
    story.copies.push_back(
        {step.id, step.tier, out, static_cast<std::int32_t>(story.runs.size()), begin, free});
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::Step& step = plan.steps[s];
    switch (step.kind) {
      case plan::Step::Kind::run: {
        const plan::Task& task = problem.tasks[static_cast<std::size_t>(step.id)];
        for (const plan::BufferId b : task.writes) born(b, s);
        Bytes shared = 0;
        for (const auto& [from, to] : step.in_place) shared += std::min(problem.size(from), problem.size(to));
        const Bytes workspace = round_up(task.workspace, problem.align);
        if (workspace > 0) {
          const auto run = static_cast<std::int32_t>(story.runs.size());
          story.lives.push_back({plan::Placement::kWorkspace, run, run + 1,
                                 offsets.at(s, plan::Placement::kWorkspace), workspace});
        }
        char& before = ran[static_cast<std::size_t>(step.id)];
        story.runs.push_back({step.id, now, now + task.seconds, before != 0, live - shared + workspace,
                              static_cast<std::int32_t>(s)});
        before = 1;
        now += task.seconds;
        for (const auto& [from, to] : step.in_place) {
          static_cast<void>(to);
          gone(from);
        }
        break;
      }
      case plan::Step::Kind::drop:
        gone(step.id);
        break;
      case plan::Step::Kind::evict:
        copy(step, true);
        leaving[static_cast<std::size_t>(step.id)] = 1;
        break;
      case plan::Step::Kind::fetch:
        copy(step, false);
        born(step.id, s);
        break;
      case plan::Step::Kind::wait:
        now = std::max(now, arrives[static_cast<std::size_t>(step.id)]);
        if (leaving[static_cast<std::size_t>(step.id)]) gone(step.id);
        leaving[static_cast<std::size_t>(step.id)] = 0;
        break;
      case plan::Step::Kind::discard:
        break;
    }
  }
  for (std::size_t b = 0; b < alive.size(); ++b) gone(static_cast<plan::BufferId>(b));
  return story;
}

}  // namespace tidemark
