// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/timeline.h"

#include <numeric>

#include "tidemark/base/error.h"

namespace tidemark::plan {
namespace {
constexpr int kMostMoved = 100;  // runs moved to make room before the caller must spread them out
}

Timeline::Timeline(const Model& model) : model_(&model) {
  if (model.has_in_place()) taken_over_.assign(static_cast<std::size_t>(model.buffers), 0);
  for (const auto& pairs : model.in_place) {
    for (const Model::Pair& pair : pairs) taken_over_[static_cast<std::size_t>(pair.read)] = 1;
  }
}

void Timeline::assign(const std::vector<TaskId>& runs, int room) {
  const auto step = static_cast<std::int32_t>(room + 1);
  slots_ = static_cast<std::int32_t>(runs.size()) * step + step + 1;
  end_ = slots_ - 1;
  task_at_.assign(static_cast<std::size_t>(slots_), -1);
  if (events_.empty()) events_.resize(static_cast<std::size_t>(model_->buffers));
  if (runs_of_.empty()) runs_of_.resize(static_cast<std::size_t>(model_->all));
  for (auto& list : events_) list.clear();
  spans_.assign(events_.size(), {});
  for (auto& list : runs_of_) list.clear();
  group_runs_.assign(static_cast<std::size_t>(model_->tasks), 0);
  copies_of_.assign(model_->has_copies() ? static_cast<std::size_t>(model_->buffers) : 0, 0);
  credit_.assign(model_->has_in_place() ? static_cast<std::size_t>(slots_) : 0, 0);
  seconds_ = 0;
  run_count_ = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::int32_t slot = static_cast<std::int32_t>(i + 1) * step - 1;
    note_run(runs[i], slot);
    for (const BufferId b : model_->reads[static_cast<std::size_t>(runs[i])])
      events_[static_cast<std::size_t>(b)].push_back({slot, true});
    for (const BufferId b : model_->writes[static_cast<std::size_t>(runs[i])])
      events_[static_cast<std::size_t>(b)].push_back({slot, false});
  }
  sum_up();
  log_.clear();
}

// The profile of all events at once, linear where one change after the other is not.
void Timeline::sum_up() {
  std::vector<Bytes> bytes(static_cast<std::size_t>(slots_) + 1, 0);
  const auto add = [&](std::int32_t first, std::int32_t last, Bytes size) {
    bytes[static_cast<std::size_t>(first)] += size;
    bytes[static_cast<std::size_t>(last) + 1] -= size;
  };
  for (BufferId b = 0; b < model_->buffers; ++b) {
    EventList& list = events_[static_cast<std::size_t>(b)];
    if (model_->output[static_cast<std::size_t>(b)]) list.push_back({end_, true});
    const Bytes size = model_->size[static_cast<std::size_t>(b)];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int32_t previous = i > 0 ? list[i - 1].slot : -1;
      add(list[i].use ? previous + 1 : list[i].slot, list[i].slot, size);
    }
    refresh_span(b);
  }
  for (std::int32_t s = 0; s < slots_; ++s) {
    const TaskId t = task_at(s);
    if (t >= 0) add(s, s, model_->workspace[static_cast<std::size_t>(t)]);
    if (t >= 0 && model_->has_in_place()) {
      credit_[static_cast<std::size_t>(s)] = credit_at(s);
      add(s, s, -credit_[static_cast<std::size_t>(s)]);
    }
  }
  bytes.pop_back();
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  profile_.assign(bytes);
}

std::vector<TaskId> Timeline::runs() const {
  std::vector<TaskId> out;
  out.reserve(static_cast<std::size_t>(run_count_));
  for (const TaskId t : task_at_) {
    if (t >= 0) out.push_back(t);
  }
  return out;
}

// A buffer is live at each of its events and between two of them when the second is a use.
void Timeline::add_event(BufferId b, std::int32_t slot, bool use) {
  auto& list = events_[static_cast<std::size_t>(b)];
  const std::size_t i = event_from(b, slot);
  const std::int32_t previous = i > 0 ? list[i - 1].slot : -1;
  const Bytes size = model_->size[static_cast<std::size_t>(b)];
  const bool live = i < list.size() && list[i].use;
  if (live) {
    if (!use) profile_.add(previous + 1, slot - 1, -size);
  } else {
    profile_.add(use ? previous + 1 : slot, slot, size);
  }
  list.insert(i, {slot, use});
  refresh_span(b);
  if (i > 0 && taken_over(b)) refresh_credit(previous);
}

