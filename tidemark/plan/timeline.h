// A plan under change: a sequence of runs on numbered slots with room between them. Drops are implied: a buffer is live
// from a run that makes it to the last use before it is made again. So any sequence in which every use has a
// maker before it is a plan, and the bytes live are the only constraint; they are kept current in O(log n) per buffer touched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "tidemark/plan/event_list.h"
#include "tidemark/plan/model.h"
#include "tidemark/plan/profile.h"

namespace tidemark::plan {

class Timeline {
 public:
  explicit Timeline(const Model& model);

  // The runs in order, with `room` empty slots before each. Forgets the log.
  void assign(const std::vector<TaskId>& runs, int room);
  std::vector<TaskId> runs() const;
  // The same runs, spread out again. Slots change.
  void respread(int room) { assign(runs(), room); }

  const Model& model() const { return *model_; }
  std::int32_t slots() const { return slots_; }
  std::int32_t run_count() const { return run_count_; }
  TaskId task_at(std::int32_t slot) const { return task_at_[static_cast<std::size_t>(slot)]; }
  const EventList& events(BufferId b) const { return events_[static_cast<std::size_t>(b)]; }
  const std::vector<std::int32_t>& runs_of(TaskId t) const { return runs_of_[static_cast<std::size_t>(t)]; }
  // Ends of copies of `b` in the sequence: what has any is left to them and not made again.
  std::int32_t copies_of(BufferId b) const {
    return copies_of_.empty() ? 0 : copies_of_[static_cast<std::size_t>(b)];
  }
  const Profile& profile() const { return profile_; }
  double seconds() const { return seconds_; }
  Bytes peak() const { return model_->base + profile_.most(); }

  // Without asking whether the result is a plan; `slot` is empty, or has a run.
  void insert(TaskId task, std::int32_t slot);
  void remove(std::int32_t slot);
  // With every run whose writes were for the removed one alone. False, and nothing changed: the first is not removable.
  bool remove_with_its_own(std::int32_t slot);
  // Every use has a maker before it, every required task runs, versions are in order, as far as `task` can change that.
  bool sound_around(TaskId task) const;
  bool versions_in_order(TaskId task) const;
  bool sound() const;  // the same of all tasks
  // No use depends on this run alone, and its task's work is done elsewhere.
  bool removable(std::int32_t slot) const;
  // Nothing uses what this run makes.
  bool unused(std::int32_t slot) const;
  // Makes `count` slots before the run at `slot` empty by moving runs left; the first of them, or -1 when too many had to move.
  // `slot` itself keeps its run.
  std::int32_t make_room_before(std::int32_t slot, int count);
  std::int32_t previous_run(std::int32_t slot) const;  // the occupied slot before it, or -1
  std::int32_t next_run(std::int32_t slot) const;      // or slots()

  // Index of the first event of `b` at or after `slot`.
  std::size_t event_from(BufferId b, std::int32_t slot) const { return events(b).from(slot); }
  // Whether `slot` lies between the first event of `b` and its last: cheap to ask.
  bool spans(BufferId b, std::int32_t slot) const {
    const Span& span = spans_[static_cast<std::size_t>(b)];
    return static_cast<std::uint32_t>(slot - span.behind) < span.inner;
  }
  // Kept up to `slot` for a use there or later.
  bool live_before(BufferId b, std::int32_t slot) const {
    const EventList& list = events(b);
    const std::size_t i = list.from(slot);
    return i > 0 && i < list.size() && list[i].use;
  }

  // The first moment with the most bytes in [first, last]; -1: there is none.
  std::int32_t fullest(std::int32_t first, std::int32_t last) const {
    return first > last ? -1 : profile_.first_above(first, profile_.most(first, last) - 1);
  }

  std::size_t mark() const { return log_.size(); }
  void undo_to(std::size_t mark);
  void forget_log() { log_.clear(); }
  bool changed_since(std::size_t mark) const { return log_.size() != mark; }
  struct Change {
    TaskId task;
    std::int32_t slot;
    bool inserted;
  };
  std::span<const Change> log() const { return log_; }

  // The pairs of `in_place` that the run at `slot` uses.
  void in_place_at(std::int32_t slot, std::vector<Model::Pair>& pairs) const;

 private:
  void sum_up();
  void note_run(TaskId task, std::int32_t slot);
  void do_insert(TaskId task, std::int32_t slot);
  void do_remove(std::int32_t slot);
  void add_event(BufferId b, std::int32_t slot, bool use);
  void remove_event(BufferId b, std::int32_t slot);
  void refresh_span(BufferId b) {
    const EventList& list = events(b);
    if (list.size() < 2) {
      spans_[static_cast<std::size_t>(b)] = {};
      return;
    }
    const std::int32_t behind = list.front().slot + 1;
    const std::int32_t inner = std::max(0, list.back().slot - behind);
    spans_[static_cast<std::size_t>(b)] = {behind, static_cast<std::uint32_t>(inner)};
  }
  Bytes credit_at(std::int32_t slot) const;
  void refresh_credit(std::int32_t slot);
  // Whether some run may take its storage over: only then does what comes behind a use decide what that use saves.
  bool taken_over(BufferId b) const {
    return !taken_over_.empty() && taken_over_[static_cast<std::size_t>(b)] != 0;
  }

  const Model* model_;
  std::int32_t slots_ = 0, end_ = 0, run_count_ = 0;
  std::vector<TaskId> task_at_;
  std::vector<EventList> events_;
  // The slots between the first event and the last, in a form that takes one comparison to ask.
  struct Span {
    std::int32_t behind = 0;  // the first event
    std::uint32_t inner = 0;  // slots
  };
  std::vector<Span> spans_;
  std::vector<std::vector<std::int32_t>> runs_of_;
  std::vector<std::int32_t> group_runs_;
  std::vector<std::int32_t> copies_of_;
  std::vector<char> taken_over_;  // by buffer, when the model has pairs
  std::vector<Bytes> credit_;     // by slot, when the model has pairs: bytes that its run saves by them
  Profile profile_;
  double seconds_ = 0;
  std::vector<Change> log_;
};

}  // namespace tidemark::plan
