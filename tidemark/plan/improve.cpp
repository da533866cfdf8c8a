// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/improve.h"

#include <functional>
#include <limits>

namespace tidemark::plan {
namespace {
// Times the seconds that a swap spares: what its drop may cost. On graphs without a long way back, a drop may bring hundreds of runs that all go again.
constexpr double kWorthDropping = 3;
}  // namespace

void Improve::collect_extra() {
  extra_.clear();
  const Model& m = line_->model();
  for (TaskId t = 0; t < m.tasks; ++t) {
    const auto& runs = line_->runs_of(t);
    if (runs.empty()) continue;
    const std::size_t keep = m.group[static_cast<std::size_t>(t)] >= 0 ? 1 : 0;
    for (std::size_t i = keep; i < runs.size(); ++i) extra_.push_back(runs[i]);
  }
}

// Place in extra_. In some of the cases the dearer the likelier: where few runs take most of the seconds, there is as much to gain by them.
std::size_t Improve::any_extra() {
  const auto any = static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(extra_.size())));
  if (rng_.below(4) != 0) return any;
  const Model& m = line_->model();
  const auto seconds = [&](std::int32_t s) { return m.seconds[static_cast<std::size_t>(line_->task_at(s))]; };
  double pick = 0;
  for (const std::int32_t s : extra_) pick += seconds(s);
  pick *= rng_.uniform();
  for (std::size_t k = 0; k < extra_.size(); ++k) {
    pick -= seconds(extra_[k]);
    if (pick < 0) return k;
  }
  return any;
}

// What the run makes is then kept from its last event before; what it reads may end earlier.
bool Improve::may_fit_without(std::int32_t slot) const {
  const Model& m = line_->model();
  const auto t = static_cast<std::size_t>(line_->task_at(slot));
  Bytes freed = 0;
  std::int32_t until = slot - 1;  // up to here nothing is freed
  for (const BufferId b : m.reads[t]) {
    const auto& list = line_->events(b);
    const std::size_t i = line_->event_from(b, slot);
    if (i + 1 < list.size() && list[i + 1].use) continue;
    freed += m.size[static_cast<std::size_t>(b)];
    // The use before may then be the one that takes its storage over, and needs less itself.
    until = std::min(until, i > 0 ? list[i - 1].slot - 1 : -1);
  }
  for (const BufferId b : m.writes[t]) {
    const auto& list = line_->events(b);
    const std::size_t i = line_->event_from(b, slot);
    if (i == 0 || i + 1 >= list.size() || !list[i + 1].use) continue;
    const std::int32_t from = list[i - 1].slot + 1;
    const Bytes room = drops_->budget() - m.base - m.size[static_cast<std::size_t>(b)];
    if (line_->profile().most(from, slot - 1) - freed > room) return false;
    if (until < slot - 1 && from <= until && line_->profile().most(from, until) > room) return false;
  }
  return true;
}

bool Improve::try_remove(std::int32_t slot) {
  if (line_->task_at(slot) < 0 || !line_->removable(slot)) return false;
  if (!may_fit_without(slot)) return false;
  const std::size_t mark = line_->mark();
  const TaskId task = line_->task_at(slot);
  line_->remove(slot);
  if (line_->peak() > drops_->budget()) {
    line_->undo_to(mark);
    return false;
  }
  // What was made for this run alone goes with it.
  for (const BufferId r : line_->model().reads[static_cast<std::size_t>(task)]) {
    const auto& list = line_->events(r);
    const std::size_t i = line_->event_from(r, slot);
    if (i > 0 && !list[i - 1].use && (i == list.size() || !list[i].use)) try_remove(list[i - 1].slot);
  }
  return true;
}

void Improve::prune() {
  collect_extra();
  prune_dearest();
}