void Timeline::remove_event(BufferId b, std::int32_t slot) {
  auto& list = events_[static_cast<std::size_t>(b)];
  const std::size_t i = event_from(b, slot);
  const std::int32_t previous = i > 0 ? list[i - 1].slot : -1;
  const Bytes size = model_->size[static_cast<std::size_t>(b)];
  const bool use = list[i].use;
  const bool live = i + 1 < list.size() && list[i + 1].use;
  list.erase(i);
  refresh_span(b);
  if (live) {
    if (!use) profile_.add(previous + 1, slot - 1, size);
  } else {
    profile_.add(use ? previous + 1 : slot, slot, -size);
  }
  if (i > 0 && taken_over(b)) refresh_credit(previous);
}

void Timeline::in_place_at(std::int32_t slot, std::vector<Model::Pair>& pairs) const {
  pairs.clear();
  const TaskId task = task_at(slot);
  if (task < 0 || task >= model_->tasks || !model_->has_in_place()) return;
  for (const Model::Pair& pair : model_->in_place[static_cast<std::size_t>(task)]) {
    const auto taken = [&](const Model::Pair& p) { return p.read == pair.read || p.write == pair.write; };
    if (std::any_of(pairs.begin(), pairs.end(), taken)) continue;
    const auto& list = events(pair.read);
    const std::size_t i = event_from(pair.read, slot);
    if (i >= list.size() || list[i].slot != slot) continue;  // half inserted
    if (i + 1 < list.size() && list[i + 1].use) continue;    // still needed
    const auto& written = events(pair.write);
    const std::size_t j = event_from(pair.write, slot);
    if (j >= written.size() || written[j].slot != slot) continue;
    pairs.push_back(pair);
  }
}

// What the run saves by its pairs.
Bytes Timeline::credit_at(std::int32_t slot) const {
  const TaskId task = task_at(slot);
  if (task < 0 || task >= model_->tasks || model_->in_place[static_cast<std::size_t>(task)].empty()) return 0;
  thread_local std::vector<Model::Pair> pairs;
  in_place_at(slot, pairs);
  Bytes credit = 0;
  for (const auto& pair : pairs) credit += model_->size[static_cast<std::size_t>(pair.write)];
  return credit;
}

void Timeline::refresh_credit(std::int32_t slot) {
  if (slot >= end_) return;
  const Bytes now = credit_at(slot);
  Bytes& credit = credit_[static_cast<std::size_t>(slot)];
  if (now != credit) {
    profile_.add(slot, slot, credit - now);
    credit = now;
  }
}

// What is counted of a run beside its events.
void Timeline::note_run(TaskId task, std::int32_t slot) {
  const auto t = static_cast<std::size_t>(task);
  task_at_[static_cast<std::size_t>(slot)] = task;
  auto& runs = runs_of_[t];
  runs.insert(std::lower_bound(runs.begin(), runs.end(), slot), slot);
  if (model_->group[t] >= 0) ++group_runs_[static_cast<std::size_t>(model_->group[t])];
  if (task >= model_->tasks)
    ++copies_of_[static_cast<std::size_t>(
        model_->copies[t - static_cast<std::size_t>(model_->tasks)].buffer)];
  seconds_ += model_->seconds[t];
  ++run_count_;
}

void Timeline::do_insert(TaskId task, std::int32_t slot) {
  const auto t = static_cast<std::size_t>(task);
  note_run(task, slot);
  for (const BufferId b : model_->reads[t]) add_event(b, slot, true);
  for (const BufferId b : model_->writes[t]) add_event(b, slot, false);
  if (model_->workspace[t] > 0) profile_.add(slot, slot, model_->workspace[t]);
  if (model_->has_in_place()) refresh_credit(slot);
}

void Timeline::do_remove(std::int32_t slot) {
  const TaskId task = task_at(slot);
  const auto t = static_cast<std::size_t>(task);
  task_at_[static_cast<std::size_t>(slot)] = -1;
  auto& runs = runs_of_[t];
  runs.erase(std::lower_bound(runs.begin(), runs.end(), slot));
  if (model_->group[t] >= 0) --group_runs_[static_cast<std::size_t>(model_->group[t])];
  if (model_->has_in_place()) refresh_credit(slot);
  for (const BufferId b : model_->reads[t]) remove_event(b, slot);
  for (const BufferId b : model_->writes[t]) remove_event(b, slot);
  if (model_->workspace[t] > 0) profile_.add(slot, slot, -model_->workspace[t]);
  if (task >= model_->tasks)
    --copies_of_[static_cast<std::size_t>(
        model_->copies[t - static_cast<std::size_t>(model_->tasks)].buffer)];
  seconds_ -= model_->seconds[t];
  --run_count_;
}

void Timeline::insert(TaskId task, std::int32_t slot) {
  do_insert(task, slot);
  log_.push_back({task, slot, true});
}

