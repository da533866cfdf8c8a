// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/drops.h"

#include <cmath>
#include <limits>
#include <utility>

namespace tidemark::plan {
namespace {
constexpr double kFurther =
    1.25;  // times the best cost: how far a candidate's is followed, for the next time
constexpr double kSecondsARun = 1.5e-7;  // of the sequence, for each drop
constexpr std::size_t kMostTasks = 600;  // in one closure: beyond it another buffer is the better choice
}  // namespace

Drops::Drops(Timeline& line, Bytes budget) : line_(&line), budget_(budget) {
  const Model& m = line.model();
  mark_.assign(static_cast<std::size_t>(m.all), 0);
  banned_use_.assign(static_cast<std::size_t>(m.buffers), -1);
  std::vector<double> ratio(static_cast<std::size_t>(m.buffers), std::numeric_limits<double>::infinity());
  std::vector<char> minor(static_cast<std::size_t>(m.buffers), 0);
  // By task or copy: the bytes of all that it makes, and of the largest. One that makes very much is looked at once, not for each of them.
  std::vector<Bytes> made(static_cast<std::size_t>(m.all), 0), largest = made;
  for (std::size_t t = 0; t < made.size(); ++t) {
    for (const BufferId w : m.writes[t]) {
      made[t] += m.size[static_cast<std::size_t>(w)];
      largest[t] = std::max(largest[t], m.size[static_cast<std::size_t>(w)]);
    }
  }
  for (BufferId b = 0; b < m.buffers; ++b) {
    const auto i = static_cast<std::size_t>(b);
    if (m.resident[i] || m.size[i] == 0) continue;
    for (const TaskId maker : m.makers[i]) {
      const auto t = static_cast<std::size_t>(maker);
      if (!m.can_repeat[t]) continue;
      if (largest[t] / kMinor >= m.size[i]) minor[i] = 1;
      ratio[i] = std::min(ratio[i], m.seconds[t] / static_cast<double>(made[t]));
    }
    if (ratio[i] < std::numeric_limits<double>::infinity()) by_ratio_.push_back(b);
  }
  std::stable_sort(by_ratio_.begin(), by_ratio_.end(), [&](BufferId x, BufferId y) {
    return ratio[static_cast<std::size_t>(x)] < ratio[static_cast<std::size_t>(y)];
  });
  majors_ = static_cast<std::size_t>(
      std::stable_partition(by_ratio_.begin(), by_ratio_.end(),
                            [&](BufferId b) { return minor[static_cast<std::size_t>(b)] == 0; }) -
      by_ratio_.begin());
  for (const BufferId b : by_ratio_) {
    ratio_.push_back(ratio[static_cast<std::size_t>(b)]);
    double least = std::numeric_limits<double>::infinity();
    for (const TaskId t : m.makers[static_cast<std::size_t>(b)]) {
      if (m.can_repeat[static_cast<std::size_t>(t)])
        least = std::min(least, m.seconds[static_cast<std::size_t>(t)]);
    }
    least_seconds_.push_back(least);
  }
  known_.assign(by_ratio_.size(), {});
  rank_.assign(static_cast<std::size_t>(m.buffers), -1);
  for (std::size_t k = 0; k < by_ratio_.size(); ++k)
    rank_[static_cast<std::size_t>(by_ratio_[k])] = static_cast<std::int32_t>(k);
  std::vector<std::vector<TaskId>> readers(static_cast<std::size_t>(m.buffers));
  for (TaskId t = 0; t < m.tasks; ++t) {
    if (!m.can_repeat[static_cast<std::size_t>(t)]) continue;
    for (const BufferId r : m.reads[static_cast<std::size_t>(t)])
      readers[static_cast<std::size_t>(r)].push_back(t);
  }
  for (const auto& list : readers) {
    for (const TaskId t : list) readers_.add(t);
    readers_.end_row();
  }
  only_maker_.assign(static_cast<std::size_t>(m.buffers), kSeveral);
  for (BufferId b = 0; b < m.buffers && !m.has_copies(); ++b) {
    const auto makers = m.makers[static_cast<std::size_t>(b)];
    if (makers.size() != 1) continue;
    const auto t = static_cast<std::size_t>(makers.front());
    if (!m.after[t].empty() || !m.before[t].empty()) continue;
    only_maker_[static_cast<std::size_t>(b)] = m.can_repeat[t] && m.allowed[t] ? makers.front() : -1;
  }
}

bool Drops::may_run(TaskId t, std::int32_t before) const {
  const Model& m = line_->model();
  const auto i = static_cast<std::size_t>(t);
  if (!m.can_repeat[i] || !m.allowed[i]) return false;
  if (m.has_copies()) {
    for (const BufferId w : m.writes[i]) {
      if (line_->copies_of(w) > 0) return false;
    }
  }
  for (const TaskId u : m.after[i]) {
    if (line_->runs_of(u).empty() || line_->runs_of(u).front() >= before) return false;
  }
  for (const TaskId u : m.before[i]) {
    if (!line_->runs_of(u).empty() && line_->runs_of(u).front() < before) return false;
  }
  return true;
}

// With several makers: the least seconds, what it reads and is not there counted with its own cheapest maker.
TaskId Drops::choose_maker(BufferId b, std::int32_t before) {
  if (const TaskId only = only_maker_[static_cast<std::size_t>(b)]; only != kSeveral) return only;
  const Model& m = line_->model();
  const auto makers = m.makers[static_cast<std::size_t>(b)];
  TaskId best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (const TaskId t : makers) {
    if (mark_[static_cast<std::size_t>(t)] == round_) return t;
    if (!may_run(t, before)) continue;
    if (makers.size() == 1) return t;
    double cost = m.seconds[static_cast<std::size_t>(t)];
    bool possible = true;
    for (const BufferId c : m.reads[static_cast<std::size_t>(t)]) {
      if (line_->live_before(c, before)) continue;
      // Something that is itself being made cannot be read to make it.
      possible &= c != b && !line_->events(c).empty() && line_->events(c).front().slot < before;
      const auto others = m.makers[static_cast<std::size_t>(c)];
      if (!others.empty()) cost += m.seconds[static_cast<std::size_t>(others.front())];
    }
    if (possible && cost < least) {
      least = cost;
      best = t;
    }
  }
  return best;
}

// Depth first over what has to be there, so that drop.tasks is in an order that can run.
bool Drops::collect(BufferId b, std::int32_t at, double most_seconds, Drop& drop) {
  const Model& m = line_->model();
  ++round_;
  drop.tasks.clear();
  drop.seconds = 0;
  drop.relief = 0;
  stack_.clear();
  const std::int32_t before = drop.before;
  const auto push = [&](TaskId t) {
    mark_[static_cast<std::size_t>(t)] = round_;
    stack_.push_back({t, 0});
    // Where nothing has used what it made, it is not made again: it was made too early.
    bool used = !moves_first_;
    for (const BufferId w : m.writes[static_cast<std::size_t>(t)]) {
      const auto& list = line_->events(w);
      const std::size_t i = line_->event_from(w, at);
      if (i > 0 && i < list.size() && list[i].use && list[i].slot > at && list[i].slot >= before) {
        drop.relief += m.size[static_cast<std::size_t>(w)];
      }
      used |= i == 0 || list[i - 1].use || line_->task_at(list[i - 1].slot) != t ||
              (i < list.size() && list[i].use && list[i].slot < before);
    }
    if (used) drop.seconds += m.seconds[static_cast<std::size_t>(t)];
  };
  const TaskId maker = choose_maker(b, before);
  if (maker < 0) return false;
  push(maker);
  while (!stack_.empty()) {
    if (drop.seconds >= most_seconds || drop.tasks.size() + stack_.size() > kMostTasks) return false;
    Frame& frame = stack_.back();
    const auto reads = m.reads[static_cast<std::size_t>(frame.task)];
    if (frame.next == reads.size()) {
      drop.tasks.push_back(frame.task);
      stack_.pop_back();
      continue;
    }
    const BufferId c = reads[frame.next++];
    const auto& list = line_->events(c);
    const std::size_t i = line_->event_from(c, before);
    const bool live = i > 0 && i < list.size() && list[i].use;
    if (live && c != b) continue;
    if (i == 0 || line_->copies_of(c) > 0) return false;  // what is copied comes and goes with its copies
    // Not there: keep it since its last use if that is behind the moment and fits, else make it too.
    const std::int32_t last = list[i - 1].slot;
    const Bytes size = m.size[static_cast<std::size_t>(c)];
    if (c != b && last > at && m.base + line_->profile().most(last + 1, before) + size <= budget_) continue;
    const TaskId t = choose_maker(c, before);
    if (t >= 0 && mark_[static_cast<std::size_t>(t)] == round_) {
      // In the closure already; if it is still on the stack the makers read each other.
      for (const Frame& f : stack_) {
        if (f.task == t) return false;
      }
      continue;
    }
    const bool keep = t >= 0 && price_now_ > 0 && c != b &&
                      m.seconds[static_cast<std::size_t>(t)] > price_now_ * static_cast<double>(size);
    if (t < 0 || keep) {
      if (c == b) return false;
      if (last < at) drop.relief -= size;
      continue;
    }
    push(t);
  }
  return drop.relief > 0;
}

bool Drops::evaluate(BufferId b, std::int32_t at, double most_seconds, Drop& drop) {
  const auto& list = line_->events(b);
  const std::size_t i = line_->event_from(b, at);
  if (i == 0 || i >= list.size() || !list[i].use || list[i].slot == at) return false;
  if (banned_use_[static_cast<std::size_t>(b)] == list[i].slot) return false;
  drop.buffer = b;
  drop.before = list[i].slot;
  return collect(b, at, most_seconds, drop);
}

// Looks at all candidates only once for a repair. Afterwards what was found of them stands for their cost (lazy greedy: Minoux 1978), except for
// those that the last drop may have made cheaper; the best is evaluated again until it stays the best.
bool Drops::find(std::int32_t at, Bytes need, double most_seconds, double noise, Rng& rng, Drop& best) {
  begin(noise, rng);
  return find_next(at, need, most_seconds, noise, rng, best);
}

void Drops::begin(double noise, Rng& rng) {
  ++repair_;
  price_now_ = noise > 0 ? price_ * std::exp2(6 * rng.uniform() - 3) : price_;
}

bool Drops::find_next(std::int32_t at, Bytes need, double most_seconds, double noise, Rng& rng, Drop& best) {
  double least = std::numeric_limits<double>::infinity(), cap = most_seconds;
  best.buffer = -1;
  const auto wanted = static_cast<double>(need);
  const auto look_at = [&](std::size_t k, double factor) {
    Known& known = known_[k];
    trial_.buffer = -1;
    const double dear = kFurther * cap / factor;
    const bool possible = evaluate(by_ratio_[k], at, dear, trial_);
    // Without a gap at this moment there is nothing to know, and that is quick to find out.
    known.repair = trial_.buffer >= 0 ? repair_ : -1;
    known.seconds = possible                 ? trial_.seconds
                    : trial_.seconds >= dear ? dear
                                             : std::numeric_limits<double>::infinity();
    known.relief = possible ? static_cast<double>(trial_.relief) : std::numeric_limits<double>::infinity();
    const double score = factor * known.seconds / std::min(known.relief, wanted);
    if (!possible || score >= least || known.seconds >= most_seconds) return;
    least = score;
    cap = std::min(most_seconds, least * wanted);
    std::swap(best, trial_);
  };
  const auto look_through = [&](std::size_t from, std::size_t to) {
    candidates_.clear();
    // Which of them there are is chance as good as any: no branch of a processor foresees it, so there is none.
    spanning_.resize(to - from);
    drawn_.resize(to - from);
    const std::span<const BufferId> buffers(by_ratio_);
    const std::span<std::int32_t> spanning(spanning_);
    std::size_t count = 0;
    for (std::size_t k = from; k < to; ++k) {
      spanning[count] = static_cast<std::int32_t>(k);
      count += line_->spans(buffers[k], at) ? 1 : 0;
    }
    // Half of them, each with its factor: both from one number.
    std::size_t drawn = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const std::uint64_t random = noise > 0 ? rng.next() : 0;
      drawn_[drawn] = {random, spanning[j]};
      drawn += (random & 1) ^ 1;
    }
    for (std::size_t j = 0; j < drawn; ++j) {
      const auto k = static_cast<std::size_t>(drawn_[j].which);
      const double factor = 1 + noise * uniform_double(drawn_[j].random);
      const Known& known = known_[k];
      if (known.repair == repair_) {
        const double seconds = factor * known.seconds, relief = std::min(known.relief, wanted);
        if (seconds < least * relief)
          candidates_.push_back({seconds / relief, factor, static_cast<std::int32_t>(k)});
      } else if (ratio_[k] <= least && least_seconds_[k] < cap) {
        look_at(k, factor);
      }
    }
    // One or two are looked at, as a rule: no heap pays.
    while (!candidates_.empty()) {
      const auto first =
          std::min_element(candidates_.begin(), candidates_.end(),
                           [](const Candidate& x, const Candidate& y) { return x.score < y.score; });
      if (first->score >= least) break;
      look_at(static_cast<std::size_t>(first->which), first->factor);
      *first = candidates_.back();
      candidates_.pop_back();
    }
  };
  look_through(0, majors_);
  if (best.buffer < 0) look_through(majors_, by_ratio_.size());
  return best.buffer >= 0;
}