bool Improve::move_before(std::int32_t from, std::int32_t to) {
  const TaskId task = line_->task_at(from);
  const std::size_t mark = line_->mark();
  const Bytes peak = line_->peak();
  line_->remove(from);
  const std::int32_t slot = to >= line_->slots() - 1 ? line_->slots() - 2 : to;
  std::int32_t place = -1;
  if (slot == to) {
    place = line_->make_room_before(to, 1);
  } else if (line_->task_at(slot) < 0) {
    place = slot;
  } else {
    // Behind the last run: the slot before the end is kept free by moving that run left.
    const TaskId last = line_->task_at(slot);
    place = line_->make_room_before(slot, 1);
    if (place >= 0) {
      line_->remove(slot);
      line_->insert(last, place);
      place = slot;
    }
  }
  if (place >= 0) {
    line_->insert(task, place);
    if (line_->sound_around(task) && line_->peak() <= std::max(peak, drops_->budget())) return true;
  }
  line_->undo_to(mark);
  return false;
}

bool Improve::touches_copied(TaskId task) const {
  const Model& m = line_->model();
  if (!m.has_copies()) return false;
  const auto copied = [&](BufferId b) { return line_->copies_of(b) > 0; };
  const auto reads = m.reads[static_cast<std::size_t>(task)],
             writes = m.writes[static_cast<std::size_t>(task)];
  return std::any_of(reads.begin(), reads.end(), copied) || std::any_of(writes.begin(), writes.end(), copied);
}

void Improve::substitute() {
  const Model& m = line_->model();
  for (TaskId other = 0; other < m.tasks; ++other) {
    const TaskId of = m.group[static_cast<std::size_t>(other)];
    if (of < 0 || of == other || !m.allowed[static_cast<std::size_t>(other)] || touches_copied(other) ||
        touches_copied(of))
      continue;
    for (const auto& [from, to] : {std::pair{of, other}, std::pair{other, of}}) {
      const std::vector<std::int32_t> slots = line_->runs_of(from);
      for (const std::int32_t s : slots) {
        const std::size_t mark = line_->mark();
        const Bytes peak = line_->peak();
        const double seconds = line_->seconds();
        line_->remove(s);
        line_->insert(to, s);
        const bool sound = line_->sound_around(from) && line_->sound_around(to);
        const Bytes limit = drops_->budget();
        const bool better =
            peak <= limit ? line_->peak() <= limit && line_->seconds() < seconds
                          : line_->peak() < peak || (line_->peak() == peak && line_->seconds() < seconds);
        if (!sound || !better) line_->undo_to(mark);
      }
    }
  }
}

void Improve::delay(bool first_runs) {
  const Model& m = line_->model();
  std::int64_t moves = 0;
  for (std::int32_t s = line_->slots() - 1; s >= 0; --s) {
    const TaskId t = line_->task_at(s);
    if (t < 0 || t >= m.tasks || touches_copied(t)) continue;
    if (!first_runs && line_->runs_of(t).front() == s) continue;
    const auto i = static_cast<std::size_t>(t);
    std::int32_t to = line_->slots() - 1;
    Bytes gain = 0;
    for (const BufferId w : m.writes[i]) {
      const auto& list = line_->events(w);
      const std::size_t k = line_->event_from(w, s) + 1;
      if (k >= list.size()) continue;
      to = std::min(to, list[k].slot);
      if (list[k].use) gain += m.size[static_cast<std::size_t>(w)];
    }
    if (gain == 0) continue;
    for (const BufferId r : m.reads[i]) {
      const auto& list = line_->events(r);
      const std::size_t k = line_->event_from(r, s) + 1;
      // Dead after this run or before `to`: it would have to wait for it.
      std::size_t j = k;
      while (j < list.size() && list[j].slot < to) ++j;
      if (!(j < list.size() && list[j].use)) gain -= m.size[static_cast<std::size_t>(r)];
    }
    if (gain <= 0 || line_->next_run(s) >= to) continue;
    move_before(s, to);
    if (late(++moves)) return;
  }
}

