// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/tier_search.h"

#include <limits>

namespace tidemark::plan {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kTried = 4;  // offers that are timed at one peak
std::size_t at_index(std::int32_t id) { return static_cast<std::size_t>(id); }
}  // namespace

double TierSearch::seconds() const {
  const Clock clock = clock_of(line_->model(), line_->runs());
  return clock.possible ? clock.seconds : kInfinity;
}

void TierSearch::read_clock() {
  const auto runs = line_->runs();
  const Clock clock = clock_of(line_->model(), runs);
  clock_seconds_ = clock.possible ? clock.seconds : kInfinity;
  time_.assign(at_index(line_->slots()), clock.seconds);
  std::size_t place = 0;
  for (std::int32_t s = 0; s < line_->slots() && place < runs.size(); ++s) {
    time_[at_index(s)] = clock.begin[place];
    if (line_->task_at(s) >= 0) ++place;
  }
}

void TierSearch::collect(std::int32_t at, Bytes need, std::vector<Offer>& offers) {
  const Model& m = line_->model();
  offers.clear();
  for (BufferId b = 0; b < m.buffers; ++b) {
    if (m.first_copy[at_index(b)] < 0 || m.size[at_index(b)] == 0 || !line_->spans(b, at)) continue;
    const EventList& list = line_->events(b);
    const std::size_t i = line_->event_from(b, at);
    if (i == 0 || i >= list.size() || !list[i].use || list[i].slot == at) continue;
    const std::int32_t from = list[i - 1].slot, to = list[i].slot;
    if (to >= line_->slots() - 1) continue;  // an output waits for the end
    // Only a buffer made once, and not yet copied, or that a tier has from the start and nothing has updated.
    int makings = 0;
    for (std::size_t k = 0; k < list.size(); ++k) makings += !list[k].use;
    const TaskId maker = line_->task_at(from);
    if (maker >= m.tasks && m.kind[at_index(maker)] == Model::Kind::fetch) {
      const TierId tier = m.copies[at_index(maker - m.tasks)].tier;
      const TaskId here = line_->task_at(at);
      const double behind = time_of(at) + (here >= 0 ? m.seconds[at_index(here)] : 0);
      const double stall = std::max(0.0, behind + m.copy_seconds(b, tier, false) - time_of(to));
      offers.push_back(
          {b, tier, false, true, stall / static_cast<double>(std::min(m.size[at_index(b)], need))});
      continue;
    }
    const TierId start = m.problem->buffers[at_index(b)].start;
    bool has_copy = false;
    if (line_->copies_of(b) > 0) {
      if (start < 0) continue;
      bool only_fetches = true;
      for (std::size_t k = 0; k < list.size(); ++k) {
        const TaskId t = list[k].slot < line_->slots() - 1 ? line_->task_at(list[k].slot) : -1;
        if (t < 0) continue;
        if (t >= m.tasks)
          only_fetches &= m.kind[at_index(t)] == Model::Kind::fetch;
        else
          only_fetches &=
              m.can_repeat[at_index(t)] || !std::count(m.problem->tasks[at_index(t)].writes.begin(),
                                                       m.problem->tasks[at_index(t)].writes.end(), b);
      }
      if (!only_fetches) continue;
      has_copy = true;
    } else if (makings != 1) {
      continue;
    }
    const TaskId next = line_->task_at(to);
    if (next >= m.tasks) continue;
    for (TierId tier = 0; tier < static_cast<TierId>(m.problem->tiers.size()); ++tier) {
      if (has_copy && tier != start) continue;
      const double out = has_copy ? 0 : m.copy_seconds(b, tier, true), in = m.copy_seconds(b, tier, false);
      const double begin = end_of(written_at(b, i));
      const TaskId here = line_->task_at(at);
      const double behind = time_of(at) + (here >= 0 ? m.seconds[at_index(here)] : 0);
      const double stall =
          std::max(0.0, begin + out - time_of(at)) + std::max(0.0, behind + in - time_of(to));
      const double score =
          (stall + 1e-3 * (out + in)) / static_cast<double>(std::min(m.size[at_index(b)], need));
      offers.push_back({b, tier, has_copy, false, score});
    }
  }
  std::stable_sort(offers.begin(), offers.end(),
                   [](const Offer& x, const Offer& y) { return x.score < y.score; });
  if (offers.size() > kTried) offers.resize(kTried);
}

