// What the published planners see of a problem: a forward part, a turn, a backward part, and which values cross it. And the
// sequencer that turns "these are kept" into runs. They decide on runs only; finish does the rest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/finish.h"

namespace tidemark::plan::named {

// A problem file does not say where the backward part begins. The turn is the place in the list where keeping everything
// takes the most bytes: in a training step, the end of the forward part.
struct Outline {
  explicit Outline(const Problem& problem);

  const Problem* problem;
  std::vector<TaskId> order;          // required tasks as listed
  std::int32_t turn = -1;             // place in order; up to here is the forward part
  std::vector<std::int32_t> place;    // by task: in order, or -1
  std::vector<TaskId> maker;          // by buffer: the first required task that writes it, or -1
  std::vector<char> repeatable;       // by task: may run twice (no effect, touches nothing that is updated)
  std::vector<char> droppable;        // by buffer: made in the forward part by a repeatable task
  std::vector<BufferId> activations;  // droppable and read behind the turn, in order of making

  std::int32_t forward_tasks() const { return turn + 1; }
  // Bytes that a task's outputs take.
  Bytes made_bytes(TaskId t) const;
};

// Appends runs; makes again what a run reads and was dropped, with whatever that needs.
class Sequencer {
 public:
  explicit Sequencer(const Outline& outline);
  // False if something it needs was dropped and cannot be made again.
  bool run(TaskId task);
  void drop(BufferId buffer) { live_[static_cast<std::size_t>(buffer)] = 0; }
  bool live(BufferId buffer) const { return live_[static_cast<std::size_t>(buffer)]; }
  std::vector<Step> take() { return std::move(runs_); }
  std::size_t size() const { return runs_.size(); }

 private:
  void append(TaskId task);
  const Outline& o_;
  std::vector<char> live_;
  std::vector<Step> runs_;
  std::vector<std::pair<TaskId, std::size_t>> stack_;
};

// The list once, what was made in the forward part and is not in `keep` (by buffer) dropped at the turn.
std::vector<Step> runs_keeping(const Outline& outline, const std::vector<char>& keep);

// The options' time and rounds; stopped by their progress callback.
Limit limit_of(const Options& options);

// The cheapest of the candidates that fits the budget; of those that do not, the smallest peak as an infeasible plan.
// Candidates come one after the other until there are none or the time is up (then perhaps Status::timed_out).
Plan cheapest(const Outline& outline, const Options& options,
              const std::function<bool(std::vector<Step>& runs)>& next_candidate);

// The answer of a planner that found nothing: infeasible with the peak of the list run once, the least it knows of; or that plan
// where it fits.
Plan nothing_found(const Outline& outline, const Options& options, std::string reason);

}  // namespace tidemark::plan::named
