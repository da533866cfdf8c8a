// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/emit.h"

#include "tidemark/base/error.h"
#include "tidemark/plan/copies.h"

namespace tidemark::plan {

std::vector<Step> steps_of(const Timeline& line) {
  const Model& m = line.model();
  std::vector<Step> steps;
  steps.reserve(static_cast<std::size_t>(line.run_count()) * 2);
  std::vector<char> coming(m.has_copies() ? static_cast<std::size_t>(m.buffers) : 0, 0);
  std::vector<Model::Pair> pairs;
  const CopyUses uses = copy_uses(m, line.runs());
  for (const BufferId b : uses.unwanted)
    steps.push_back({.kind = Step::Kind::discard,
                     .id = b,
                     .tier = m.problem->buffers[static_cast<std::size_t>(b)].start});
  std::vector<std::pair<TierId, bool>> from(
      coming.size());  // of a fetch under way: its tier, and whether it is the last
  std::size_t place = 0;
  const auto arrive = [&](BufferId b) {
    if (coming.empty() || !coming[static_cast<std::size_t>(b)]) return;
    coming[static_cast<std::size_t>(b)] = 0;
    steps.push_back({.kind = Step::Kind::wait, .id = b});
    const auto [tier, is_last] = from[static_cast<std::size_t>(b)];
    if (is_last) steps.push_back({.kind = Step::Kind::discard, .id = b, .tier = tier});
  };
  for (std::int32_t s = 0; s + 1 < line.slots(); ++s) {
    const TaskId t = line.task_at(s);
    if (t < 0) continue;
    const auto i = static_cast<std::size_t>(t);
    ++place;
    if (m.kind[i] != Model::Kind::task) {
      const Model::Copy copy = m.copies[static_cast<std::size_t>(t - m.tasks)];
      if (m.kind[i] == Model::Kind::evict) {
        arrive(copy.buffer);
        steps.push_back({.kind = Step::Kind::evict, .id = copy.buffer, .tier = copy.tier});
      } else if (m.kind[i] == Model::Kind::wait_out) {
        steps.push_back({.kind = Step::Kind::wait, .id = copy.buffer});
      } else {
        steps.push_back({.kind = Step::Kind::fetch, .id = copy.buffer, .tier = copy.tier});
        coming[static_cast<std::size_t>(copy.buffer)] = 1;
        from[static_cast<std::size_t>(copy.buffer)] = {copy.tier, uses.last[place - 1] != 0};
      }
      continue;
    }
    for (const BufferId b : m.reads[i]) arrive(b);
    line.in_place_at(s, pairs);
    Step run{.kind = Step::Kind::run, .id = t};
    for (const auto& pair : pairs) run.in_place.emplace_back(pair.read, pair.write);
    steps.push_back(std::move(run));
    const auto drop_dead = [&](BufferId b) {
      const auto& list = line.events(b);
      const std::size_t k = line.event_from(b, s) + 1;
      if (k < list.size() && list[k].use) return;
      for (const auto& pair : pairs) {
        if (pair.read == b) return;
      }
      steps.push_back({.kind = Step::Kind::drop, .id = b});
    };
    for (const BufferId b : m.reads[i]) drop_dead(b);
    for (const BufferId b : m.writes[i]) drop_dead(b);
  }
  for (std::size_t b = 0; b < coming.size(); ++b) arrive(static_cast<BufferId>(b));
  return steps;
}

Plan plan_of(const Problem& problem, std::vector<Step> steps) {
  Plan plan;
  plan.steps = std::move(steps);
  const Replay truth = replay(problem, plan);
  TIDEMARK_CHECK(truth.broken.empty(), "[solve] the search gave no plan: {}", truth.broken);
  plan.live_peak = plan.peak = truth.live_peak;
  plan.seconds = truth.seconds;
  plan.lossy = truth.lossy;
  return plan;
}

std::vector<TaskId> runs_of_steps(const Model& model, const std::vector<Step>& steps) {
  std::vector<TaskId> runs;
  std::vector<TierId> going(static_cast<std::size_t>(model.buffers), -1);
  for (const Step& step : steps) {
    const auto id = static_cast<std::size_t>(step.id);
    switch (step.kind) {
      case Step::Kind::run:
        runs.push_back(step.id);
        break;
      case Step::Kind::evict:
        if (model.first_copy[id] < 0) break;
        runs.push_back(model.evict_of(step.id, step.tier));
        going[id] = step.tier;
        break;
      case Step::Kind::wait:
        if (going[id] >= 0) runs.push_back(model.evict_of(step.id, going[id]) + 1);
        going[id] = -1;
        break;
      case Step::Kind::fetch:
        if (model.first_copy[id] >= 0) runs.push_back(model.evict_of(step.id, step.tier) + 2);
        break;
      default:
        break;
    }
  }
  return runs;
}

}  // namespace tidemark::plan