BufferId Drops::any_over(std::int32_t at, Rng& rng) {
  candidates_.clear();
  double all = 0;
  for (std::size_t k = 0; k < majors_; ++k) {
    if (!line_->spans(by_ratio_[k], at) || !line_->live_before(by_ratio_[k], at)) continue;
    all += static_cast<double>(line_->model().size[static_cast<std::size_t>(by_ratio_[k])]);
    candidates_.push_back({all, 1, static_cast<std::int32_t>(k)});
  }
  const double pick = all * rng.uniform();
  const auto it = std::find_if(candidates_.begin(), candidates_.end(),
                               [&](const Candidate& c) { return c.score > pick; });
  return it == candidates_.end() ? -1 : by_ratio_[static_cast<std::size_t>(it->which)];
}

bool Drops::drop(BufferId b, std::int32_t at, Rng& rng, double most_seconds) {
  price_now_ = rng.below(2) == 0 ? 0 : price_ * std::exp2(6 * rng.uniform() - 3);
  return evaluate(b, at, most_seconds, trial_) && apply(trial_);
}

// What the runs of a drop leave behind may serve others: these are evaluated anew.
void Drops::forget_near(const Drop& drop) {
  const Model& m = line_->model();
  ++round_;  // of the marks: each reader once
  for (const TaskId t : drop.tasks) {
    for (const BufferId w : m.writes[static_cast<std::size_t>(t)]) {
      for (const TaskId reader : readers_[static_cast<std::size_t>(w)]) {
        if (std::exchange(mark_[static_cast<std::size_t>(reader)], round_) == round_) continue;
        for (const BufferId b : m.writes[static_cast<std::size_t>(reader)]) {
          const std::int32_t k = rank_[static_cast<std::size_t>(b)];
          if (k >= 0) known_[static_cast<std::size_t>(k)].repair = -1;
        }
      }
    }
  }
}