void Timeline::remove(std::int32_t slot) {
  log_.push_back({task_at(slot), slot, false});
  do_remove(slot);
}

bool Timeline::remove_with_its_own(std::int32_t slot) {
  if (task_at(slot) < 0 || !removable(slot)) return false;
  const auto task = static_cast<std::size_t>(task_at(slot));
  remove(slot);
  for (const BufferId r : model_->reads[task]) {
    const auto& list = events(r);
    const std::size_t i = event_from(r, slot);
    if (i > 0 && !list[i - 1].use && (i == list.size() || !list[i].use))
      remove_with_its_own(list[i - 1].slot);
  }
  return true;
}

void Timeline::undo_to(std::size_t mark) {
  while (log_.size() > mark) {
    const Change change = log_.back();
    log_.pop_back();
    if (change.inserted)
      do_remove(change.slot);
    else
      do_insert(change.task, change.slot);
  }
}

bool Timeline::removable(std::int32_t slot) const {
  const auto t = static_cast<std::size_t>(task_at(slot));
  const std::int32_t group = model_->group[t];
  if (group >= 0 && group_runs_[static_cast<std::size_t>(group)] < 2) return false;
  for (const BufferId b : model_->writes[t]) {
    if (copies_of(b) > 0) return false;
    const auto& list = events(b);
    if (list.front().slot == slot && list.size() > 1 && list[1].use) return false;
  }
  return true;
}

bool Timeline::unused(std::int32_t slot) const {
  const auto writes = model_->writes[static_cast<std::size_t>(task_at(slot))];
  return std::none_of(writes.begin(), writes.end(), [&](BufferId b) {
    const auto& list = events(b);
    const std::size_t next = list.from(slot) + 1;
    return copies_of(b) > 0 || (next < list.size() && list[next].use);
  });
}

bool Timeline::sound_around(TaskId task) const {
  const auto t = static_cast<std::size_t>(task);
  const std::int32_t group = model_->group[t];
  if (group >= 0 && group_runs_[static_cast<std::size_t>(group)] < 1) return false;
  for (const BufferId b : model_->reads[t]) {
    if (!events(b).empty() && events(b).front().use) return false;
  }
  for (const BufferId b : model_->writes[t]) {
    if (!events(b).empty() && events(b).front().use) return false;
  }
  if (!versions_in_order(task)) return false;
  for (const TaskId other : model_->tied[t]) {
    if (!versions_in_order(other)) return false;
  }
  return true;
}

bool Timeline::sound() const {
  for (const auto& list : events_) {
    if (!list.empty() && list.front().use) return false;
  }
  for (TaskId t = 0; t < model_->tasks; ++t) {
    const auto i = static_cast<std::size_t>(t);
    if (model_->group[i] >= 0 && group_runs_[static_cast<std::size_t>(model_->group[i])] < 1) return false;
    const auto count = runs_of(t).size();
    if (count > 0 && (!model_->allowed[i] || (count > 1 && !model_->can_repeat[i]) || !versions_in_order(t)))
      return false;
  }
  return true;
}

bool Timeline::versions_in_order(TaskId task) const {
  const auto& runs = runs_of(task);
  if (runs.empty()) return true;
  for (const TaskId u : model_->after[static_cast<std::size_t>(task)]) {
    if (runs_of(u).empty() || runs_of(u).front() > runs.front()) return false;
  }
  for (const TaskId u : model_->before[static_cast<std::size_t>(task)]) {
    if (!runs_of(u).empty() && runs_of(u).front() < runs.back()) return false;
  }
  return true;
}

std::int32_t Timeline::previous_run(std::int32_t slot) const {
  for (--slot; slot >= 0 && task_at(slot) < 0;) --slot;
  return slot;
}

std::int32_t Timeline::next_run(std::int32_t slot) const {
  for (++slot; slot < end_ && task_at(slot) < 0;) ++slot;
  return slot < end_ ? slot : slots_;
}

std::int32_t Timeline::make_room_before(std::int32_t slot, int count) {
  std::int32_t left = slot;
  int empty = 0, moved = 0;
  while (empty < count) {
    if (--left < 0 || moved > kMostMoved) return -1;
    if (task_at(left) < 0)
      ++empty;
    else
      ++moved;
  }
  // [left, slot) holds `count` empty slots; its runs go to the front of it, the first of them first.
  std::int32_t to = left;
  for (std::int32_t s = left; s < slot; ++s) {
    const TaskId task = task_at(s);
    if (task < 0) continue;
    if (s != to) {
      remove(s);
      insert(task, to);
    }
    ++to;
  }
  return to;
}

}  // namespace tidemark::plan
