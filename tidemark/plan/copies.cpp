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

namespace {

// One compute stream and the copies beside it.
class Streams {
 public:
  Streams(const Model& model, const std::vector<TaskId>& runs)
      : m_(model),
        uses_(copy_uses(model, runs)),
        states_(model.has_copies() ? at(model.buffers) : 0),
        tiers_(model.problem->tiers.size()),
        held_(model.copies.size() / 3, Held::nothing) {
    clock_.begin.resize(runs.size());
    const Problem& p = *m_.problem;
    for (BufferId b = 0; b < m_.buffers; ++b) {
      const TierId start = p.buffers[at(b)].start;
      if (start < 0) continue;
      tiers_[at(start)].used += p.size(b);
      if (m_.first_copy[at(b)] >= 0) held(b, start) = Held::valid;
    }
    for (const BufferId b : uses_.unwanted) discard(b, p.buffers[at(b)].start);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      clock_.begin[i] = now_;
      if (runs[i] >= m_.tasks)
        copy(runs[i], uses_.last[i] != 0);
      else
        run(runs[i], clock_.begin[i]);
    }
    for (BufferId b = 0; b < static_cast<BufferId>(states_.size()); ++b) end(b);
    clock_.seconds = now_;
  }
  Clock clock() && { return std::move(clock_); }

 private:
  enum class Held : std::uint8_t { nothing, stale, valid };
  struct State {
    double done = 0;  // of the copy under way
    TierId coming = -1, going = -1;
    bool last = false;  // nothing fetches it again behind the fetch under way
    bool gone = false;  // copied out, and not brought back
  };
  struct TierState {
    Bytes used = 0;
    double out_free = 0, in_free = 0;
  };

  Held& held(BufferId b, TierId tier) { return held_[at(m_.evict_of(b, tier) - m_.tasks) / 3]; }
  void require(bool rule) { clock_.possible = clock_.possible && rule; }
  void discard(BufferId b, TierId tier) {
    tiers_[at(tier)].used -= m_.problem->size(b);
    held(b, tier) = Held::nothing;
  }

  void arrive(BufferId b) {
    State& s = states_[at(b)];
    if (s.coming < 0) return;
    now_ = std::max(now_, s.done);
    if (s.last) discard(b, s.coming);
    s.coming = -1;
  }

  void run(TaskId t, double& begin) {
    if (!states_.empty()) {
      for (const BufferId b : m_.reads[at(t)]) {
        arrive(b);
        require(!states_[at(b)].gone);
      }
      for (const BufferId b : m_.updates[at(t)]) {
        require(states_[at(b)].going < 0);
        for (TierId tier = 0; tier < static_cast<TierId>(tiers_.size()) && m_.first_copy[at(b)] >= 0; ++tier)
          if (held(b, tier) == Held::valid) held(b, tier) = Held::stale;
      }
      for (const BufferId b : m_.writes[at(t)]) {
        require(states_[at(b)].going < 0 && states_[at(b)].coming < 0);
        states_[at(b)].gone = false;
      }
    }
    begin = now_;
    now_ += m_.seconds[at(t)];
  }

  void copy(TaskId t, bool last) {
    const auto [b, tier] = m_.copies[at(t - m_.tasks)];
    State& s = states_[at(b)];
    TierState& streams = tiers_[at(tier)];
    switch (m_.kind[at(t)]) {
      case Model::Kind::evict:
        arrive(b);
        require(!s.gone && s.going < 0);
        if (held(b, tier) == Held::nothing) streams.used += m_.problem->size(b);
        held(b, tier) = Held::stale;
        require(streams.used <= m_.problem->tiers[at(tier)].bytes);
        s.done = streams.out_free = std::max(now_, streams.out_free) + m_.copy_seconds(b, tier, true);
        s.going = tier;
        break;
      case Model::Kind::wait_out:
        require(s.going == tier);
        now_ = std::max(now_, s.done);
        held(b, tier) = Held::valid;
        s.going = -1;
        s.gone = true;
        break;
      default:
        require(held(b, tier) == Held::valid && s.going < 0 && s.coming < 0);
        s.done = streams.in_free = std::max(now_, streams.in_free) + m_.copy_seconds(b, tier, false);
        s.coming = tier;
        s.last = last;
        s.gone = false;
    }
  }

  void end(BufferId b) {
    arrive(b);
    const TierId tier = m_.problem->buffers[at(b)].end;
    require(states_[at(b)].going < 0 && !(m_.output[at(b)] && states_[at(b)].gone));
    require(tier < 0 || m_.first_copy[at(b)] < 0 || held(b, tier) == Held::valid);
  }

  const Model& m_;
  const CopyUses uses_;
  std::vector<State> states_;
  std::vector<TierState> tiers_;
  std::vector<Held> held_;  // by buffer and tier
  double now_ = 0;
  Clock clock_;
};

}  // namespace

Clock clock_of(const Model& model, const std::vector<TaskId>& runs) { return Streams(model, runs).clock(); }

}  // namespace tidemark::plan