void Drops::ban(BufferId b, std::int32_t use) {
  banned_use_[static_cast<std::size_t>(b)] = use;
  banned_.push_back(b);
}

void Drops::lift_bans() {
  for (const BufferId b : banned_) banned_use_[static_cast<std::size_t>(b)] = -1;
  banned_.clear();
}

bool Drops::apply(const Drop& drop) {
  const std::size_t mark = line_->mark();
  std::int32_t slot = line_->make_room_before(drop.before, static_cast<int>(drop.tasks.size()));
  if (slot < 0) {
    line_->undo_to(mark);
    return false;
  }
  for (const TaskId t : drop.tasks) {
    line_->insert(t, slot);
    const auto& runs = line_->runs_of(t);
    const auto here = std::find(runs.begin(), runs.end(), slot++);
    if (moves_first_ && here != runs.begin() && line_->unused(*std::prev(here)))
      line_->remove(*std::prev(here));
  }
  return true;
}

Drops::Outcome Drops::repair(double most_seconds, double noise, Rng& rng, int most_drops, Failing failing) {
  const std::size_t mark = line_->mark();
  Drop drop;
  begin(noise, rng);
  for (int k = 0; line_->peak() > budget_; ++k) {
    const std::int32_t at = line_->profile().where_most();
    worked(line_->run_count(), kSecondsARun);
    Outcome outcome = Outcome::fits;
    if (k >= most_drops || (k % 16 == 15 && limit_ != nullptr && limit_->time_is_up()) ||
        line_->seconds() > most_seconds ||
        !find_next(at, line_->peak() - budget_, most_seconds - line_->seconds(), noise, rng, drop) ||
        line_->seconds() + drop.seconds > most_seconds) {
      outcome = Outcome::stuck;
    } else if (!apply(drop)) {
      outcome = Outcome::no_room;
    } else {
      forget_near(drop);
    }
    if (outcome != Outcome::fits) {
      if (failing == Failing::undo) line_->undo_to(mark);
      return outcome;
    }
  }
  return Outcome::fits;
}

}  // namespace tidemark::plan