void Improve::advance() {
  const Model& m = line_->model();
  std::int64_t moves = 0;
  for (std::int32_t s = 0; s < line_->slots(); ++s) {
    const TaskId t = line_->task_at(s);
    if (t < 0 || t >= m.tasks || touches_copied(t)) continue;
    const auto i = static_cast<std::size_t>(t);
    Bytes gain = 0;
    std::int32_t from = -1;  // the last event of what it reads
    for (const BufferId r : m.reads[i]) {
      const auto& list = line_->events(r);
      const std::size_t k = line_->event_from(r, s);
      if (k == 0) continue;
      from = std::max(from, list[k - 1].slot);
      if (!(k + 1 < list.size() && list[k + 1].use)) gain += m.size[static_cast<std::size_t>(r)];
    }
    for (const BufferId w : m.writes[i]) {
      gain -= m.size[static_cast<std::size_t>(w)];
      const auto& list = line_->events(w);
      const std::size_t k = line_->event_from(w, s);
      if (k > 0) from = std::max(from, list[k - 1].slot);
    }
    if (gain <= 0) continue;
    const std::int32_t to = line_->next_run(from);
    if (to >= s) continue;
    move_before(s, to);
    if (late(++moves)) return;
  }
}

bool Improve::shake(double share) {
  collect_extra();
  std::sort(extra_.begin(), extra_.end());
  const auto n = static_cast<std::int64_t>(extra_.size());
  if (n == 0) return false;
  const std::size_t mark = line_->mark();
  const std::int64_t width =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(n)), 1, n);
  const std::int64_t first = rng_.below(n - width + 1);
  for (std::int64_t k = first; k < first + width; ++k) {
    const std::int32_t s = extra_[static_cast<std::size_t>(k)];
    if (line_->task_at(s) >= 0 && line_->removable(s)) line_->remove(s);
  }
  const auto outcome = drops_->repair(std::numeric_limits<double>::infinity(), 0.2 + rng_.uniform(), rng_,
                                      100 + line_->run_count());
  if (outcome == Drops::Outcome::fits) return true;
  line_->undo_to(mark);
  return false;
}

void Improve::prune_dearest() {
  const Model& m = line_->model();
  const auto cost = [&](std::int32_t s) { return m.seconds[static_cast<std::size_t>(line_->task_at(s))]; };
  std::stable_sort(extra_.begin(), extra_.end(),
                   [&](std::int32_t x, std::int32_t y) { return cost(x) > cost(y); });
  for (const std::int32_t s : extra_) try_remove(s);
}

// The first moment of the gap that the run at `slot` bridges; `slot`: it bridges none.
std::int32_t Improve::gap_begin(std::int32_t slot) const {
  std::int32_t from = slot;
  for (const BufferId w : line_->model().writes[static_cast<std::size_t>(line_->task_at(slot))]) {
    const std::size_t i = line_->event_from(w, slot);
    if (i > 0) from = std::min(from, line_->events(w)[i - 1].slot + 1);
  }
  return from;
}

// Then all runs that the drop makes superfluous go, what is new last, or it would be the first. Only gaps over the moments at which there
// are fewer bytes now can have become free to bridge.
bool Improve::drop_and_prune(BufferId b, std::int32_t at) {
  const std::size_t mark = line_->mark();
  const std::int32_t from = line_->events(b)[line_->event_from(b, at) - 1].slot;
  if (!drops_->drop(b, at, rng_)) return false;
  std::vector<std::int32_t> added;
  std::int32_t to = at;
  for (std::size_t k = mark; k < line_->mark(); ++k) {
    if (!line_->log()[k].inserted) continue;
    added.push_back(line_->log()[k].slot);
    to = std::max(to, line_->log()[k].slot);
  }
  collect_extra();
  std::erase_if(extra_, [&](std::int32_t s) {
    return s <= from || gap_begin(s) > to || std::find(added.begin(), added.end(), s) != added.end();
  });
  prune_dearest();
  extra_.swap(added);
  std::erase_if(extra_, [&](std::int32_t s) { return line_->task_at(s) < 0; });
  prune_dearest();
  return true;
}

bool Improve::exchange(double slack) {
  collect_extra();
  if (extra_.empty()) return false;
  const double before = line_->seconds();
  const std::size_t mark = line_->mark();
  const std::int32_t slot =
      extra_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(extra_.size())))];
  const std::int32_t at = line_->fullest(gap_begin(slot), slot - 1);
  const BufferId b = at < 0 ? -1 : drops_->any_over(at, rng_);
  if (b < 0) return false;
  bool changed = drop_and_prune(b, at);
  if (changed && line_->seconds() >= before && rng_.below(2) == 0) {
    // Not enough: what is gone over one gap is as a rule of no more use over the next.
    const auto& list = line_->events(b);
    const auto i = static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(list.size())));
    const std::int32_t again =
        i > 0 && list[i].use ? line_->fullest(list[i - 1].slot + 1, list[i].slot - 1) : -1;
    if (again >= 0) drop_and_prune(b, again);
  }
  if (changed && line_->seconds() <= before + slack) return true;
  line_->undo_to(mark);
  return false;
}