// The last run before event `i` that gave the buffer the bytes it has there: copies may start behind it, while others read.
std::int32_t TierSearch::written_at(BufferId b, std::size_t i) const {
  const Model& m = line_->model();
  const EventList& list = line_->events(b);
  while (i-- > 0) {
    if (!list[i].use || i == 0) return list[i].slot;
    const TaskId t = line_->task_at(list[i].slot);
    if (t < 0 || t >= m.tasks) continue;
    const auto& writes = m.problem->tasks[at_index(t)].writes;
    if (std::find(writes.begin(), writes.end(), b) != writes.end()) return list[i].slot;
  }
  return -1;
}

double TierSearch::end_of(std::int32_t slot) const {
  const TaskId t = line_->task_at(slot);
  return time_of(slot) + (t >= 0 ? line_->model().seconds[at_index(t)] : 0);
}

bool TierSearch::apply(const Offer& offer, std::int32_t at) {
  const Model& m = line_->model();
  const EventList& list = line_->events(offer.buffer);
  const std::size_t i = line_->event_from(offer.buffer, at);
  const std::int32_t from = list[i - 1].slot, to = list[i].slot;
  const std::int32_t evict = m.evict_of(offer.buffer, offer.tier);
  if (offer.postpone) {
    const std::int32_t next = line_->next_run(at);
    if (next > to) return false;
    line_->remove(from);
    const std::int32_t slot = line_->make_room_before(next, 1);
    if (slot <= at || line_->task_at(at) < 0) return false;
    line_->insert(evict + 2, slot);
    return true;
  }
  // From the right, so that making room leaves the places still to come where they are.
  const double in = m.copy_seconds(offer.buffer, offer.tier, false);
  std::int32_t fetch = to;
  while (true) {
    const std::int32_t previous = line_->previous_run(fetch);
    if (previous <= at || time_of(fetch) <= time_of(to) - in) break;
    fetch = previous;
  }
  std::int32_t slot = line_->make_room_before(fetch, 1);
  if (slot <= at || line_->task_at(at) < 0) return false;
  line_->insert(evict + 2, slot);
  if (offer.has_copy) return true;
  const std::int32_t written = written_at(offer.buffer, i);
  const TaskId last = line_->task_at(from), writer = line_->task_at(written);
  const double done = end_of(written) + m.copy_seconds(offer.buffer, offer.tier, true);
  std::int32_t wait = line_->next_run(from);
  while (wait < at && time_of(wait) < done) wait = line_->next_run(wait);
  if (wait > at) wait = at;
  slot = line_->make_room_before(wait, 1);
  if (slot <= from || line_->task_at(from) != last) return false;
  line_->insert(evict + 1, slot);
  slot = line_->make_room_before(line_->next_run(written), 1);
  if (slot <= written || line_->task_at(written) != writer) return false;
  line_->insert(evict, slot);
  return true;
}

bool TierSearch::try_drop(std::int32_t at, Bytes need, double most_ratio, Rng& rng) {
  Drop drop;
  if (!drops_->find(at, need, std::numeric_limits<double>::infinity(), 0, rng, drop)) return false;
  if (drop.seconds / static_cast<double>(std::min(drop.relief, need)) > most_ratio) return false;
  return drops_->apply(drop);
}

bool TierSearch::repair(Rng& rng, const Limit& limit) {
  const Model& m = line_->model();
  std::vector<Offer> offers;
  int rounds = 0;
  while (line_->peak() > drops_->budget()) {
    if (++rounds > 200 + 4 * m.tasks || limit.time_is_up()) return false;
    if (rounds % 32 == 1) line_->respread(7);
    read_clock();
    const double now = clock_seconds_;
    const std::int32_t at = line_->profile().where_most();
    const Bytes need = line_->peak() - drops_->budget();
    const Bytes here = line_->profile().at(at);
    collect(at, need, offers);
    const Offer* best = nullptr;
    double least = kInfinity;
    for (const Offer& offer : offers) {
      const std::size_t mark = line_->mark();
      if (apply(offer, at)) {
        const double cost = std::max(0.0, seconds() - now);
        const Bytes relief = std::min(need, here - line_->profile().at(at));
        const double ratio = relief > 0 ? (cost + 1e-9 * now) / static_cast<double>(relief) : kInfinity;
        if (ratio < least) {
          least = ratio;
          best = &offer;
        }
      }
      line_->undo_to(mark);
      if (best != nullptr && least * static_cast<double>(need) < 1e-6 * now) break;
    }
    if (options_.recompute && try_drop(at, need, least, rng)) continue;
    if (best == nullptr || !apply(*best, at)) return false;
  }
  return true;
}

