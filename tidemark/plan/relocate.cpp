// The move of Improve that changes the order of first runs and what is made again at the same time: neither gains by itself where a large
// value waits for the run that ends its life.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "tidemark/plan/improve.h"

namespace tidemark::plan {
namespace {
constexpr std::size_t kTogether = 4;  // runs that move as one at most
}  // namespace

// The next use of what `slot` makes, or its next making; slots(): none.
std::int32_t Improve::next_touch(std::int32_t slot) const {
  std::int32_t next = line_->slots();
  for (const BufferId w : line_->model().writes[static_cast<std::size_t>(line_->task_at(slot))]) {
    const auto& list = line_->events(w);
    const std::size_t k = line_->event_from(w, slot) + 1;
    if (k < list.size()) next = std::min(next, list[k].slot);
  }
  return next;
}

// The run at the fullest moment of some stretch, or one that makes or uses a buffer, the larger the likelier.
std::int32_t Improve::any_run_in_the_way() {
  const Model& m = line_->model();
  std::int32_t slot = -1;
  if (rng_.below(2) == 0) {
    const auto first = static_cast<std::int32_t>(rng_.below(line_->slots()));
    slot = line_->fullest(first, first + static_cast<std::int32_t>(rng_.below(line_->slots() - first)));
  } else {
    const auto& list = line_->events(any_of_all());
    if (list.empty()) return -1;
    slot = list[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(list.size())))].slot;
  }
  if (slot < 0 || slot >= line_->slots()) return -1;
  const TaskId task = line_->task_at(slot);
  return task < 0 || task >= m.tasks || touches_copied(task) ? -1 : slot;
}

BufferId Improve::any_of_all() {
  if (bytes_up_to_.empty()) {
    double sum = 0;
    for (const Bytes b : line_->model().size) bytes_up_to_.push_back(sum += static_cast<double>(b));
  }
  const auto found =
      std::upper_bound(bytes_up_to_.begin(), bytes_up_to_.end(), rng_.uniform() * bytes_up_to_.back());
  return static_cast<BufferId>(std::min(found - bytes_up_to_.begin(), std::ssize(bytes_up_to_) - 1));
}

// The slots of a run and of what has to move with it to the right; and how far they may.
std::int32_t Improve::with_followers(std::vector<std::int32_t>& group) const {
  while (true) {
    std::int32_t limit = line_->slots();
    for (const std::int32_t s : group) {
      const std::int32_t next = next_touch(s);
      if (next < line_->slots() && std::find(group.begin(), group.end(), next) != group.end()) continue;
      limit = std::min(limit, next);
    }
    const bool update = limit < line_->slots() && line_->task_at(limit) >= 0 &&
                        line_->task_at(limit) < line_->model().tasks &&
                        line_->model().writes[static_cast<std::size_t>(line_->task_at(limit))].empty();
    if (!update || group.size() == kTogether) return limit;
    group.insert(std::upper_bound(group.begin(), group.end(), limit), limit);
  }
}

bool Improve::put_before(const std::vector<std::int32_t>& group, std::int32_t to) {
  std::vector<TaskId> tasks;
  for (const std::int32_t s : group) tasks.push_back(line_->task_at(s));
  for (const std::int32_t s : group) line_->remove(s);
  to = std::min(to, line_->slots() - 1);
  std::int32_t place = line_->make_room_before(to, static_cast<int>(tasks.size()));
  if (place < 0) return false;
  for (const TaskId t : tasks) line_->insert(t, place++);
  return std::all_of(tasks.begin(), tasks.end(), [&](TaskId t) { return line_->sound_around(t); });
}

bool Improve::relocate(double slack) {
  if (line_->model().buffers == 0) return false;
  const std::int32_t from = any_run_in_the_way();
  if (from < 0) return false;
  const double before = line_->seconds();
  const std::size_t mark = line_->mark();
  std::vector<std::int32_t> group{from};
  std::int32_t to = -1;
  if (rng_.below(2) == 0) {
    const std::int32_t limit = with_followers(group);
    to = group.back() + 2 + static_cast<std::int32_t>(rng_.below(std::max(1, limit - group.back() - 1)));
    to = std::min(to, limit);
  } else {
    std::int32_t last = -1;  // making of what it reads
    for (const BufferId r : line_->model().reads[static_cast<std::size_t>(line_->task_at(from))]) {
      const auto& list = line_->events(r);
      std::size_t k = line_->event_from(r, from);
      while (k > 0 && list[k - 1].use) --k;
      if (k > 0) last = std::max(last, list[k - 1].slot);
    }
    to = last + 1 + static_cast<std::int32_t>(rng_.below(std::max(1, from - last)));
  }
  // Before a run: what is empty has no one to make room for.
  to = line_->task_at(std::min(to, line_->slots() - 1)) >= 0 ? to : line_->next_run(to);
  if (to == group.front() || to == line_->next_run(group.back())) return false;
  if (put_before(group, to)) return mend(before, slack, mark);
  line_->undo_to(mark);
  return false;
}

// What does not fit in the new order is made again, what is then superfluous goes; undone if that takes more than `slack` seconds.
bool Improve::mend(double before, double slack, std::size_t mark) {
  bool fits = line_->peak() <= drops_->budget();
  if (!fits) {
    collect_extra();
    double extra = 0;
    for (const std::int32_t s : extra_)
      extra += line_->model().seconds[static_cast<std::size_t>(line_->task_at(s))];
    fits = drops_->repair(before + slack + 0.5 * rng_.uniform() * extra, 0.4 * rng_.uniform(), rng_, 64) ==
           Drops::Outcome::fits;
  }
  if (fits) {
    prune();
    if (line_->seconds() <= before + slack) return true;
  }
  line_->undo_to(mark);
  return false;
}

}  // namespace tidemark::plan