// Extra runs of whose writes nothing but minor ones is read before it is made again; what they read is added to `freed`.
void Improve::remove_useless(std::vector<BufferId>& freed) {
  const Model& m = line_->model();
  collect_extra();
  std::sort(extra_.begin(), extra_.end(), std::greater<>());
  for (const std::int32_t s : extra_) {
    const auto t = static_cast<std::size_t>(line_->task_at(s));
    Bytes used = 0, all = 0;
    for (const BufferId w : m.writes[t]) {
      const auto& list = line_->events(w);
      const std::size_t i = line_->event_from(w, s) + 1;
      all += m.size[static_cast<std::size_t>(w)];
      if (i < list.size() && list[i].use) used += m.size[static_cast<std::size_t>(w)];
    }
    if (used > all / Drops::kMinor || !line_->removable(s)) continue;
    freed.insert(freed.end(), m.reads[t].begin(), m.reads[t].end());
    line_->remove(s);
  }
}

// One of them, the larger the likelier.
BufferId Improve::any_of(std::span<const BufferId> list) {
  const auto size = [&](BufferId b) {
    return static_cast<double>(line_->model().size[static_cast<std::size_t>(b)]);
  };
  double pick = 0;
  for (const BufferId b : list) pick += size(b);
  pick *= rng_.uniform();
  for (const BufferId b : list) {
    pick -= size(b);
    if (pick < 0) return b;
  }
  return list.empty() ? -1 : list.back();
}

bool Improve::swap(double slack) {
  collect_extra();
  if (extra_.empty()) return false;
  const Model& m = line_->model();
  const double before = line_->seconds();
  const std::size_t mark = line_->mark();
  const std::int32_t slot =
      extra_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(extra_.size())))];
  const auto task = static_cast<std::size_t>(line_->task_at(slot));
  const std::int32_t at = line_->fullest(gap_begin(slot), slot - 1);
  if (at < 0) return false;
  // Kept over this gap, or over all of them.
  const bool all = rng_.below(2) == 0;
  std::vector<BufferId> freed;
  const std::vector<std::int32_t> runs = line_->runs_of(line_->task_at(slot));
  for (std::size_t k = 1; k < runs.size(); ++k) {
    if ((!all && runs[k] != slot) || !line_->removable(runs[k])) continue;
    freed.insert(freed.end(), m.reads[task].begin(), m.reads[task].end());
    line_->remove(runs[k]);
  }
  remove_useless(freed);
  std::sort(freed.begin(), freed.end());
  freed.erase(std::unique(freed.begin(), freed.end()), freed.end());
  std::erase_if(freed, [&](BufferId b) { return !line_->live_before(b, at); });
  const BufferId b = any_of(freed);
  if (b >= 0 && drops_->drop(b, at, rng_, slack + kWorthDropping * (before - line_->seconds()))) {
    for (const BufferId w : m.writes[task]) {
      const auto& list = line_->events(w);
      const std::size_t i = line_->event_from(w, at);
      if (i < list.size() && list[i].use) drops_->ban(w, list[i].slot);
    }
    // What the drop has made superfluous goes below.
    const double most = before + slack + 2 * std::max(0.0, line_->seconds() - before);
    const auto outcome = drops_->repair(most, 0.4 * rng_.uniform(), rng_, 64);
    drops_->lift_bans();
    if (outcome == Drops::Outcome::fits) {
      prune();
      if (line_->seconds() <= before + slack) return true;
    }
  }
  line_->undo_to(mark);
  return false;
}

bool Improve::trade() {
  collect_extra();
  if (extra_.empty()) return false;
  std::int32_t at = line_->profile().where_most();
  if (rng_.below(2) == 0) {
    const std::int32_t slot =
        extra_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(extra_.size())))];
    at = line_->fullest(gap_begin(slot), slot - 1);
  }
  return at >= 0 && trade_.run(at, extra_, rng_);
}

