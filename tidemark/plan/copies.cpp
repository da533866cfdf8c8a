// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/copies.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Buffers that some task of the sequence updates: copies made before are of the old version.
std::vector<char> updated_buffers(const Model& model) {
  std::vector<char> updated(at(model.buffers), 0);
  for (const TaskId t : model.order) {
    const Task& task = model.problem->tasks[at(t)];
    for (const BufferId w : task.writes) {
      if (std::find(task.reads.begin(), task.reads.end(), w) != task.reads.end()) updated[at(w)] = 1;
    }
  }
  return updated;
}

}  // namespace

std::vector<TaskId> with_required_copies(const Model& model, const std::vector<TaskId>& order, bool hold) {
  const Problem& p = *model.problem;
  std::vector<BufferId> moved;
  for (BufferId b = 0; b < model.buffers; ++b) {
    if (model.first_copy[at(b)] >= 0 && (p.buffers[at(b)].start >= 0 || p.buffers[at(b)].end >= 0))
      moved.push_back(b);
  }
  if (moved.empty()) return order;
  constexpr std::int64_t kNever = -1;
  const auto updated = updated_buffers(model);
  std::vector<std::int64_t> last(at(model.buffers), kNever);
  std::vector<char> made(at(model.buffers), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const BufferId b : model.reads[at(order[i])]) last[at(b)] = static_cast<std::int64_t>(i);
    for (const BufferId b : model.writes[at(order[i])]) last[at(b)] = static_cast<std::int64_t>(i);
  }
  std::vector<TaskId> runs, at_end;
  const auto must_leave = [&](BufferId b) {
    const Buffer& buffer = p.buffers[at(b)];
    return buffer.end >= 0 && !(buffer.start == buffer.end && !updated[at(b)]);
  };
  const auto leave = [&](BufferId b) {
    const std::int32_t evict = model.evict_of(b, p.buffers[at(b)].end);
    runs.push_back(evict);
    auto& behind = hold ? at_end : runs;
    behind.push_back(evict + 1);
    if (model.output[at(b)]) behind.push_back(evict + 2);
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TaskId t = order[i];
    for (const BufferId b : model.reads[at(t)]) {
      if (!made[at(b)] && p.buffers[at(b)].start >= 0)
        runs.push_back(model.evict_of(b, p.buffers[at(b)].start) + 2);
      made[at(b)] = 1;
    }
    for (const BufferId b : model.writes[at(t)]) made[at(b)] = 1;
    runs.push_back(t);
    const auto ends = [&](BufferId b) {
      if (model.first_copy[at(b)] >= 0 && last[at(b)] == static_cast<std::int64_t>(i) && must_leave(b))
        leave(b);
    };
    for (const BufferId b : model.reads[at(t)]) ends(b);
    for (const BufferId b : model.writes[at(t)]) ends(b);
  }
  for (const BufferId b : moved) {
    if (last[at(b)] != kNever || p.buffers[at(b)].start < 0) continue;
    if (!must_leave(b) && !model.output[at(b)]) continue;
    runs.push_back(model.evict_of(b, p.buffers[at(b)].start) + 2);
    if (must_leave(b)) leave(b);
  }
  runs.insert(runs.end(), at_end.begin(), at_end.end());
  return runs;
}

CopyUses copy_uses(const Model& model, const std::vector<TaskId>& runs) {
  CopyUses uses;
  uses.last.assign(runs.size(), 0);
  if (!model.has_copies()) return uses;
  // From the end: whether the copy of a buffer in a tier is wanted later.
  std::vector<char> wanted(model.copies.size() / 3, 0);
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    const Model::Copy copy = model.copies[3 * c];
    wanted[c] = model.problem->buffers[at(copy.buffer)].end == copy.tier;
  }
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (runs[i] < model.tasks) continue;
    char& w = wanted[at(runs[i] - model.tasks) / 3];
    if (model.kind[at(runs[i])] == Model::Kind::evict) w = 0;
    if (model.kind[at(runs[i])] == Model::Kind::fetch) {
      uses.last[i] = !w;
      w = 1;
    }
  }
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    const Model::Copy copy = model.copies[3 * c];
    if (!wanted[c] && model.problem->buffers[at(copy.buffer)].start == copy.tier)
      uses.unwanted.push_back(copy.buffer);
  }
  return uses;
}

Clock clock_of(const Model& model, const std::vector<TaskId>& runs) {
  const Problem& p = *model.problem;
  Clock clock;
  clock.begin.resize(runs.size());
  struct Copying {
    double done = 0;
    TierId coming = -1;
    bool last = false;
  };
  std::vector<Copying> copying(model.has_copies() ? at(model.buffers) : 0);
  std::vector<double> out_free(p.tiers.size(), 0), in_free(p.tiers.size(), 0);
  std::vector<Bytes> used(p.tiers.size(), 0);
  std::vector<char> held(model.copies.size() / 3, 0);
  for (BufferId b = 0; b < model.buffers; ++b) {
    const TierId start = p.buffers[at(b)].start;
    if (start < 0) continue;
    used[at(start)] += p.size(b);
    if (model.first_copy[at(b)] >= 0) held[at(model.evict_of(b, start) - model.tasks) / 3] = 1;
  }
  const CopyUses uses = copy_uses(model, runs);
  for (const BufferId b : uses.unwanted) {
    const TierId start = p.buffers[at(b)].start;
    used[at(start)] -= p.size(b);
    held[at(model.evict_of(b, start) - model.tasks) / 3] = 0;
  }
  double now = 0;
  const auto arrive = [&](BufferId b) {
    Copying& c = copying[at(b)];
    if (c.coming < 0) return;
    now = std::max(now, c.done);
    if (c.last) {
      used[at(c.coming)] -= p.size(b);
      held[at(model.evict_of(b, c.coming) - model.tasks) / 3] = 0;
    }
    c.coming = -1;
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TaskId t = runs[i];
    clock.begin[i] = now;
    if (t < model.tasks) {
      if (!copying.empty()) {
        for (const BufferId b : model.reads[at(t)]) arrive(b);
      }
      clock.begin[i] = now;
      now += model.seconds[at(t)];
      continue;
    }
    const auto [b, tier] = model.copies[at(t - model.tasks)];
    Copying& c = copying[at(b)];
    switch (model.kind[at(t)]) {
      case Model::Kind::evict: {
        arrive(b);
        char& h = held[at(t - model.tasks) / 3];
        if (!h) used[at(tier)] += p.size(b);
        h = 1;
        if (used[at(tier)] > p.tiers[at(tier)].bytes) clock.fits = false;
        c.done = out_free[at(tier)] = std::max(now, out_free[at(tier)]) + model.copy_seconds(b, tier, true);
        break;
      }
      case Model::Kind::wait_out:
        now = std::max(now, c.done);
        break;
      default:
        c.done = in_free[at(tier)] = std::max(now, in_free[at(tier)]) + model.copy_seconds(b, tier, false);
        c.coming = tier;
        c.last = uses.last[i];
    }
  }
  for (BufferId b = 0; b < static_cast<BufferId>(copying.size()); ++b) arrive(b);
  clock.seconds = now;
  return clock;
}

}  // namespace tidemark::plan