void TierSearch::tidy() {
  const Model& m = line_->model();
  for (BufferId b = 0; b < m.buffers; ++b) {
    if (line_->copies_of(b) == 0) continue;
    for (std::size_t i = line_->events(b).size(); i-- > 0;) {
      const EventList& list = line_->events(b);
      if (list[i].use || list[i].slot >= line_->slots() - 1) continue;
      const TaskId t = line_->task_at(list[i].slot);
      const bool unused = i + 1 >= list.size() || !list[i + 1].use;
      if (t >= m.tasks && unused) line_->remove(list[i].slot);
    }
  }
}

// Behind what wrote the buffer: it may be read while it is copied.
bool TierSearch::copy_out_sooner(TaskId evict, double& now) {
  const BufferId b = line_->model().copies[at_index(evict - line_->model().tasks)].buffer;
  const std::int32_t s = line_->runs_of(evict).front();
  const std::int32_t written = written_at(b, line_->event_from(b, s));
  if (written < 0 || line_->next_run(written) >= s) return false;
  const std::size_t mark = line_->mark();
  const TaskId writer = line_->task_at(written);
  line_->remove(s);
  const std::int32_t slot = line_->make_room_before(line_->next_run(written), 1);
  if (slot > written && line_->task_at(written) == writer) {
    line_->insert(evict, slot);
    const double then = line_->peak() <= drops_->budget() ? seconds() : kInfinity;
    if (then < now * (1 - 1e-12)) {
      now = then;
      return true;
    }
  }
  line_->undo_to(mark);
  return false;
}

void TierSearch::relax(const Limit& limit) {
  const Model& m = line_->model();
  double now = seconds();
  for (int pass = 0; pass < 3; ++pass) {
    bool changed = false;
    std::vector<TaskId> copies, outgoing;
    for (std::int32_t s = 0; s < line_->slots(); ++s) {
      const TaskId t = line_->task_at(s);
      if (t < m.tasks) continue;
      if (m.kind[at_index(t)] != Model::Kind::evict) {
        copies.push_back(t);
      } else if (line_->runs_of(t).size() == 1) {
        outgoing.push_back(t);
      }
    }
    for (const TaskId t : outgoing) {
      if (limit.time_is_up()) return;
      changed = copy_out_sooner(t, now) || changed;
    }
    for (const TaskId t : copies) {
      if (limit.time_is_up()) return;
      const bool fetch = m.kind[at_index(t)] == Model::Kind::fetch;
      const BufferId b = m.copies[at_index(t - m.tasks)].buffer;
      for (int step = 1; step <= 64; step *= 2) {
        if (line_->runs_of(t).size() != 1) break;
        const std::size_t mark = line_->mark();
        std::int32_t s = line_->runs_of(t).front();
        const EventList& list = line_->events(b);
        const std::size_t i = line_->event_from(b, s);
        const std::int32_t low = i > 0 ? list[i - 1].slot : -1;
        const std::int32_t high = i + 1 < list.size() ? list[i + 1].slot : line_->slots() - 1;
        std::int32_t to = s;
        for (int k = 0; k < step + (fetch ? 0 : 1); ++k) {
          const std::int32_t next = fetch ? line_->previous_run(to) : line_->next_run(to);
          if (fetch ? next <= low : next > high || next >= line_->slots()) break;
          to = next;
        }
        if (to == s || (!fetch && to == line_->next_run(s))) break;
        line_->remove(s);
        const std::int32_t slot = line_->make_room_before(to, 1);
        bool better = false;
        if (slot > low && slot < high) {
          line_->insert(t, slot);
          if (line_->peak() <= drops_->budget()) {
            const double then = seconds();
            better = then < now * (1 - 1e-12);
            if (better) now = then;
          }
        }
        if (!better) {
          line_->undo_to(mark);
          break;
        }
        changed = true;
      }
    }
    if (!changed) break;
  }
}

void TierSearch::prune(const Limit& limit) {
  const Model& m = line_->model();
  double now = seconds();
  for (std::int32_t c = m.tasks; c < m.all && !limit.time_is_up(); c += 3) {
    if (line_->runs_of(c).size() != 1 || line_->runs_of(c + 1).size() != 1 ||
        line_->runs_of(c + 2).size() != 1)
      continue;
    const auto [b, tier] = m.copies[at_index(c - m.tasks)];
    if (m.problem->buffers[at_index(b)].end == tier) continue;
    const std::int32_t fetch = line_->runs_of(c + 2).front();
    if (fetch < line_->runs_of(c + 1).front()) continue;
    const std::size_t mark = line_->mark();
    for (std::int32_t k = 0; k < 3; ++k) line_->remove(line_->runs_of(c + k).front());
    const double then = line_->peak() <= drops_->budget() ? seconds() : kInfinity;
    if (then <= now)
      now = then;
    else
      line_->undo_to(mark);
  }
}

}  // namespace tidemark::plan
