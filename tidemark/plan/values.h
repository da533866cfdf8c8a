// A problem as the bounds see it: what buffers hold, who makes and reads it, and what must have run before or cannot have run
// before the moment a task first runs, in every plan. Versions are an order of runs here: a buffer is live or not, whichever it holds. Input of
// the cut model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "tidemark/plan/csr.h"
#include "tidemark/plan/problem.h"

namespace tidemark::plan {

// Of two tasks that every plan runs, which first runs before the other.
struct Order {
  TaskId first, then;
};

struct Values {
  // For the plans of these orders alone.
  explicit Values(const Problem& problem, std::span<const Order> orders = {});

  const Problem& problem;
  std::vector<Bytes> size;  // by buffer; 0 for what is resident: it costs nothing to keep
  std::vector<bool> given;  // there from the start: resident, or with a copy in a tier
  std::vector<bool> resident;
  Csr reads,
      makes;  // by task; no buffer twice; what it reads and writes it does not make: that has to be there
  Csr makers, readers;  // by buffer
  // By buffer: makers that may be the first. Not behind an update, which finds the buffer there, nor where they read what is made from it alone.
  Csr firsts;
  std::vector<BufferId> outputs;  // each once
  // By task: those that have run whenever it does, since it finds what they updated, or by the orders; and the opposite.
  Csr follows, followers;
  Csr ends;  // by task: once one of these has run, it does not run any more
  // For each task the required task whose work it does: itself, what it is instead of, or -1.
  std::vector<TaskId> duty;
  std::vector<double> floor;  // by required task: the least seconds of those that do its work
  std::vector<bool> sole;     // required, and nothing can run instead
  Bytes resident_bytes = 0;
  double floor_seconds = 0;  // the sum of `floor`

  TaskId tasks() const { return static_cast<TaskId>(reads.rows()); }
  BufferId values() const { return static_cast<BufferId>(makers.rows()); }
  // What one walk through all of it looks at.
  double extent() const { return static_cast<double>(reads.rows() + makers.rows() + reads.items()); }

 private:
  void find_sizes();
  void find_tasks();
  void find_ties(std::span<const Order> orders);
  void find_firsts();
};

// Of the budget while a task runs: resident, workspace, and what it makes outside of others' storage, which is added to `fresh`.
Bytes held_in_run(const Values& values, TaskId task, std::vector<BufferId>& fresh);

// What holds in every plan when `task`, which must be `sole`, first runs.
struct Moment {
  Moment(const Values& values, TaskId task);

  TaskId task;
  std::vector<bool> before;     // by task: has run
  std::vector<bool> after;      // by task: cannot have run yet; `task` itself included
  std::vector<bool> over;       // by task: does not run any more
  std::vector<bool> absent;     // by buffer: cannot have been made yet
  std::vector<BufferId> fresh;  // what the run makes in storage of its own
  Bytes held = 0;               // of the budget: see held_in_run
};

}  // namespace tidemark::plan