bool Improve::ruin_and_recreate(double slack) {
  collect_extra();
  if (extra_.empty()) return false;
  std::sort(extra_.begin(), extra_.end());
  const double before = line_->seconds();
  const std::size_t mark = line_->mark();
  // A few runs near one another in time, or a whole short window.
  const auto n = static_cast<std::int64_t>(extra_.size());
  const auto centre = static_cast<std::int64_t>(any_extra());
  const std::int64_t kind = rng_.below(4);
  const std::int64_t width = 1 + rng_.below(kind == 0 ? 2 : kind == 1 ? 6 : kind == 2 ? 20 : 40);
  const std::int64_t first = std::max<std::int64_t>(0, centre - width / 2), last = std::min(n, first + width);
  // One of them, in half of the rounds, is not put back for the same use: with more banned, next to nothing comes out well.
  const std::int64_t banned = rng_.below(2) == 0 ? first + rng_.below(last - first) : -1;
  const auto ruin = [&](std::int32_t s, bool ban) {
    if (line_->task_at(s) < 0 || !line_->removable(s)) return;
    for (const BufferId w : line_->model().writes[static_cast<std::size_t>(line_->task_at(s))]) {
      const std::size_t i = line_->event_from(w, s) + 1;
      if (ban && i < line_->events(w).size() && line_->events(w)[i].use)
        drops_->ban(w, line_->events(w)[i].slot);
    }
    line_->remove_with_its_own(s);
  };
  for (std::int64_t k = first; k < last; ++k) {
    if (kind != 3 || k == banned || rng_.below(3) != 0)
      ruin(extra_[static_cast<std::size_t>(k)], k == banned);
  }
  if (kind != 0) {
    for (int k = 0; k < 2; ++k) ruin(extra_[static_cast<std::size_t>(rng_.below(n))], false);
  }
  if (!line_->changed_since(mark)) {
    drops_->lift_bans();
    return false;
  }
  const std::size_t ruined = line_->mark();
  const std::int64_t level = rng_.below(4);
  const double noise = level == 0 ? 0.0 : level == 3 ? 2.0 * rng_.uniform() : 0.4 * rng_.uniform();
  // What is put back may be more than is needed and go again below: only then it counts, the more often the tighter the budget. Rounds
  // that count at once are quicker.
  const double tight = static_cast<double>(n) / std::max(1, line_->model().tasks);
  const bool overshoot = rng_.uniform() < 0.3 + 2 * tight;
  const double ruined_seconds = before - line_->seconds();
  const auto outcome = drops_->repair(before + slack + (overshoot ? ruined_seconds : 0), noise, rng_, 128);
  drops_->lift_bans();
  if (outcome != Drops::Outcome::fits) {
    line_->undo_to(mark);
    if (outcome == Drops::Outcome::no_room) line_->respread(6);
    return false;
  }
  std::vector<std::int32_t> added;
  for (std::size_t k = ruined; k < line_->mark(); ++k) {
    if (line_->log()[k].inserted) added.push_back(line_->log()[k].slot);
  }
  for (std::int64_t k = std::max<std::int64_t>(0, first - 10); k < std::min(n, last + 10); ++k)
    added.push_back(extra_[static_cast<std::size_t>(k)]);
  std::sort(added.begin(), added.end());
  added.erase(std::unique(added.begin(), added.end()), added.end());
  const Model& m = line_->model();
  std::erase_if(added, [&](std::int32_t s) {
    return line_->task_at(s) < 0 || line_->runs_of(line_->task_at(s)).size() < 2;
  });
  const auto cost = [&](std::int32_t s) { return m.seconds[static_cast<std::size_t>(line_->task_at(s))]; };
  std::stable_sort(added.begin(), added.end(),
                   [&](std::int32_t x, std::int32_t y) { return cost(x) > cost(y); });
  for (const std::int32_t s : added) try_remove(s);
  for (int k = 0; k < 4; ++k) try_remove(extra_[static_cast<std::size_t>(rng_.below(n))]);
  if (line_->seconds() > before + slack) {
    line_->undo_to(mark);
    return false;
  }
  return true;
}

}  // namespace tidemark::plan
